"""Chains are counted and drawn as if they were made one by one."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from sase.engine.columns.arrays import Numbers
from sase.engine.statistics.chains import Chains, RowGroups, SampleRows
from tests.seeds import draw_numbers


def rows(
    count: int, rng: np.random.Generator, slices: int = 1
) -> tuple[SampleRows, Numbers, list[np.ndarray]]:
    """Random rows with ties, their groups, and who may stand for three levels."""
    numbers = np.sort(rng.integers(0, slices, count))
    times = np.sort(rng.integers(0, count, count))
    groups = numbers * 10 + rng.integers(0, 3, count)
    weights = np.array([1.0, 3.0, 0.5])[:slices]
    shares = np.array([1.0, 2.0, 4.0])[:slices]
    made = SampleRows(np.arange(count), numbers, times, shares[numbers], weights[numbers])
    return made, groups, [rng.random(count) < part for part in (0.6, 0.5, 0.7)]


def made(
    sample: SampleRows, groups: Numbers, standing: list[np.ndarray]
) -> dict[tuple[int, ...], float]:
    """Every chain, and the number of its agreements."""
    return {
        chain: float(sample.weights[chain[0]] * np.prod(sample.shares[list(chain)]))
        for chain in combinations(range(len(groups)), len(standing))
        if len({groups[row] for row in chain}) == 1
        and all(stands[row] for stands, row in zip(standing, chain, strict=True))
        and all(sample.ties[a] < sample.ties[b] for a, b in zip(chain, chain[1:], strict=False))
    }


@pytest.mark.parametrize("slices", [1, 3])
@pytest.mark.random
@pytest.mark.parametrize("seed", draw_numbers(5))
def test_chains_are_counted_level_by_level(seed: int, slices: int) -> None:
    sample, groups, standing = rows(30, np.random.default_rng(seed), slices)
    chains = Chains(RowGroups(sample, groups), standing)
    for level in range(3):
        by_slice = np.zeros(slices)
        for chain, count in made(sample, groups, standing[level:]).items():
            by_slice[sample.slices[chain[0]]] += count
        assert chains.by_slice(level, slices) == pytest.approx(by_slice)
    assert chains.total == pytest.approx(chains.by_slice(0, slices).sum())


def test_chains_are_drawn_by_what_they_count() -> None:
    rng = np.random.default_rng(7)
    sample, groups, standing = rows(25, rng, 3)
    expected = made(sample, groups, standing)
    chains = Chains(RowGroups(sample, groups), standing)
    drawn = Counter(map(tuple, chains.draw(100_000, rng).T.tolist()))
    assert drawn.keys() <= expected.keys()
    for chain, count in expected.items():
        wanted = count / sum(expected.values()) * 100_000
        assert abs(drawn[chain] - wanted) < 5 * wanted**0.5 + 5


def test_the_last_levels_are_drawn_alone() -> None:
    rng = np.random.default_rng(8)
    sample, groups, standing = rows(25, rng)
    drawn = Chains(RowGroups(sample, groups), standing).draw(1000, rng, 1)
    assert {*map(tuple, drawn.T.tolist())} <= made(sample, groups, standing[1:]).keys()


def test_no_rows_are_no_chains() -> None:
    nothing = np.zeros(0, np.int64)
    sample = SampleRows(nothing, nothing, nothing, np.zeros(0), np.zeros(0))
    assert Chains(RowGroups(sample, nothing), [np.zeros(0, np.bool_)] * 2).total == 0
