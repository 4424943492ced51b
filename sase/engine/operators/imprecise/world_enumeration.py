"""The confidence of candidates by enumerating worlds: the paper's way, for comparison."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from math import prod

import numpy as np

from sase.binding.values.folding import INT64_MAX
from sase.engine.columns.arrays import Floats
from sase.engine.kernels.confidence.worlds import enumerate_worlds
from sase.engine.operators.imprecise.candidate_confidence import PlacedNegative, TimeBounds
from sase.engine.operators.imprecise.joint_candidates import (
    ForbiddingOrder,
    JointCandidate,
    JointEvent,
)
from sase.engine.resources import Check, no_check

# Worlds between checks.
PATIENCE = 1 << 22


class WorldEnumeration:
    """Computes confidences of candidates for a window of a given reach."""

    def __init__(self, reach: int = INT64_MAX, check: Check = no_check) -> None:
        self._reach, self._check = reach, check

    def of(
        self, steps: Sequence[Sequence[TimeBounds]], negatives: Sequence[PlacedNegative]
    ) -> float:
        """The confidence of steps in pattern order; a step is an event, or all events of a set."""
        events = [each for step in steps for each in step]
        numbers = [number for number, step in enumerate(steps) for _ in step]
        columns = [
            [each.lo for each in events], [each.hi for each in events], numbers,
            [each.interval.lo for each in negatives], [each.interval.hi for each in negatives],
            [each.place for each in negatives],
        ]  # fmt: skip
        lo, hi, own, other_lo, other_hi, places = (np.array(each, np.int64) for each in columns)
        times, found = lo.copy(), np.zeros(1)
        while not enumerate_worlds(
            lo, hi, own, self._reach, other_lo, other_hi, places, times, found, PATIENCE
        ):
            self._check(0)
        return min(float(found[0]) / prod(each.size for each in events), 1.0)


class JointEnumeration:
    """The same if events may forbid jointly, which are enumerated, too."""

    def __init__(self, reach: int = INT64_MAX, check: Check = no_check) -> None:
        self._reach, self._check = reach, check

    def of(self, candidates: Sequence[JointCandidate]) -> Floats:
        """The confidences of candidates."""
        return np.array([self._of(*each) for each in candidates])

    def _of(
        self,
        steps: Sequence[Sequence[TimeBounds]],
        others: Sequence[JointEvent],
        orders: Sequence[ForbiddingOrder],
    ) -> float:
        """The confidence of steps in pattern order; a step is an event, or all events of a set."""
        own = [each for step in steps for each in step]
        every = [*own, *(each.interval for each in others)]
        good = 0
        for number, times in enumerate(product(*(range(each.lo, each.hi + 1) for each in every))):
            if number % PATIENCE == 0:
                self._check(0)
            at, spans = 0, []
            for step in steps:
                spans.append((min(times[at : at + len(step)]), max(times[at : at + len(step)])))
                at += len(step)
            good += self._is_match(spans, times[at:], others, orders)
        return good / prod(each.size for each in every)

    def _is_match(
        self,
        spans: Sequence[tuple[int, int]],
        times: Sequence[int],
        others: Sequence[JointEvent],
        orders: Sequence[ForbiddingOrder],
    ) -> bool:
        """Whether in a world the steps are in order, and nothing forbids them."""
        first, last = spans[0][0], spans[-1][1]
        if last - first > self._reach or any(one[1] >= two[0] for one, two in pairwise(spans)):
            return False
        after = [last - self._reach - 1, *(end for _, end in spans)]
        before = [*(begin for begin, _ in spans), first + self._reach + 1]
        if any(
            after[gap] < time < before[gap]
            for other, time in zip(others, times, strict=True)
            for gap in other.gaps
        ):
            return False
        return not any(_is_there(each, times, after[each.gap], before[each.gap]) for each in orders)


def _is_there(order: ForbiddingOrder, times: Sequence[int], after: int, before: int) -> bool:
    """Whether an order's events are in order in a gap, and none of its absences prevents that."""
    own = [times[event] for event in order.events]
    if not all(one < two for one, two in pairwise([after, *own, before])):
        return False
    return not any(own[at - 1] < times[event] < own[at] for at, event in order.absences)
