"""What goes from an input or a statement to those who read it."""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.columns import Inputs
from sase.engine.columns.arrays import Numbers
from sase.engine.pipeline.stream_state import BEGINNING


class Piece(NamedTuple):
    """Rows of which none comes before one of an earlier piece; their numbers if not counted."""

    inputs: Inputs
    rows: Numbers | None = None


class Fed(NamedTuple):
    """Pieces, and the time before which no event is to come any more."""

    pieces: tuple[Piece, ...] = ()
    floor: int = BEGINNING
