"""Every answer of a match set equals that of the list of all its matches."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import groupby

import pytest

from sase.engine.match_graph import EndCount, EndLists
from sase.engine.match_graph.aggregates import listed
from tests.engine.match_graph.inputs import Input, input_with_sets, random_input
from tests.seeds import draw_numbers, share

SEEDS = draw_numbers(share(400))
BLOCKS = [SEEDS[start : start + 40] for start in range(0, len(SEEDS), 40)]
FUNCTIONS = ("count", "sum", "min", "max", "avg")


@cache
def by_end(given: Input) -> list[tuple[EndCount, EndLists]]:
    found = []
    for (partition, place), group in groupby(given.bindings, lambda b: (b.partition, b.places[-1])):
        matches = list(group)
        where = partition, place, int(given.partitions[partition].positions[place])
        lists = tuple(
            sorted({place for each in matches for place in given.of(each, level)})
            for level in range(len(given.levels))
        )
        found.append((EndCount(*where, len(matches)), EndLists(*where, lists)))
    return found


@cache
def aggregates(given: Input) -> list[tuple[int, str, object]]:
    """The value of each function for each component, which the list gives as well."""
    found = []
    for level, held in enumerate(given.held):
        for function in FUNCTIONS:
            right = aggregate(held, function)
            assert listed(function, iter(held)) == right, function
            found.append((level, function, right))
    return found


def aggregate(numbers: list[float | None], function: str):
    kept = [number for number in numbers if number is not None]
    if function == "count":
        return len(kept)
    if not kept:
        return None
    if function in ("min", "max"):
        return min(kept) if function == "min" else max(kept)
    total = sum(map(Fraction, kept))
    if function == "avg":
        return float(total / len(kept))
    return int(total) if all(isinstance(each, int) for each in kept) else float(total)


@pytest.mark.random
@pytest.mark.parametrize("made", [random_input, input_with_sets])
@pytest.mark.parametrize("seeds", BLOCKS, ids=lambda seeds: f"from {seeds[0]}")
def test_all_answers_are_those_of_the_list(numbers, seeds, made):
    for seed in seeds:
        given = made(seed)
        matches, expected = given.set(numbers), given.bindings
        assert list(matches) == expected, seed
        assert matches.count() == len(expected), seed
        ends = by_end(given)
        assert list(matches.counts_by_end()) == [count for count, _ in ends], seed
        assert list(matches.collapsed()) == [lists for _, lists in ends], seed
        assert matches.first(3) == expected[:3], seed
        for level, function, right in aggregates(given):
            found = matches.aggregate(function, level, given.values)
            assert found == right, (seed, function)
            assert type(found) is type(right), seed


@pytest.mark.random
@pytest.mark.parametrize("made", [random_input, input_with_sets])
@pytest.mark.parametrize("seeds", BLOCKS, ids=lambda seeds: f"from {seeds[0]}")
def test_samples_reach_every_match_and_nothing_else(numbers, seeds, made):
    for seed in seeds:
        given = made(seed)
        expected = given.bindings
        if 0 < len(expected) <= 60:
            # That many that one of sixty matches is left out once in 10^15 inputs.
            matches = given.set(numbers)
            sample = matches.sample(40 * len(expected), seed)
            assert set(sample) == set(expected), seed
            assert max(Counter(sample).values()) < 120, seed
            few = matches.sample(len(expected), seed)
            assert few == matches.sample(len(expected), seed), seed


def test_the_inputs_have_what_matters():
    """Most have matches, many of them several cuts of the same events, ties and windows."""
    count = 400
    inputs = [random_input(seed) for seed in range(count)]
    lists = [given.bindings for given in inputs]
    assert sum(map(bool, lists)) > 0.7 * count
    assert max(map(len, lists)) > 500
    cut = [len({(b.partition, b.places) for b in found}) < len(found) for found in lists]
    assert sum(cut) > 0.25 * count
    assert sum(given.span is not None for given in inputs) > 0.5 * count
    assert sum(given.partitions[0].edge is not None for given in inputs) > 0.3 * count
