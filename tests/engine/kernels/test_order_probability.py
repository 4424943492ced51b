"""How likely an order is, in closed form: as worlds say, and exact fractions where many are."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from math import comb, factorial, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sase.binding.values.folding import INT64_MAX
from sase.engine.operators.imprecise.confidence import OrderConfidence

Intervals = list[tuple[int, int]]


def probability(intervals: Intervals, reach: int = INT64_MAX) -> float:
    bounds = np.array(intervals, np.int64).reshape(-1, 2)
    lo, hi = (np.ascontiguousarray(bounds[:, side]) for side in (0, 1))
    return OrderConfidence(reach).of(lo, hi)


def by_worlds(intervals: Intervals, reach: int) -> Fraction:
    worlds = list(product(*(range(lo, hi + 1) for lo, hi in intervals)))
    good = [
        times
        for times in worlds
        if all(one < other for one, other in pairwise(times)) and times[-1] - times[0] <= reach
    ]
    return Fraction(len(good), len(worlds))


def count(intervals: Intervals) -> int:
    """In how many worlds the order holds: integer polynomials on the segments between bounds."""
    cuts = sorted({bound for lo, hi in intervals for bound in (lo, hi + 1)})
    segments = list(pairwise(cuts))
    placed: list[list[int]] = [[] for _ in segments]
    for number, (lo, hi) in enumerate(intervals):
        total, longer = int(number == 0), []
        for (start, end), own in zip(segments, placed, strict=True):
            longer.append([total, *own] if lo <= start and end <= hi + 1 else [])
            total += sum(each * comb(end - start, place + 1) for place, each in enumerate(own))
        placed = longer
    return sum(
        each * comb(end - start, place + 1)
        for (start, end), own in zip(segments, placed, strict=True)
        for place, each in enumerate(own)
    )


def exact(intervals: Intervals, reach: int = INT64_MAX) -> Fraction:
    """With a window the sum over the times of the first event."""
    size = prod(hi - lo + 1 for lo, hi in intervals)
    if reach == INT64_MAX:
        return Fraction(count(intervals), size)
    lo, hi = intervals[0]
    good = 0
    for first in range(lo, hi + 1):
        capped = [(first, first), *((a, min(b, first + reach)) for a, b in intervals[1:])]
        good += count(capped) if all(a <= b for a, b in capped) else 0
    return Fraction(good, size)


@st.composite
def candidates(draw: st.DrawFn, most: int, reach: int, length: int) -> Intervals:
    starts = draw(st.lists(st.integers(0, reach), min_size=1, max_size=most))
    return [(start, start + draw(st.integers(0, length))) for start in starts]


@given(candidates(5, 8, 5), st.just(INT64_MAX) | st.integers(0, 14))
def test_it_is_the_share_of_worlds(intervals: Intervals, reach: int) -> None:
    found, expected = probability(intervals, reach), by_worlds(intervals, reach)
    assert found == pytest.approx(float(expected), rel=1e-12, abs=0)
    assert (found > 0) == (expected > 0)


@given(candidates(9, 10**6, 10**7))
def test_long_intervals(intervals: Intervals) -> None:
    assert probability(intervals) == pytest.approx(float(exact(intervals)), rel=1e-12, abs=0)


@given(candidates(6, 60, 40), st.integers(0, 90))
def test_windows_of_any_length(intervals: Intervals, reach: int) -> None:
    """Shorter than the intervals, and longer."""
    expected = float(exact(intervals, reach))
    assert probability(intervals, reach) == pytest.approx(expected, rel=1e-12, abs=0)


def test_the_longest_intervals() -> None:
    size = 2**40
    expected = float(Fraction(comb(size, 6), size**6))
    assert probability([(0, size - 1)] * 6) == pytest.approx(expected, rel=1e-13)
    later = 10**18
    assert probability([(later, later + size - 1)] * 6) == probability([(0, size - 1)] * 6)


@pytest.mark.parametrize("count", [20, 60, 170])
def test_many_events_that_all_overlap(count: int) -> None:
    """All orders are as likely; the chance of a tie is small."""
    found = probability([(0, 10**15)] * count)
    assert found == pytest.approx(1 / factorial(count), rel=1e-9, abs=0)


def test_a_thousand_events() -> None:
    """Where neighbours alone overlap it is a product of small chains."""
    pair = [(0, 10**6), (5 * 10**5, 15 * 10**5)]
    intervals = [(lo + n * 10**7, hi + n * 10**7) for n in range(500) for lo, hi in pair]
    assert probability(intervals) == pytest.approx(float(exact(pair)) ** 500, rel=1e-9, abs=0)
    span = 499 * 10**7 + 15 * 10**5
    assert probability(intervals, span) == probability(intervals)
    assert 0 < probability(intervals, span - 10**6) < probability(intervals)


def test_what_cannot_be_has_no_chance() -> None:
    assert probability([(5, 9), (1, 5)]) == 0
    assert probability([(1, 1), (2, 2), (8, 8)], 6) == 0
    assert probability([(1, 1), (2, 2), (8, 8)], 7) == 1
    assert probability([(0, 9), (0, 9), (0, 9)], 1) == 0
    assert probability([(3, 4)], 0) == 1


def test_the_same_bits_whatever_was_asked_before() -> None:
    asked = OrderConfidence(700)
    lo, hi = np.array([0, 100, 300]), np.array([500, 400, 900])
    before = asked.of(lo, hi)
    asked.of(np.arange(40), np.arange(40) + 1000)
    assert asked.of(lo, hi) == before == probability([(0, 500), (100, 400), (300, 900)], 700)
