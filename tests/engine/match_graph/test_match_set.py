"""The refusals of a match set, the order in which it lists, and its random matches."""

from __future__ import annotations

import math
from collections import Counter
from itertools import islice

import numpy as np
import pytest

from sase.engine.match_graph import Binding, CandidateEvents, MatchSet
from sase.engine.match_graph.aggregates import listed, plain
from sase.engine.match_graph.options import GraphOptions
from sase.engine.match_graph.ranks import estimated, wilson
from sase.errors import BudgetError, SaseError
from tests.engine.match_graph.automata import slots_of
from tests.engine.match_graph.inputs import joined, random_input
from tests.engine.match_graph.sizes import SERIES, events, series


def test_a_binding_says_the_places_of_its_components():
    binding = Binding(0, (1, 4, 6, 7), (1, 0, 3))
    assert [binding.of(level) for level in range(3)] == [(1,), (), (4, 6, 7)]


@pytest.mark.parametrize("accepted", [0, 1, 50, 99, 100])
def test_bounds_hold_the_estimate(accepted):
    low, high = wilson(100, accepted)
    assert 0 <= low <= accepted / 100 <= high <= 1
    found = estimated(10**40, 100, accepted)
    assert 0 <= found.low <= found.count == 10**38 * accepted <= found.high <= 10**40


def test_wilson_is_the_interval_of_the_books():
    assert wilson(10, 2) == pytest.approx((0.0567, 0.5098), abs=1e-4)


def test_the_order_is_that_of_the_language():
    """Of two cuts of the same events the one with the shorter last component comes first."""
    two = MatchSet.over(slots_of(((1, None), (1, None))), events([3] * 3, [3] * 3))
    assert [(match.places, match.lengths) for match in two] == [
        ((0, 1), (1, 1)),
        ((1, 2), (1, 1)),
        ((0, 1, 2), (2, 1)),
        ((0, 1, 2), (1, 2)),
        ((0, 2), (1, 1)),
    ]


def test_partitions_are_merged_by_the_last_event():
    columns = [np.array([0, 3]), np.array([1, 2])]
    ones = np.ones(2, np.int64)
    partitions = [CandidateEvents(column, column, column, ones, ones) for column in columns]
    found = [(m.partition, m.places) for m in MatchSet.over(SERIES, joined(partitions))]
    assert found == [(0, (0,)), (1, (0,)), (1, (1,)), (1, (0, 1)), (0, (1,)), (0, (0, 1))]


def test_matches_are_made_as_they_are_asked_for():
    assert len(list(islice(series(200), 5))) == 5


def test_infinities_and_nan():
    inf, nan = math.inf, math.nan

    def by_paths(function, *values):
        return series(3).aggregate(function, 0, [np.array(values)])

    def one_by_one(function, *values):
        known = plain(np.array(values))
        return listed(function, (known[p] for match in series(3) for p in match.places))

    for of in (by_paths, one_by_one):
        assert of("sum", 1.0, inf, 2.0) == inf
        assert of("avg", 1.0, -inf, 2.0) == -inf
        assert of("sum", inf, -inf, 2.0) is None
        assert of("min", inf, nan, 2.0) == 2.0
        assert of("count", inf, nan, 2.0) == 8
        assert of("max", nan, nan, nan) is None
        assert of("sum", 1e308, 1e308, 0.0) == inf


def test_sums_of_floats_are_rounded_once():
    """Added up one after the other 0.1 gives another number."""
    values = [[0.1] * 12]
    held = 12 * 2**11
    assert series(12).aggregate("sum", 0, values) == float(held * 0.1)
    assert series(12).aggregate("sum", 0, [[1e300, 1.0, -1e300, *[0.0] * 9]]) == 2**11


def test_values_are_given_for_every_place():
    with pytest.raises(ValueError, match="a value for each place of each partition"):
        series(3).aggregate("sum", 0, [[1, 2]])


def test_too_many_neighbours_are_refused():
    few = GraphOptions(arcs=40)
    with pytest.raises(BudgetError, match="more than 40 pairs of events may be neighbours"):
        series(10, edge=lambda earlier, *_: earlier >= 0, options=few).count()
    assert series(9, edge=lambda earlier, *_: earlier >= 0, options=few).count() == 511


def test_a_span_reaches_below_the_least_measure():
    least = np.iinfo(np.int64).min
    measures = np.array([least, least + 5, 7])
    ones, places = np.ones(3, np.int64), np.arange(3)
    candidates = CandidateEvents(places, places, measures, ones, ones)
    assert MatchSet.over(SERIES, candidates, span=5).count() == 4


@pytest.mark.parametrize(
    ("positions", "ties", "measures"),
    [([0, 0], [0, 0], [0, 0]), ([0, 1], [1, 0], [0, 0]), ([0, 1], [0, 0], [1, 0]),
     ([0, 1], [0], [0, 0]), ([0.0, 1.0], [0, 0], [0, 0])],
)  # fmt: skip
def test_wrong_columns_are_refused(positions, ties, measures):
    ones = np.ones(2, np.int64)
    with pytest.raises(ValueError, match="candidates|ties"):
        CandidateEvents(np.array(positions), np.array(ties), np.array(measures), ones, ones)


# ---------------------------------------------------------------- samples

# Samples are uniform: chi-square tests at fixed seeds.


SEEDS = [seed for seed in range(120) if 5 <= len(random_input(seed).bindings) <= 200][:25]


def chi_square(matches: MatchSet, expected: int, draws: int, seed: int) -> float:
    """The statistic in standard deviations from its mean, of about the normal distribution."""
    counts = Counter(matches.sample(draws, seed))
    mean = draws / expected
    unseen = (expected - len(counts)) * mean
    statistic = sum((count - mean) ** 2 / mean for count in counts.values()) + unseen
    return (statistic - (expected - 1)) / (2 * (expected - 1)) ** 0.5


@pytest.mark.heavy
def test_samples_are_uniform(numbers):
    found = []
    for seed in SEEDS:
        given = random_input(seed)
        expected = len(given.bindings)
        found.append(chi_square(given.set(numbers), expected, 100 * expected, seed))
    assert len(found) == 25
    assert max(found) < 4
    assert abs(sum(found)) / len(found) ** 0.5 < 3


def test_a_seed_gives_the_same_sample_and_another_one_another():
    assert series(40).sample(20, seed=3) == series(40).sample(20, seed=3)
    assert series(40).sample(20, seed=3) != series(40).sample(20, seed=4)
    assert series(40).sample(0) == []


def test_nothing_cannot_be_sampled():
    with pytest.raises(SaseError, match="there is no match to sample"):
        series(0).sample(1)
