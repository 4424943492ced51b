"""What a fused path is: a drive of a plan, opened, which executes a whole pipeline by one kernel.

A path writes into the state of the same operators, so that events which it does not understand
go through them instead; what it leaves to them it leaves untouched.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from sase.engine.columns import Events
from sase.engine.operators.transformation import Results
from sase.engine.report import FusedUse


@dataclass(slots=True)
class FusedMeter:
    """Counts what a path does in a run: events, matches, time, and the need that others lack."""

    path: str
    events: int = 0
    matches: int = 0
    nanoseconds: int | None = None
    refused: str | None = None

    def spend(self, nanoseconds: int) -> None:
        """Add time."""
        self.nanoseconds = nanoseconds + (self.nanoseconds or 0)

    def add(self, use: FusedUse) -> None:
        """Add what the path did for another pipeline."""
        self.events += use.events
        self.matches += use.matches
        self.refused = self.refused or use.refused

    @property
    def use(self) -> FusedUse | None:
        """What became of the path; None if it was shown no event."""
        if not self.events and self.refused is None:
            return None
        return FusedUse(self.path, self.events, self.refused, self.matches, self.nanoseconds)


class LoadedPath(Protocol):
    """A path for events that are loaded as columns."""

    # Of what it does: once it runs it may turn out to be the path of another kind.
    meter: FusedMeter
    # Whether it takes all events of an input as one piece, or none.
    needs_all: bool

    def uncoded(self, events: Events) -> list[str]:
        """The keys of events that are to have codes before it takes any of them."""

    def takes_all(self, events: Events) -> bool:
        """Whether one kernel goes through all events sooner than they could be partitioned."""

    def run(self, events: Events) -> Generator[Results, None, int]:
        """Yield the results of events that follow those before; return how many were taken.

        From there on the operators go on, block by block.
        """


class PushedPath(Protocol):
    """A path for the batches of a stream."""

    meter: FusedMeter

    def push(self, batch: object) -> list[Results] | None:
        """The results that a batch completes; None if nothing of it was taken."""


FusedPath: TypeAlias = LoadedPath | PushedPath
