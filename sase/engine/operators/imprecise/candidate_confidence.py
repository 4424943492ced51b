"""The probability that a candidate of imprecise time is a match: order, window, negations.

If a window or a gap begins with the first event of a set, or the last, each of its events may be
that one; of simultaneous ones the first listed. A window, or a negation at an end, couples the
first event with the last: the probability is summed over the times of the first, on pieces where it
is a polynomial, at as many times as the degree needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from math import prod
from typing import NamedTuple

import numpy as np

from sase.binding.values.folding import INT64_MAX, INT64_MIN
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.confidence.gaps import BETWEEN, OR_WITH_LAST, OR_WITH_NEXT, OUTSIDE
from sase.engine.operators.imprecise.confidence import GapConfidence


class TimeBounds(NamedTuple):
    """The earliest and the latest time of an event."""

    lo: int
    hi: int

    @property
    def size(self) -> int:
        """The number of times."""
        return self.hi - self.lo + 1


class Other(NamedTuple):
    """The constraint on an event beside the order; `free` times are valid in any case."""

    interval: TimeBounds
    kind: int
    free: int = 0


class PlacedNegative(NamedTuple):
    """An event that may forbid the match, and the number of steps before its gap."""

    interval: TimeBounds
    place: int


class Way(NamedTuple):
    """One case of a step: its share, its ordered events, and the others by gap.

    The first gap is before its first event, the last one behind its last.
    """

    share: float
    order: tuple[TimeBounds, ...]
    gaps: tuple[tuple[Other, ...], ...]


class CandidateConfidence:
    """Computes confidences of candidates for a window of a given reach."""

    def __init__(self, reach: int = INT64_MAX) -> None:
        self._reach = reach
        self._gaps = GapConfidence()

    def of(
        self, steps: Sequence[Sequence[TimeBounds]], negatives: Sequence[PlacedNegative]
    ) -> float:
        """The confidence of steps in pattern order; a step is an event, or all events of a set."""
        span = max(each.hi for each in steps[-1]) - min(each.lo for each in steps[0])
        if not negatives and span <= self._reach:
            steps = _unsure(steps)
            if not steps:
                return 1.0
        last = len(steps) - 1
        at_ends = [each for each in negatives if each.place in (0, last + 1)]
        is_bounded = bool(at_ends) or span > self._reach
        inner = [each for each in negatives if 0 < each.place <= last]
        begins, closes = self._looked_for(steps, inner, is_bounded)
        ways = [
            list(_ways(step, begin, close))
            for step, begin, close in zip(steps, begins, closes, strict=True)
        ]
        reach, found = self._reach if is_bounded else INT64_MAX, 0.0
        ends = [[each.interval.lo for each in at_ends], [each.interval.hi for each in at_ends]]
        ends.append([each.place > 0 for each in at_ends])
        negated = [np.array(each, np.int64) for each in ends]
        for chosen in product(*ways):
            share = prod(way.share for way in chosen)
            if share > 0.0:
                order, gaps = _joined(chosen, inner)
                if order:
                    share *= self._gaps.of(_columns(order, gaps), reach, negated)
                found += share
        return min(found, 1.0)

    def _looked_for(
        self,
        steps: Sequence[Sequence[TimeBounds]],
        inner: Sequence[PlacedNegative],
        is_bounded: bool,
    ) -> tuple[list[bool], list[bool]]:
        """Mark the steps in which the first event must be determined; the same for the last."""
        last = len(steps) - 1
        gaps = {each.place for each in inner}
        begins = [n in gaps or (n == 0 and is_bounded) for n in range(last + 1)]
        closes = [n + 1 in gaps or (n == last and is_bounded) for n in range(last + 1)]
        for n, (one, other) in enumerate(pairwise(steps)):
            closes[n] = closes[n] or (len(one) > 1 and len(other) > 1 and not begins[n + 1])
        return begins, closes


def _unsure(steps: Sequence[Sequence[TimeBounds]]) -> list[list[TimeBounds]]:
    """The events that are not between their neighbours in every world."""
    begins = [min(each.lo for each in step) for step in steps] + [INT64_MAX]
    ends = [INT64_MIN, *(max(each.hi for each in step) for step in steps)]
    left = [
        [each for each in step if not (ends[n] < each.lo and each.hi < begins[n + 1])]
        for n, step in enumerate(steps)
    ]
    return [step for step in left if step]


def _columns(order: Sequence[TimeBounds], gaps: Sequence[Sequence[Other]]) -> list[Numbers]:
    """An order and its gaps as arrays for kernels."""
    others = [other for gap in gaps for other in gap]
    bounds = [other.interval for other in others]
    columns = [
        [each.lo for each in order], [each.hi for each in order],
        [each.lo for each in bounds], [each.hi for each in bounds],
        [other.kind for other in others], [other.free for other in others],
        np.cumsum([len(gap) for gap in gaps]),
    ]  # fmt: skip
    return [np.asarray(column, np.int64) for column in columns]


def _ways(step: Sequence[TimeBounds], begins: bool, closes: bool) -> Iterator[Way]:
    """The cases of a step by which event is first in the order, last, or both."""
    if len(step) == 1:
        yield Way(1.0, tuple(step), ((), ()))
    elif begins and closes:
        both = TimeBounds(max(each.lo for each in step), min(each.hi for each in step))
        if both.size > 0:  # all are simultaneous
            yield Way(both.size / prod(each.size for each in step), (both,), ((), ()))
        for first, last in product(range(len(step)), repeat=2):
            if first != last:
                between = _others(step, {first, last}, {first: OR_WITH_LAST, last: OR_WITH_NEXT})
                yield Way(1.0, (step[first], step[last]), ((), between, ()))
    elif begins:
        for first in range(len(step)):
            others = _others(step, {first}, {first: OR_WITH_LAST})
            yield Way(1.0, (step[first],), ((), others))
    elif closes:
        for last in range(len(step)):
            yield Way(1.0, (step[last],), (_others(step, {last}, {last: OR_WITH_NEXT}), ()))
    else:
        yield Way(1.0, (), (_others(step, set(), {}),))


def _others(
    step: Sequence[TimeBounds], chosen: set[int], ties: dict[int, int]
) -> tuple[Other, ...]:
    """The other events of a set; those listed after a chosen one may be simultaneous with it."""
    return tuple(
        Other(each, BETWEEN | sum(tie for at, tie in ties.items() if number > at))
        for number, each in enumerate(step)
        if number not in chosen
    )


def _joined(
    ways: Sequence[Way], negatives: Sequence[PlacedNegative]
) -> tuple[list[TimeBounds], list[list[Other]]]:
    """The order of all steps, and the constraints in each gap."""
    order: list[TimeBounds] = []
    gaps: list[list[Other]] = [[]]
    for number, way in enumerate(ways):
        gaps[-1] += [Other(each.interval, OUTSIDE) for each in negatives if each.place == number]
        order += way.order
        gaps[-1] += way.gaps[0]
        gaps += [list(gap) for gap in way.gaps[1:]]
    return order, gaps
