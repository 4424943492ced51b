"""The rows of the inputs of a script that are all there is: read once, for all statements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sase.binding import Schema
from sase.engine.columns import Inputs
from sase.engine.pipeline.batch import NumberedRows, pieces_as_read, pieces_sorted, read_whole
from sase.engine.sources import Files
from sase.engine.sources.external_sort import is_sorted


@dataclass(frozen=True, eq=False)
class InputRows:
    """What statements read of an input: the columns that they name, or all where results show them.

    Files of more bytes than may be held are read in pieces, sorted on disk where they have to be.
    """

    schema: Schema
    events: Files | Inputs
    named: frozenset[str]
    shows_all: bool
    on_bad_row: str
    types_wanted: None = None

    @property
    def come_in_pieces(self) -> bool:
        """Whether they are too many to be held."""
        return isinstance(self.events, Files) and (
            self.events.weight(self._columns) > self.events.most
        )

    def pieces(self) -> Iterator[NumberedRows]:
        """The rows, all at once or piece by piece in the order of time."""
        files = self.events
        if not isinstance(files, Files):
            yield files, None
        elif not self.come_in_pieces:
            yield read_whole(self, files, self._columns).inputs, None
        else:
            read = pieces_as_read if is_sorted(files, self.schema) else pieces_sorted
            yield from read(files, self._columns, self)

    @property
    def _columns(self) -> list[str]:
        assert isinstance(self.events, Files)
        names: list[str] = self.events.schema.names
        return names if self.shows_all else [name for name in names if name in self.named]
