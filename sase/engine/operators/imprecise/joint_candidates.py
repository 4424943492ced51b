"""Candidates of imprecise time, and events that may forbid them jointly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sase.engine.operators.imprecise.candidate_confidence import TimeBounds


class JointEvent(NamedTuple):
    """An event outside of the match, and the gaps in which it forbids alone.

    A gap is identified by the number of steps before it.
    """

    interval: TimeBounds
    gaps: frozenset[int] = frozenset()


class ForbiddingOrder(NamedTuple):
    """Events that in this order in a gap forbid a match, and events that prevent that.

    Each of `absences` is the number of events before its place, and an event.
    """

    gap: int
    events: tuple[int, ...]
    absences: tuple[tuple[int, int], ...] = ()


class JointCandidate(NamedTuple):
    """Steps in pattern order, each an event or all events of a set, and the other events."""

    steps: Sequence[Sequence[TimeBounds]]
    others: Sequence[JointEvent]
    orders: Sequence[ForbiddingOrder]

    @property
    def bounds(self) -> list[TimeBounds]:
        """The bounds of all events, those of the steps first."""
        own = [each for step in self.steps for each in step]
        return [*own, *(each.interval for each in self.others)]
