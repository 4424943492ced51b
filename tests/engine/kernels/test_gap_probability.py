"""How likely an order is with others in its gaps or outside: as worlds say, and by complements."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from math import inf, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sase.engine.kernels.confidence.gaps import BETWEEN, OUTSIDE
from sase.engine.operators.imprecise.confidence import GapConfidence, OrderConfidence

Intervals = list[tuple[int, int]]
Other = tuple[int, int, int, int]  # bounds, kind, and the gap


def probability(intervals: Intervals, others: list[Other], confidence: GapConfidence) -> float:
    others = sorted(others, key=lambda other: other[3])
    ends = [sum(gap <= n for *_, gap in others) for n in range(len(intervals) + 1)]
    columns = [[each[side] for each in intervals] for side in (0, 1)]
    columns += [[each[side] for each in others] for side in (0, 1, 2)]
    columns += [[0] * len(others)]
    return confidence.of([np.array(column, np.int64) for column in (*columns, ends)])


def by_worlds(intervals: Intervals, others: list[Other]) -> Fraction:
    every = [*intervals, *((lo, hi) for lo, hi, _, _ in others)]
    good = 0
    for times in product(*(range(lo, hi + 1) for lo, hi in every)):
        order = [-inf, *times[: len(intervals)], inf]
        good += all(one < other for one, other in pairwise(order)) and all(
            (order[gap] < time < order[gap + 1]) == (kind == BETWEEN)
            for (_, _, kind, gap), time in zip(others, times[len(intervals) :], strict=True)
        )
    return Fraction(good, prod(hi - lo + 1 for lo, hi in every))


# How long intervals are, by how many events there are, so that there are few worlds.
LONGEST = {1: 40, 2: 20, 3: 10, 4: 5, 5: 3}


@st.composite
def candidates(draw: st.DrawFn) -> tuple[Intervals, list[Other]]:
    count = draw(st.integers(1, 3))
    more = draw(st.integers(0, 5 - count))
    longest = LONGEST[count + more]
    start, length = st.integers(0, longest // 2 + 3), st.integers(0, longest)
    bounds = [(lo, lo + draw(length)) for lo in (draw(start) for _ in range(count + more))]
    kinds = st.sampled_from([BETWEEN, OUTSIDE])
    others = [(*each, draw(kinds), draw(st.integers(0, count))) for each in bounds[count:]]
    return bounds[:count], others


@given(candidates())
def test_it_is_the_share_of_worlds(candidate: tuple[Intervals, list[Other]]) -> None:
    expected = float(by_worlds(*candidate))
    assert probability(*candidate, GapConfidence()) == pytest.approx(expected, rel=1e-12, abs=0)


long = st.integers(0, 10**7).flatmap(
    lambda lo: st.integers(0, 2 * 10**6).map(lambda units: (lo, lo + units))
)


@given(st.lists(long, min_size=1, max_size=4), long, st.data())
def test_what_is_not_between_is_outside(
    intervals: Intervals, other: tuple[int, int], data: st.DataObject
) -> None:
    """One between is a link of the chain; with those outside it is every world of the order."""
    gap = data.draw(st.integers(0, len(intervals)))
    confidence = GapConfidence()
    between, outside = (
        probability(intervals, [(*other, kind, gap)], confidence) for kind in (BETWEEN, OUTSIDE)
    )
    whole, chain = (
        OrderConfidence().of(*(np.array([each[side] for each in every]) for side in (0, 1)))
        for every in (intervals, [*intervals[:gap], other, *intervals[gap:]])
    )
    assert between == pytest.approx(chain, rel=1e-11, abs=0)
    assert between + outside == pytest.approx(whole, rel=1e-11, abs=0)


def test_many_in_one_gap() -> None:
    """Of a number that all overlap, the first and the last are at the ends of the order."""
    size = 10**12
    for count in (1, 5, 12):
        others = [(0, size, BETWEEN, 1)] * count
        found = probability([(0, size), (0, size)], others, GapConfidence())
        assert found == pytest.approx(1 / ((count + 1) * (count + 2)), rel=1e-9)


def test_what_certainly_lies_there_changes_nothing() -> None:
    inside: list[Other] = [(200 + n, 300 + n, BETWEEN, 1) for n in range(30)]
    outside: list[Other] = [(2000 + n, 2100 + n, OUTSIDE, 1) for n in range(30)]
    found = probability([(0, 150), (900, 1000), (950, 1100)], inside + outside, GapConfidence())
    alone = OrderConfidence().of(np.array([0, 900, 950]), np.array([150, 1000, 1100]))
    assert found == pytest.approx(alone, rel=1e-12)


def test_room_grows_with_short_segments_and_the_bits_stay() -> None:
    events: Intervals = [(0, 40), (3, 60), (20, 90)]
    others: list[Other] = [(n * 7, n * 9 + 30, OUTSIDE, n % 4) for n in range(9)]
    asked = GapConfidence()
    before = probability(events, others, asked)
    probability([(0, 9)] * 6, [(0, 5, OUTSIDE, 3)] * 12, asked)
    assert (
        probability(events, others, asked) == before == probability(events, others, GapConfidence())
    )
    assert 0 < before < 1
