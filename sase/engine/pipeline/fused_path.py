"""Protocols of a fused path: an opened drive, which executes a whole pipeline by one kernel.

A path writes into the state of the operators, so events that it cannot process go through the
operators instead. It leaves these events untouched.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol

from sase.engine.columns import Events
from sase.engine.operators.transformation import Results
from sase.engine.report import FusedUse


class LoadedPath(Protocol):
    """A path for events that are loaded as columns."""

    # Counts the use of the path. When it runs, it may turn out to be a path of another kind.
    use: FusedUse
    # Whether it takes all events of an input as one piece, or none.
    needs_all: bool

    def uncoded(self, events: Events, parts: int) -> list[str]:
        """The keys of events in `parts` that must have codes before it takes any of them."""

    def takes_all(self, events: Events) -> bool:
        """Whether one kernel processes all events sooner than they could be partitioned."""

    def run(self, events: Events) -> Generator[Results, None, int]:
        """Yield the results of events that follow those before; return how many were taken.

        The operators process the rest, block by block.
        """


class PushedPath(Protocol):
    """A path for the batches of a stream."""

    use: FusedUse

    def push(self, batch: object) -> list[Results] | None:
        """The results that a batch completes; None if nothing of it was taken."""
