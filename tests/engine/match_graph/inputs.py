"""Small random inputs: overlapping bits, ties, windows, bounds, optional components, edges."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from sase.engine.columns.arrays import Numbers
from sase.engine.match_graph import (
    Binding,
    CandidateEvents,
    Edge,
    MatchSet,
    Neighbours,
    SlotAutomaton,
)
from sase.engine.match_graph.options import GraphOptions
from tests.engine.match_graph import brute
from tests.engine.match_graph.automata import Bounds, slots_of

BOUNDS = [(1, 1), (1, None), (1, None), (0, 1), (0, None), (2, 2), (2, None), (3, None), (1, 3),
          (0, 2), (2, 3)]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Input:
    levels: Bounds
    partitions: list[CandidateEvents]
    span: int | None
    values: list[list[float | None]]
    states: SlotAutomaton | None = None

    def set(self, options: GraphOptions) -> MatchSet:
        events = joined(self.partitions)
        return MatchSet.over(self.states or slots_of(self.levels), events, self.span, options)

    @cached_property
    def bindings(self) -> list[Binding]:
        if self.states is not None:
            return brute.paths(self.states, self.partitions, self.span)
        return brute.bindings(self.levels, self.partitions, self.span)

    @cached_property
    def held(self) -> list[list[float | None]]:
        """For each component the values of its events in all bindings."""
        return [
            [self.values[b.partition][place] for b in self.bindings for place in self.of(b, level)]
            for level in range(len(self.levels))
        ]

    def of(self, binding: Binding, level: int) -> tuple[int, ...]:
        """The places of one component."""
        if self.states is None:
            return binding.of(level)
        slots = [self.states.all[slot] for slot in binding.slots]
        pairs = zip(binding.places, slots, strict=True)
        return tuple(place for place, slot in pairs if slot.level == level)


def joined(partitions: list[CandidateEvents]) -> CandidateEvents:
    """The events of partitions one after another, each with its own edges."""
    starts = np.cumsum([0, *map(len, partitions)])[:-1]
    names = "positions", "ties", "measures", "begins", "takes"
    columns = [np.concatenate([getattr(each, name) for each in partitions]) for name in names]

    def edge(earlier: Numbers, later: Numbers, pair: Neighbours) -> NDArray[np.bool_]:
        holds = np.ones(len(later), np.bool_)
        for start, each in zip(starts, partitions, strict=True):
            own = (later >= start) & (later < start + len(each))
            assert (earlier[own] >= start).all(), "neighbours are of one partition"
            if each.edge is not None:
                holds[own] = each.edge(earlier[own] - start, later[own] - start, pair)
        return holds

    tested = any(each.edge is not None for each in partitions)
    return CandidateEvents(*columns, edge if tested else None, starts)


@cache
def random_input(seed: int) -> Input:
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 4))
    levels = tuple(BOUNDS[each] for each in random.integers(0, len(BOUNDS), count))
    sizes = random.integers(3, 9, int(random.integers(1, 4)))
    owners = random.permutation(np.repeat(np.arange(len(sizes)), sizes))
    with_edges = random.random() < 0.5
    ties = np.cumsum(random.random(len(owners)) < 0.7)
    ranked = random.random() < 0.5
    partitions = []
    for owner in range(len(sizes)):
        positions = np.flatnonzero(owners == owner)
        measures = positions if ranked else ties[positions]
        begins, takes = (bits(random, len(positions), count) for _ in range(2))
        tested = with_edges and random.random() < 0.8
        edge = random_edge(random, len(positions), count) if tested else None
        partitions.append(
            CandidateEvents(positions, ties[positions], measures, begins, takes, edge)
        )
    span = None if random.random() < 0.4 else int(random.integers(1, len(owners) + 1))
    values = [random_values(random, len(each), bool(seed % 2)) for each in partitions]
    return Input(levels, partitions, span, values)


@cache
def input_with_sets(seed: int) -> Input:
    """The same where components are members of sets, without edges."""
    given, random = random_input(seed), np.random.default_rng(seed)
    first = int(random.integers(0, len(given.levels) + 1))
    partitions = [replace(each, edge=None) for each in given.partitions]
    ranks = random.permutation(len(given.levels)).tolist()
    return replace(given, partitions=partitions, states=slots_of(given.levels, first, ranks))


def bits(random: np.random.Generator, size: int, count: int):
    flags = random.random((size, count)) < random.choice([0.6, 0.8, 1.0])
    return (flags << np.arange(count)).sum(axis=1).astype(np.int64)


def random_edge(random: np.random.Generator, size: int, count: int) -> Edge:
    holds = random.random((size, count, size, count)) < 0.8
    return lambda earlier, later, pair: holds[earlier, pair.earlier, later, pair.later]


def random_values(random: np.random.Generator, size: int, whole: bool) -> list[float | None]:
    numbers = random.integers(-50, 50, size) if whole else random.normal(0, 10, size).round(3)
    return [None if random.random() < 0.15 else number for number in numbers.tolist()]
