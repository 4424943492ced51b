"""The compressed match set: all matches under skip till any match, without a list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from random import Random

import numpy as np

from sase.cached_property import cached_property
from sase.engine.match_graph.aggregates import (
    Function,
    Number,
    ValuedPaths,
    Values,
    aggregated,
    plain,
)
from sase.engine.match_graph.candidates import Binding, CandidateEvents
from sase.engine.match_graph.graph import Graph
from sase.engine.match_graph.options import GRAPH_OPTIONS, GraphOptions
from sase.engine.match_graph.sampling import drawn
from sase.engine.match_graph.slots import SlotAutomaton
from sase.engine.match_graph.totals import EndCount, EndLists, PairLists, paths_from, totals
from sase.engine.match_graph.walk import GraphWalk
from sase.engine.resources import Check, no_check
from sase.errors import SaseError

MATCHES_PER_CHECK = 1_000


@dataclass(frozen=True, eq=False)
class MatchSet:
    """All matches over some partitions, as paths of a graph."""

    graph: Graph

    @classmethod
    def over(
        cls,
        slots: SlotAutomaton,
        partitions: Sequence[CandidateEvents],
        span: int | None = None,
        options: GraphOptions = GRAPH_OPTIONS,
        check: Check = no_check,
    ) -> MatchSet:
        """The matches of a pattern whose first and last event are at most `span` apart.

        `check` is called between the pieces of each pass, and may end it by an exception.
        """
        return cls(Graph(slots, partitions, span, options, check))

    # ------------------------------------------------------------ counts

    def count(self) -> int:
        """The exact number of matches."""
        return self._paths

    @cached_property
    def _paths(self) -> int:
        return sum(total.matches for total in totals(self.graph))

    def counts_by_end(self) -> Iterator[EndCount]:
        """The matches that end at each event, by position; computed on demand for one partition."""
        counts = (
            EndCount(*self.graph.local(place), int(self.graph.positions[place]), count)
            for place, count, _ in totals(self.graph)
        )
        several = len(self.graph.partitions) > 1
        return iter(sorted(counts, key=lambda end: end.position)) if several else counts

    def collapsed(self, within: range | None = None) -> Iterator[EndLists]:
        """For final events at positions `within` a range, the places of matches by component."""
        for end in self._ends():
            partition, place = self.graph.local(end)
            position = int(self.graph.positions[end])
            if within is None or position in within:
                self.graph.check(0)
                yield EndLists(partition, place, position, self._held(end))

    def collapsed_pairs(self) -> Iterator[PairLists]:
        """For each first and final event, the number and places of its matches, by first event."""
        closing = [number for number, slot in enumerate(self.graph.slots.all) if slot.closes]
        ends = set(self.graph.ends.tolist())
        for start in self._starts():
            partition, first = self.graph.local(start)
            self.graph.check(0)
            reached = list[list[bool]]()
            for place, counts in paths_from(self.graph, start):
                reached.append([count > 0 for count in counts])
                count = sum(counts[slot] for slot in closing) if place in ends else 0
                if count:
                    alive = self.graph.alive(start, place, place + 1) & np.array(reached)
                    held = (alive[:, slots].any(axis=1) for slots in self.graph.slots.by_level)
                    places = tuple((np.flatnonzero(each) + first).tolist() for each in held)
                    last = first + place - start
                    yield PairLists(partition, first, last, count, places)

    def _starts(self) -> list[int]:
        """The places where matches may begin."""
        opening = np.asarray([slot.opens for slot in self.graph.slots.all])
        begins = self.graph.latest[:, opening] == np.arange(len(self.graph))[:, None]
        return np.flatnonzero(begins.any(axis=1)).tolist()

    # ------------------------------------------------------------ matches

    def __iter__(self) -> Iterator[Binding]:
        """The matches in the defined order, made on demand; for delays see `GraphWalk`."""
        return self.ending_from(0)

    def ending_from(self, position: int) -> Iterator[Binding]:
        """The matches that end at a position or later, in the defined order."""
        walk = GraphWalk(self.graph)
        ends = (end for end in self._ends() if self.graph.positions[end] >= position)
        matches = chain.from_iterable(map(walk.ending, ends))
        for number, match in enumerate(matches):
            if number % MATCHES_PER_CHECK == 0:
                self.graph.check(0)
            yield match

    def first(self, number: int) -> list[Binding]:
        """The first matches in the defined order."""
        return list(islice(self, number))

    def sample(self, number: int, seed: int = 0) -> list[Binding]:
        """Independent matches, each equally likely; equal for equal seeds."""
        if not number:
            return []
        if not self._paths:
            raise SaseError("there is no match to sample")
        return drawn(self.graph, self._paths, number, Random(seed))

    def _ends(self) -> list[int]:
        """The places where matches end, by position."""
        ends = self.graph.ends
        return ends[np.argsort(self.graph.positions[ends])].tolist()  # type: ignore[no-any-return]

    def _held(self, end: int) -> tuple[list[int], ...]:
        """For each component, the places of the matches that end at a place."""
        low, offset = int(self.graph.stream.lowest[end]), end - self.graph.local(end)[1]
        alive = self.graph.alive(low, end, end + 1)
        held = (alive[:, slots].any(axis=1) for slots in self.graph.slots.by_level)
        return tuple((np.flatnonzero(each) + (low - offset)).tolist() for each in held)

    # ------------------------------------------------------------ aggregates

    def aggregate(self, function: Function, level: int, values: Sequence[Values]) -> Number | None:
        """An aggregate over the events of a component in all matches together.

        `values` are by partition and place, None for NULL. The result is exact; a float is rounded
        once.
        """
        return aggregated([self.valued(level, values)], function)

    def valued(self, level: int, values: Sequence[Values]) -> ValuedPaths:
        """The values of a component, for an aggregate over several sets."""
        columns = [plain(of) for of in values]
        if list(map(len, columns)) != list(map(len, self.graph.partitions)):
            raise ValueError("an aggregate needs a value for each place of each partition")
        return ValuedPaths(self.graph, level, [value for column in columns for value in column])
