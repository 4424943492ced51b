"""The probability of candidates that events may forbid jointly: sums of sweeps.

An event that may forbid in several gaps, or as part of a sequence, is not independent of the
others, so a sweep over time is needed. A window, or a negation at an end, depends on the time of
the first event, the last, or both. The probability is summed over these times; each piece between
two bounds needs only as many times as the degree of its polynomial. All weights are positive.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import pairwise

import numpy as np

from sase.binding.values.folding import INT64_MAX
from sase.engine.columns.arrays import Floats
from sase.engine.kernels.confidence.first_times import FEW, write_nodes
from sase.engine.operators.imprecise.joint_candidates import JointCandidate
from sase.engine.operators.imprecise.joint_sweep import JointSweep
from sase.engine.resources import Check, no_check


class JointConfidence:
    """Computes confidences of candidates for a window of a given reach."""

    def __init__(self, reach: int = INT64_MAX, check: Check = no_check) -> None:
        self._reach, self._check = reach, check

    def of(self, candidates: Sequence[JointCandidate]) -> Floats:
        """The confidences of candidates, independently of each other."""
        return np.array([self._of(each) for each in candidates])

    def _of(self, one: JointCandidate) -> float:
        if self._is_forbidden(one):
            return 0.0
        sweep = JointSweep(one, self._reach, self._check)
        parts = (weight * sweep.probability(*ends) for *ends, weight in self._ends(one))
        return min(sum(parts), 1.0)

    def _is_forbidden(self, one: JointCandidate) -> bool:
        """Whether an event, or an order without absences, lies in its gap in every world."""
        begins = [min(each.lo for each in step) for step in one.steps]
        ends = [max(each.hi for each in step) for step in one.steps]
        after = [ends[-1] - self._reach - 1, *ends]
        before = [*begins, begins[0] + self._reach + 1]
        sure = [(gap, [other.interval]) for other in one.others for gap in other.gaps]
        for gap, events, absences in one.orders:
            if not absences:
                sure.append((gap, [one.others[event].interval for event in events]))
        return any(
            after[gap] < events[0].lo
            and events[-1].hi < before[gap]
            and all(each.hi < following.lo for each, following in pairwise(events))
            for gap, events in sure
        )

    def _ends(self, one: JointCandidate) -> Iterator[tuple[int | None, int | None, float]]:
        """Yield times to fix for the first event and the last, each with its weight."""
        steps = one.steps
        gaps = {gap for other in one.others for gap in other.gaps}
        gaps |= {order.gap for order in one.orders}
        is_before, is_behind = 0 in gaps, len(steps) in gaps
        is_one = len(steps) == len(steps[0]) == 1
        first, over = min(each.lo for each in steps[0]), max(each.hi for each in steps[-1])
        is_near = over - first <= self._reach
        by_first = is_behind or (is_before and is_one) or not (is_near or is_before)
        by_last = is_before and not is_one
        firsts: Iterable[tuple[int | None, float]] = [(None, 1.0)]
        if by_first:
            until = min(each.hi for each in steps[0])
            shifts = (-self._reach, self._reach) if by_last or is_one else (-self._reach,)
            firsts = _times(one, first, until, shifts)
        for time, share in firsts:
            if not by_last:
                yield time, time if is_one else None, share
                continue
            for last, weight in self._lasts(one, time):
                yield time, last, share * weight

    def _lasts(self, one: JointCandidate, first: int | None) -> Iterator[tuple[int, float]]:
        """Yield times of the last event, each with its weight; that of the first may be fixed."""
        low, high = max(each.lo for each in one.steps[-1]), max(each.hi for each in one.steps[-1])
        if first is None:
            return _times(one, low, high, (self._reach,))
        low, high = max(low, first), min(high, first + self._reach)
        return _times(one, low, high, (self._reach,), {first, first + 1})


def _times(
    one: JointCandidate, low: int, high: int, shifts: Sequence[int], also: Set[int] = frozenset()
) -> Iterator[tuple[int, float]]:
    """Yield times, with weights that sum each piece between bounds of events exactly.

    Pieces are cut at shifted bounds, too.
    """
    if low > high:
        return
    bounds, degree = one.bounds, sum(each.lo < each.hi for each in one.bounds)
    cuts = {bound for each in bounds for bound in (each.lo, each.hi + 1)}
    cuts |= {bound + shift for bound in cuts for shift in shifts} | also
    inner = sorted(each for each in cuts if low < each <= high)
    most = max(FEW, degree + 1, degree * degree // 4)
    places, weights = np.zeros(most, np.int64), np.zeros(most)
    matrix = np.zeros((degree + 1, degree + 1))
    for start, end in pairwise([low, *inner, high + 1]):
        count = write_nodes(end - start, degree, places, weights, matrix)
        for place, weight in zip(places[:count].tolist(), weights[:count].tolist(), strict=True):
            yield start + place, weight
