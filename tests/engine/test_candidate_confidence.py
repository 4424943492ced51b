"""The confidence of a candidate is the share of worlds: sets, windows, negation at every place."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate, pairwise, product
from math import prod
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sase.binding.values.folding import INT64_MAX
from sase.engine.kernels.confidence import first_times
from sase.engine.kernels.confidence.first_times import FEW, nodes_of, solve
from sase.engine.operators.imprecise.candidate_confidence import (
    CandidateConfidence,
    PlacedNegative,
    TimeBounds,
)
from sase.engine.operators.imprecise.confidence import GapConfidence, OrderConfidence
from sase.errors import BudgetError
from tests.seeds import draw_numbers

EXAMPLES = settings().max_examples

Steps = list[list[TimeBounds]]


def by_worlds(steps: Steps, negatives: list[PlacedNegative], reach: int) -> Fraction:
    """In a world steps strictly follow, the window holds, and no gap of a negative one is hit."""
    every = [*(event for step in steps for event in step), *(n.interval for n in negatives)]
    begins = [0, *accumulate(map(len, steps))]
    good = 0
    for times in product(*(range(lo, hi + 1) for lo, hi in every)):
        spans = [times[one:other] for one, other in pairwise(begins)]
        first, last = min(spans[0]), max(spans[-1])
        borders = [last - reach - 1, *(max(span) for span in spans)]
        ends = [*(min(span) for span in spans), first + reach + 1]
        good += (
            all(max(one) < min(other) for one, other in pairwise(spans))
            and last - first <= reach
            and not any(
                borders[negative.place] < time < ends[negative.place]
                for negative, time in zip(negatives, times[begins[-1] :], strict=True)
            )
        )
    return Fraction(good, prod(each.size for each in every))


# How long intervals are, by how many events there are, so that there are few worlds.
LONGEST = {1: 40, 2: 20, 3: 9, 4: 5, 5: 3}


@st.composite
def candidates(draw: st.DrawFn) -> tuple[Steps, list[PlacedNegative], int]:
    sizes = draw(
        st.sampled_from([[1], [2], [1, 1], [1, 2], [2, 1], [3], [2, 2], [1, 1, 1], [1, 3]])
    )
    count = sum(sizes)
    more = draw(st.integers(0, min(2, 5 - count)))
    longest = LONGEST[count + more]
    start, length = st.integers(0, longest // 2 + 2), st.integers(0, longest)
    events = [
        TimeBounds(lo, lo + draw(length)) for lo in (draw(start) for _ in range(count + more))
    ]
    begins = [0, *accumulate(sizes)]
    steps = [events[one:other] for one, other in pairwise(begins)]
    places = st.integers(0, len(sizes))
    negatives = [PlacedNegative(each, draw(places)) for each in events[count:]]
    bounded = any(each.place in (0, len(sizes)) for each in negatives)
    window = st.integers(0, 2 * longest)
    return steps, negatives, draw(window if bounded else window | st.just(INT64_MAX))


@given(candidates())
def test_it_is_the_share_of_worlds(candidate: tuple[Steps, list[PlacedNegative], int]) -> None:
    steps, negatives, reach = candidate
    found = CandidateConfidence(reach).of(steps, negatives)
    assert found == pytest.approx(float(by_worlds(steps, negatives, reach)), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("unit", [10, 10**4, 10**6, 10**9])
def test_windows_over_long_intervals(unit: int) -> None:
    """The sum over the first time from a few of them, and the closed form of a chain."""
    events = [
        TimeBounds(0, 9 * unit),
        TimeBounds(4 * unit, 15 * unit),
        TimeBounds(5 * unit, 21 * unit),
    ]
    lo, hi = np.array([each.lo for each in events]), np.array([each.hi for each in events])
    for reach in (3 * unit, 11 * unit + 1, 18 * unit):
        expected = OrderConfidence(reach).of(lo, hi)
        found = CandidateConfidence(reach).of([[each] for each in events], [])
        assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.random
def test_the_sum_over_first_times_is_that_of_each_by_itself() -> None:
    """Of long intervals, with too many worlds: pieces are summed by a few places."""
    for number in draw_numbers(EXAMPLES):
        random = Random(number)
        longest, at, steps = random.choice((30, 70, 150)), 0, list[list[TimeBounds]]()
        for _ in range(random.choice((1, 2, 2, 3, 4))):
            at += random.randrange(longest // 2)
            steps.append([drawn(random, at, longest)])
        negatives = [
            PlacedNegative(
                drawn(random, random.randrange(-longest, at + 2 * longest), longest),
                random.randrange(len(steps) + 1),
            )
            for _ in range(random.randrange(4))
        ]
        confidence, (first,) = CandidateConfidence(random.randrange(1, 2 * longest)), steps[0]
        times = [TimeBounds(time, time) for time in range(first.lo, first.hi + 1)]
        expected = sum(confidence.of([[time], *steps[1:]], negatives) for time in times)
        found = confidence.of(steps, negatives)
        assert found == pytest.approx(expected / first.size, abs=1e-11), number


def drawn(random: Random, at: int, longest: int) -> TimeBounds:
    """An interval that begins before a time."""
    lo = at - random.randrange(longest)
    return TimeBounds(lo, lo + random.randrange(longest))


def test_an_absence_before_a_long_interval() -> None:
    """The events within the window before a negative one depend on its place, not its end."""
    times = [sum(-5 <= n <= 20 for n in (time - 2, time - 1)) for time in range(-4, 56)]
    expected = 1 - sum(times) / 26 / 60
    step, negative = [TimeBounds(-4, 55)], PlacedNegative(TimeBounds(-5, 20), 0)
    assert CandidateConfidence(2).of([step], [negative]) == pytest.approx(expected, abs=1e-12)


def test_more_uncertain_events_than_memory_can_hold() -> None:
    """It was a bare error of NumPy: the cube of 20,000 has more bytes than there are addresses."""
    lo, one = np.arange(20_000), np.zeros(1, np.int64)
    with pytest.raises(BudgetError, match=r"20,001 events of it and around it"):
        GapConfidence().of([lo, lo + 9, one, one + 9, one, one, np.ones(20_001, np.int64)])


def test_a_negated_end_over_long_intervals() -> None:
    """An event wholly behind the window, or before the match, forbids nothing."""
    steps = [[TimeBounds(0, 10**6)], [TimeBounds(10**7, 10**7 + 10**6)]]
    confidence = CandidateConfidence(10**8)
    assert confidence.of(steps, [PlacedNegative(TimeBounds(2 * 10**8, 3 * 10**8), 2)]) == 1
    assert confidence.of(steps, [PlacedNegative(TimeBounds(0, 10**6), 2)]) == pytest.approx(
        1, rel=1e-12
    )
    certain = confidence.of(steps, [PlacedNegative(TimeBounds(5 * 10**7, 6 * 10**7), 2)])
    assert certain == pytest.approx(0, abs=1e-12)
    half = confidence.of(steps, [PlacedNegative(TimeBounds(5 * 10**7, 15 * 10**7), 2)])
    assert half == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("degree", [1, 4, 12, 25])
@pytest.mark.parametrize("length", [1, 17, 37, 40, 157, 2000, 10**6])
def test_polynomials_are_summed_from_a_few_places(
    monkeypatch: pytest.MonkeyPatch, length: int, degree: int
) -> None:
    """Parts of kernels are called as Python here."""
    monkeypatch.setattr(first_times, "solve", getattr(solve, "py_func", solve))
    sums = getattr(nodes_of, "py_func", nodes_of)
    room = max(FEW, degree + 1, degree**2 // 4)
    places, weights = np.empty(room, np.int64), np.empty(room)
    count = sums(length, degree, places, weights, np.empty((degree + 1, degree + 1)))
    places, weights = places[:count], weights[:count]
    assert (weights > 0).all()
    for power in (0, 1, degree):
        exact = sum(Fraction(place, length) ** power for place in range(min(length, 3000)))
        found = float((weights * (places / length) ** power).sum())
        if length <= 3000:
            assert found == pytest.approx(float(exact), rel=1e-10)
        else:
            assert found == pytest.approx(length / (power + 1), rel=1e-4)
