"""How likely a match is where what may forbid it does so jointly.

An event that may forbid in several gaps, or in a sequence of several, is not independent of the
others, so time is swept. A window, or what is negative at an end, goes by the first event's time or
the last one's, or both: the probability is summed over these, on each piece between two bounds by
as many times as the degree of the polynomial there needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from sase.binding.folding import INT64_MAX
from sase.engine.kernels.confidence.first_times import FEW, summation_nodes
from sase.engine.operators.imprecise.candidate_confidence import TimeBounds
from sase.engine.operators.imprecise.world_sweep import Fixed, ForbiddingOrder, JointEvent, Sweep
from sase.engine.resources import Check, no_check


class JointConfidence:
    """The confidence of one candidate after the other, whose window reaches so far."""

    def __init__(self, reach: int = INT64_MAX, check: Check = no_check) -> None:
        self._reach, self._check = reach, check

    def of(
        self,
        steps: Sequence[Sequence[TimeBounds]],
        others: Sequence[JointEvent],
        orders: Sequence[ForbiddingOrder],
    ) -> float:
        """Return that of steps in the order of the pattern: an event, or all events of a set."""
        if self._is_forbidden(steps, others, orders):
            return 0.0
        gaps = {gap for each in others for gap in each.gaps} | {each.gap for each in orders}
        span = max(each.hi for each in steps[-1]) - min(each.lo for each in steps[0])
        by_last = 0 in gaps
        by_first = len(steps) in gaps or (span > self._reach and not by_last)
        sweep = Sweep(self._reach, steps, others, orders, self._check)
        is_one = len(steps) == 1 and len(steps[0]) == 1

        def of_first(first: int) -> float:
            if is_one or not by_last:
                return sweep.likelihood(Fixed(first, first if is_one else None))
            low, high = sweep.ends(-1)
            high = min(high, first + self._reach)
            bounds = {first, first + 1, *sweep.moved(0, 1)}
            return self._summed(
                lambda last: sweep.likelihood(Fixed(first, last)),
                max(low, first),
                high,
                bounds,
                sweep,
            )

        if by_first or (is_one and by_last):
            bounds = sweep.moved(-1, 0, 1) if by_last else sweep.moved(-1, 0)
            found = self._summed(of_first, *sweep.ends(0), bounds, sweep)
        elif by_last:
            found = self._summed(
                lambda last: sweep.likelihood(Fixed(None, last)),
                *sweep.ends(-1), sweep.moved(0, 1), sweep,
            )  # fmt: skip
        else:
            found = sweep.likelihood(Fixed())
        return min(max(found, 0.0), 1.0)

    def _is_forbidden(
        self,
        steps: Sequence[Sequence[TimeBounds]],
        others: Sequence[JointEvent],
        orders: Sequence[ForbiddingOrder],
    ) -> bool:
        """Whether an event, or a whole order, lies in its gap in every world."""
        begins = [min(each.lo for each in step) for step in steps]
        ends = [max(each.hi for each in step) for step in steps]
        after = [ends[-1] - self._reach - 1, *ends]
        before = [*begins, begins[0] + self._reach + 1]
        alone = [(gap, [other.interval]) for other in others for gap in other.gaps]
        alone += [
            (order.gap, [others[event].interval for event in order.events])
            for order in orders
            if not order.absences
        ]
        return any(
            after[gap] < events[0].lo
            and events[-1].hi < before[gap]
            and all(one.hi < other.lo for one, other in pairwise(events))
            for gap, events in alone
        )

    def _summed(
        self, value: Callable[[int], float], low: int, high: int, bounds: set[int], sweep: Sweep
    ) -> float:
        """Sum over the times from one to another what is a polynomial between any two bounds."""
        inside = sorted(each for each in bounds if low < each <= high)
        total = 0.0
        for begin, end in pairwise([low, *inside, high + 1]):
            for place, weight in _nodes(end - begin, sweep.degree):
                self._check(0)
                total += weight * value(begin + place)
        return total


def _nodes(length: int, degree: int) -> Iterator[tuple[int, float]]:
    """Places below a length and their weights, by which polynomials of a degree are summed."""
    if length <= max(FEW, degree * degree // 4):
        yield from ((place, 1.0) for place in range(length))
        return
    places, weights = np.empty(degree + 1, np.int64), np.empty(degree + 1)
    summation_nodes(length, degree, places, weights, np.empty((degree + 1, degree + 1)))
    yield from zip(places.tolist(), weights.tolist(), strict=True)
