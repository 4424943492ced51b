"""Candidates of imprecise time with what may forbid them jointly, and their kernel arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.confidence import joint_candidates as kernels
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


def arrays_of(candidates: Sequence[JointCandidate]) -> kernels.JointCandidates:
    """The candidates as arrays for kernels."""
    bounds, step = list[TimeBounds](), list[int]()
    heads, gaps, orders = list[list[int]](), list[tuple[int, int]](), list[list[int]]()
    members, absences = list[int](), list[tuple[int, int]]()
    for each in candidates:
        bounds += each.bounds
        step += [number for number, events in enumerate(each.steps) for _ in events]
        own = sum(map(len, each.steps))
        step += [kernels.UNBOUND] * len(each.others)
        for event, other in enumerate(each.others, own):
            gaps += ((event, gap) for gap in sorted(other.gaps))
        at_members, at_absences = len(members), len(absences)
        for order in each.orders:
            ends = [len(members) - at_members, 0, len(absences) - at_absences, 0]
            members += (own + event for event in order.events)
            absences += ((place, own + event) for place, event in order.absences)
            ends[1], ends[3] = len(members) - at_members, len(absences) - at_absences
            orders.append([order.gap, *ends])
        heads.append(
            [len(each.steps), len(bounds), len(gaps), len(orders), len(members), len(absences)]
        )
    return kernels.JointCandidates(
        _rows(heads, kernels.HEAD), np.array([one.lo for one in bounds], np.int64),
        np.array([one.hi for one in bounds], np.int64), np.array(step, np.int64), _rows(gaps, 2),
        _rows(orders, kernels.ORDER), np.array(members, np.int64), _rows(absences, 2),
    )  # fmt: skip


def _rows(rows: Sequence[Sequence[int]], width: int) -> Numbers:
    return np.array(rows, np.int64).reshape(-1, width)
