"""The compressed match set: every match under skip till any match, none of them listed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, islice
from random import Random
from typing import TypeAlias

import numpy as np

from sase.engine.match_graph.aggregates import Function, Number, Values, aggregated, listed, plain
from sase.engine.match_graph.binding import Accepts, Binding
from sase.engine.match_graph.candidates import CandidateEvents
from sase.engine.match_graph.graph import Graph
from sase.engine.match_graph.sampling import Estimate, drawn, estimated, exactly
from sase.engine.match_graph.slots import Levels, Slots
from sase.engine.match_graph.totals import EndCount, EndLists, totals
from sase.engine.match_graph.walk import GraphWalk
from sase.errors import BudgetError, SaseError

# Matches that are looked at before that is refused, and rejected samples for each wanted.
BUDGET, REFUSALS = 1_000_000, 1_000

# A final event: its partition, its place there, and its position in the stream.
_Where: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class MatchSet:
    """All matches over some partitions.

    With a test of bindings (`accepts`) they cannot be counted as paths: then the methods look
    at single matches, up to a budget, and `estimate` samples.
    """

    graph: Graph
    accepts: Accepts | None = None

    @classmethod
    def over(
        cls, levels: Levels, partitions: Sequence[CandidateEvents], span: int | None = None
    ) -> MatchSet:
        """The matches of components whose first and last event are at most `span` apart."""
        return cls(Graph(Slots(levels), partitions, span))

    def where(self, accepts: Accepts) -> MatchSet:
        """The matches that pass a test."""
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
        return sum(total.matches for total in totals(self.graph))

    def estimate(self, samples: int = 1_000, seed: int = 0) -> Estimate:
        """The number of matches by the share of samples that pass the test."""
        if not self.counts_paths and self._paths:
            tried = drawn(self.graph, self._paths, samples, Random(seed))
            return estimated(self._paths, samples, sum(map(self._is_accepted, tried)))
        return exactly(self._paths)

    def counts_by_end(self, budget: int = BUDGET) -> Iterator[EndCount]:
        """The matches that end at each event, by position."""
        if self.counts_paths:
            yield from self._end_counts()
        else:
            for where, bindings in self._affordable_by_end(budget):
                yield EndCount(*where, len(bindings))

    def collapsed(self, budget: int = BUDGET, within: range | None = None) -> Iterator[EndLists]:
        """For each final event, `within` positions, the places of its matches by component."""
        if self.counts_paths:
            for end in self._ends():
                partition, place = self.graph.local(end)
                position = int(self.graph.positions[end])
                if within is not None and position not in within:
                    continue
                yield EndLists(partition, place, position, self._held(end))
        else:
            for where, bindings in self._affordable_by_end(budget):
                levels = range(len(bindings[0].lengths))
                if within is not None and where[-1] not in within:
                    continue
                held = tuple(sorted({p for each in bindings for p in each.of(k)}) for k in levels)
                yield EndLists(*where, held)

    # ------------------------------------------------------------ matches

    def __iter__(self) -> Iterator[Binding]:
        """The matches in the defined order, made on demand; for delays see `GraphWalk`."""
        return filter(self._is_accepted, self._walk()) if self.accepts else self._walk()

    def ending_from(self, position: int) -> Iterator[Binding]:
        """The matches that end at a position or later, in the defined order."""
        return filter(self._is_accepted, self._walk(position))

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
            found += filter(self._is_accepted, drawn(self.graph, self._paths, number, random))
            tried += number
        return found[:number]

    def _walk(self, position: int = 0) -> Iterator[Binding]:
        """All matches before the test that end from a position on, in order."""
        walk = GraphWalk(self.graph)
        for end in self._ends():
            if self.graph.positions[end] >= position:
                yield from walk.ending(end)

    def _ends(self) -> list[int]:
        """The places in the graph where matches end, by position."""
        ends = self.graph.ends
        return ends[np.argsort(self.graph.positions[ends])].tolist()  # type: ignore[no-any-return]

    def _end_counts(self) -> Iterator[EndCount]:
        """The counts by position; of one partition as they are made."""
        counts = (
            EndCount(*self.graph.local(place), int(self.graph.positions[place]), count)
            for place, count, _ in totals(self.graph)
        )
        several = len(self.graph.partitions) > 1
        return iter(sorted(counts, key=lambda end: end.position)) if several else counts

    def _held(self, end: int) -> tuple[list[int], ...]:
        """By component the places within the partition on matches that end at a place."""
        low, offset = int(self.graph.stream.lowest[end]), end - self.graph.local(end)[1]
        alive = self.graph.alive(low, end, end + 1)
        held = (alive[:, slots].any(axis=1) for slots in self.graph.slots.by_level)
        return tuple((np.flatnonzero(each) + (low - offset)).tolist() for each in held)

    def _is_accepted(self, binding: Binding) -> bool:
        return self.accepts is None or self.accepts(binding)

    def _affordable(self, budget: int) -> Iterator[Binding]:
        """The matches, looked at one by one up to a budget."""
        for seen, binding in enumerate(self._walk()):
            if seen == budget:
                raise BudgetError(
                    f"more than {budget:,} matches would have to be looked at one by one, since "
                    "not all conditions can be counted with; estimate() samples them"
                )
            if self._is_accepted(binding):
                yield binding

    def _affordable_by_end(self, budget: int) -> Iterator[tuple[_Where, list[Binding]]]:
        bindings = self._affordable(budget)
        for (partition, place), group in groupby(bindings, lambda b: (b.partition, b.places[-1])):
            position = int(self.graph.partitions[partition].positions[place])
            yield (partition, place, position), list(group)

    # ------------------------------------------------------------ aggregates

    def aggregate(
        self, function: Function, level: int, values: Sequence[Values], budget: int = BUDGET
    ) -> Number | None:
        """An aggregate over the events of a component in all matches together.

        `values` are by partition and place, None for NULL. Exact, and rounded once if a float.
        """
        columns = [plain(of) for of in values]
        if list(map(len, columns)) != list(map(len, self.graph.partitions)):
            raise ValueError("an aggregate needs a value for each place of each partition")
        if self.counts_paths:
            joined = [value for column in columns for value in column]
            return aggregated(self.graph, function, level, joined)
        bindings = self._affordable(budget)
        return listed(function, (columns[b.partition][p] for b in bindings for p in b.of(level)))
