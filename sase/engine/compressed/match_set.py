"""The compressed match set: every match under skip till any match, and none of them listed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import merge
from itertools import groupby, islice
from random import Random
from typing import NamedTuple

import numpy as np

from sase.engine.compressed.aggregates import Function, Number, Values, aggregated, listed, plain
from sase.engine.compressed.binding import Accepts, Binding
from sase.engine.compressed.candidates import Candidates
from sase.engine.compressed.ends import EndCount, EndLists
from sase.engine.compressed.estimate import Estimate, estimated
from sase.engine.compressed.graph import Graph
from sase.engine.compressed.levels import Levels
from sase.engine.compressed.sampling import drawn
from sase.engine.compressed.slots import Slots
from sase.engine.compressed.totals import totals
from sase.engine.compressed.walk import Walk
from sase.errors import BudgetError, SaseError

# Matches that are looked at one by one before that is refused, and refused samples for each wanted.
BUDGET, REFUSALS = 1_000_000, 1_000


class _End(NamedTuple):
    """A final event; in the order of the results."""

    position: int
    partition: int
    place: int


@dataclass(frozen=True, eq=False)
class MatchSet:
    """All matches over some partitions.

    With a test of finished bindings (`accepts`) they can no longer be counted as paths: then the
    methods look at them one by one, up to a budget, and `estimate` samples.
    """

    graphs: tuple[Graph, ...]
    accepts: Accepts | None = None

    @classmethod
    def over(
        cls, levels: Levels, partitions: Sequence[Candidates], span: int | None = None
    ) -> MatchSet:
        """The matches of these components whose first and last event are at most `span` apart."""
        slots = Slots(levels)
        return cls(tuple(Graph(n, slots, each, span) for n, each in enumerate(partitions)))

    def where(self, accepts: Accepts) -> MatchSet:
        """Those of the matches that pass a test."""
        before = self.accepts
        both = accepts if before is None else lambda each: before(each) and accepts(each)
        return replace(self, accepts=both)

    @property
    def counts_paths(self) -> bool:
        """Whether counts are exact without looking at single matches."""
        return self.accepts is None

    # ------------------------------------------------------------ counts

    def count(self, budget: int = BUDGET) -> int:
        """The exact number of matches."""
        return self._paths if self.counts_paths else sum(1 for _ in self._affordable(budget))

    @cached_property
    def _paths(self) -> int:
        """The number of matches before the test."""
        return sum(total.matches for graph in self.graphs for total in totals(graph))

    def estimate(self, samples: int = 1_000, seed: int = 0) -> Estimate:
        """The number of matches by the share of samples that pass the test."""
        if not self.counts_paths and self._paths:
            tried = drawn(self.graphs, self._paths, samples, Random(seed))
            return estimated(self._paths, samples, sum(map(self._is_accepted, tried)))
        return Estimate(self._paths, self._paths, self._paths, self._paths, 0, 0)

    def counts_by_end(self, budget: int = BUDGET) -> Iterator[EndCount]:
        """How many matches end at each event where at least one does, by position."""
        if self.counts_paths:
            yield from merge(*map(_end_counts, self.graphs), key=lambda end: end.position)
        else:
            for end, bindings in self._affordable_by_end(budget):
                yield EndCount(end.partition, end.place, end.position, len(bindings))

    def collapsed(self, budget: int = BUDGET) -> Iterator[EndLists]:
        """For each final event the places that its matches hold in each component."""
        if self.counts_paths:
            for end in self._ends():
                places = _held(self.graphs[end.partition], end.place)
                yield EndLists(end.partition, end.place, end.position, places)
        else:
            for end, bindings in self._affordable_by_end(budget):
                levels = range(len(bindings[0].lengths))
                held = tuple(sorted({p for each in bindings for p in each.of(k)}) for k in levels)
                yield EndLists(end.partition, end.place, end.position, held)

    # ------------------------------------------------------------ matches

    def __iter__(self) -> Iterator[Binding]:
        """The matches in the defined order, made as they are asked for; delays: see `Walk`."""
        return filter(self._is_accepted, self._walk()) if self.accepts else self._walk()

    def first(self, number: int) -> list[Binding]:
        """The first ones in the defined order."""
        return list(islice(self, number))

    def sample(self, number: int, seed: int = 0) -> list[Binding]:
        """Independent matches, each equally likely; the same for the same seed.

        With a test, matches are drawn until enough of them pass it.
        """
        if not number:
            return []
        if not self._paths:
            raise SaseError("there is no match to sample")
        random, found, tried = Random(seed), list[Binding](), 0
        while len(found) < number:
            if tried > REFUSALS * number:
                raise BudgetError(
                    f"only {len(found):,} of {tried:,} sampled matches pass the conditions that "
                    f"cannot be counted, and {number:,} were wanted; ask for fewer, or list them"
                )
            found += filter(self._is_accepted, drawn(self.graphs, self._paths, number, random))
            tried += number
        return found[:number]

    def _walk(self) -> Iterator[Binding]:
        """All matches before the test, in order."""
        walks = [Walk(graph) for graph in self.graphs]
        for end in self._ends():
            yield from walks[end.partition].ending(end.place)

    def _ends(self) -> Iterator[_End]:
        """The events where matches end before the test, in order."""
        return merge(*map(_ends_of, self.graphs))

    def _is_accepted(self, binding: Binding) -> bool:
        return self.accepts is None or self.accepts(binding)

    def _affordable(self, budget: int) -> Iterator[Binding]:
        """The matches, looked at one by one, if there are not too many before the test."""
        for seen, binding in enumerate(self._walk()):
            if seen == budget:
                raise BudgetError(
                    f"more than {budget:,} matches would have to be looked at one by one, since "
                    "not all conditions can be counted with; estimate() samples them"
                )
            if self._is_accepted(binding):
                yield binding

    def _affordable_by_end(self, budget: int) -> Iterator[tuple[_End, list[Binding]]]:
        bindings = self._affordable(budget)
        for (partition, place), group in groupby(bindings, lambda b: (b.partition, b.places[-1])):
            position = int(self.graphs[partition].candidates.positions[place])
            yield _End(position, partition, place), list(group)

    # ------------------------------------------------------------ aggregates

    def aggregate(
        self, function: Function, level: int, values: Sequence[Values], budget: int = BUDGET
    ) -> Number | None:
        """An aggregate over the events of a component in all matches together.

        `values` are by partition and place, None for NULL. Exact, and rounded once if a float.
        """
        columns = [plain(of) for of in values]
        if self.counts_paths:
            return aggregated(self.graphs, function, level, columns)
        bindings = self._affordable(budget)
        return listed(function, (columns[b.partition][p] for b in bindings for p in b.of(level)))


def _ends_of(graph: Graph) -> Iterator[_End]:
    positions = graph.candidates.positions[graph.ends].tolist()
    for position, place in zip(positions, graph.ends.tolist(), strict=True):
        yield _End(position, graph.number, place)


def _end_counts(graph: Graph) -> Iterator[EndCount]:
    for place, count, _ in totals(graph):
        yield EndCount(graph.number, place, int(graph.candidates.positions[place]), count)


def _held(graph: Graph, end: int) -> tuple[list[int], ...]:
    """By component the places on matches that end at a place."""
    low = int(graph.stream.lowest[end])
    alive = graph.alive(low, end, end + 1)
    held = []
    for level in range(len(graph.slots.levels)):
        slots = [slot for slot, form in enumerate(graph.slots.all) if form.level == level]
        held.append((np.flatnonzero(alive[:, slots].any(axis=1)) + low).tolist())
    return tuple(held)
