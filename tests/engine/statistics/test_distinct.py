"""The number of values is estimated within known bounds, and exact of the whole."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from sase.engine.statistics.distinct import agreeing, distinct, occurrences


def counts(values: np.ndarray) -> np.ndarray:
    return occurrences(np.sort(values))


def test_codes_are_counted() -> None:
    assert counts(np.array([3, 0, 3, 3, 9])).tolist() == [1, 3, 1]
    assert counts(np.array([], np.int64)).tolist() == []


def test_the_whole_is_exact() -> None:
    assert distinct(np.array([1, 1, 5, 2]), 1.0) == 4
    assert distinct(np.array([], np.int64), 0.1) == 0


def test_what_never_repeats_is_all_distinct() -> None:
    assert distinct(np.ones(500, np.int64), 0.01) == 50_000


@pytest.mark.parametrize("size", [1, 10, 1000, 20_000, 200_000])
def test_equally_frequent_values(size: int) -> None:
    rng = np.random.default_rng(size)
    values = rng.integers(0, size, 1_000_000)
    found = distinct(counts(rng.choice(values, 20_000, replace=False)), 0.02)
    assert found == pytest.approx(len(np.unique(values)), rel=0.2)


@pytest.mark.parametrize("skew", [0.8, 1.0, 1.5])
def test_skewed_values(skew: float) -> None:
    rng = np.random.default_rng(5)
    bounds = np.cumsum(np.arange(1, 50_001) ** -skew)
    values = np.searchsorted(bounds, rng.random(1_000_000) * bounds[-1])
    found = distinct(counts(rng.choice(values, 20_000, replace=False)), 0.02)
    exact = len(np.unique(values))
    assert exact / 50**0.5 < found < exact * 50**0.5


@pytest.mark.parametrize("several", [2, 3])
def test_agreement_is_that_of_different_rows(several: int) -> None:
    values = [1, 1, 1, 2, 2, 3]
    rows = list(permutations(values, several))
    expected = sum(len(set(each)) == 1 for each in rows) / len(rows)
    assert agreeing(np.array([3, 2, 1]), several) == pytest.approx(expected)
    assert agreeing(np.array([several - 1]), several) is None
