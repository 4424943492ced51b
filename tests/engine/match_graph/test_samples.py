"""Samples are uniform: chi-square tests at fixed seeds."""

from __future__ import annotations

from collections import Counter

import pytest

from sase.engine.match_graph import MatchSet
from sase.errors import SaseError
from tests.engine.match_graph.inputs import random_input
from tests.engine.match_graph.sizes import series

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
