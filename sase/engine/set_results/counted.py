"""All matches as a graph of events: counted, sampled and walked, never listed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
import pyarrow as pa

from sase.digits import digits
from sase.engine.columns import Events
from sase.engine.columns.arrays import Numbers
from sase.engine.match_graph import Binding, EndCount, EndLists, MatchSet
from sase.engine.match_graph.aggregates import Function, Number
from sase.engine.match_graph.sampling import Estimate, estimated, exactly
from sase.engine.match_graph.totals import PairLists
from sase.engine.operators.kleene.match_set_evaluation import (
    CollectedMatches,
    MatchSetEvaluationState,
)
from sase.engine.pipeline.batch import RowsInMemory
from sase.engine.pipeline.limits import RunGuard, check_of, working
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.plan import EnginePlan
from sase.engine.report import Report
from sase.engine.results.batch import MatchBatch
from sase.engine.set_results.collapsed_table import (
    CollapsedForm,
    EventLists,
    check_size,
    count_column,
)

# The most matches of which results are made at once; one at first, so that it comes soon.
LARGEST_PIECE = 4096
# Events listed by a piece of the collapsed form.
ENTRIES = 1 << 16


class CountedMatches:
    """The matches of a plan all of which are paths of a graph.

    Of HAVING, only `estimate` knows.
    """

    reasons: tuple[str, ...] = ()

    def __init__(
        self, plan: EnginePlan, rows: RowsInMemory, events: Events, guard: RunGuard | None = None
    ) -> None:
        self._rows, self._guard = rows, guard
        check = check_of(guard)
        self._pipeline = Pipeline(plan, check=check)
        self._pipeline.bind_input(rows.inputs, events)
        with working(guard):
            for _ in self._pipeline.results(events):
                raise AssertionError("a collapsed evaluation lists no match")
            evaluation = self._pipeline.operators[0]
            assert isinstance(evaluation, MatchSetEvaluationState)
            self._collected = evaluation.collected()
            check(0)

    @property
    def set(self) -> MatchSet:
        """The graph."""
        return self._collected.matches

    @property
    def report(self) -> Report:
        """The report of the run, with overflows of conditions on neighbours."""
        context = self._pipeline.context
        for overflows in context.overflows:
            overflows.collect(lambda place: int(context.buffer.numbers("position")[place]))
        if context.overflows:
            self._pipeline.warnings.note_rows(self._pipeline.state.history)
        return self._rows.told(self._pipeline.report())

    @property
    def nothing(self) -> MatchBatch:
        """A batch of no match."""
        return MatchBatch(self._pipeline.shape, self._pipeline.state.history)

    def count(self, most: int) -> int:
        """The exact number; `most` bounds only matches that are looked at."""
        with working(self._guard):
            return self.set.count()

    def estimate(self, samples: int, seed: int) -> Estimate:
        """The number of matches, by the share of samples that HAVING accepts."""
        total = self.count(0)
        if not total or not self._pipeline.top.filters:
            return exactly(total)
        tried = self._collected.bindings(self.set.sample(samples, seed))
        return estimated(total, samples, int(self._pipeline.top.accepted(tried).sum()))

    def sample(self, number: int, seed: int, most: int) -> Iterator[MatchBatch]:
        """Independent matches."""
        return iter([self._results_of(self.set.sample(number, seed))])

    def first(self, number: int) -> Iterator[MatchBatch]:
        """The first ones in order."""
        return iter([self._results_of(self.set.first(number))])

    def parts(self) -> Iterator[MatchBatch]:
        """All in order, made on demand."""
        matches, size = iter(self.set), 1
        yield self.nothing
        while some := list(islice(matches, size)):
            yield self._results_of(some)
            size = min(2 * size, LARGEST_PIECE)

    def ends(self, most: int) -> CollapsedForm:
        """The collapsed form."""
        whole = _FormBuilder(self._collected)
        with working(self._guard):
            for end, held in self._held_by_end(None):
                whole.add(end, held)
                check_size(whole.entries)
            return whole.ends()

    def pairs(self, most: int) -> CollapsedForm:
        """The collapsed form by first and final event."""
        whole = _FormBuilder(self._collected)
        with working(self._guard):
            for pair in self.set.collapsed_pairs():
                whole.add_pair(pair)
                check_size(whole.entries)
            return whole.pairs()

    def ends_within(self, within: range) -> Iterator[CollapsedForm]:
        """The collapsed form of final events `within` positions, in pieces."""
        piece = _FormBuilder(self._collected)
        for end, held in self._held_by_end(within):
            piece.add(end, held)
            if piece.entries >= ENTRIES:
                yield piece.ends()
                piece = _FormBuilder(self._collected)
        if piece.entries:
            yield piece.ends()

    def _held_by_end(self, within: range | None) -> Iterator[tuple[EndCount, EndLists]]:
        ends = (e for e in self.set.counts_by_end() if within is None or e.position in within)
        return zip(ends, self.set.collapsed(within=within), strict=True)

    def count_within(self, within: range) -> int:
        """The matches whose final event is at some positions."""
        return sum(end.count for end in self.set.counts_by_end() if end.position in within)

    def aggregate(
        self, function: Function, level: int, name: str | None, most: int
    ) -> Number | None:
        """An aggregate over the events of a component in all matches together."""
        component, found = self.nothing.shape.components[level], self.nothing
        of_each = (
            [1] * len(positions)
            if name is None
            else found.attribute(component, name, positions).to_pylist()
            for positions in self._collected.positions
        )
        with working(self._guard):
            return self.set.aggregate(function, level, list(of_each))

    def _results_of(self, matches: list[Binding]) -> MatchBatch:
        results = self._pipeline.top.result(self._collected.bindings(matches))
        return replace(self.nothing, results=(results,))


class _FormBuilder:
    """Builds a piece of a collapsed form."""

    def __init__(self, found: CollectedMatches) -> None:
        self._found, self.entries = found, 0
        self._firsts, self._positions, self._counts = list[int](), list[int](), list[int]()
        self._lists: list[list[Numbers]] = [[] for _ in range(found.levels)]

    def add(self, end: EndCount, held: EndLists) -> None:
        """Add a final event."""
        self._positions.append(end.position)
        self._counts.append(end.count)
        self._hold(held.partition, held.places)

    def add_pair(self, pair: PairLists) -> None:
        """Add a first and a final event."""
        positions = self._found.positions[pair.partition]
        self._firsts.append(int(positions[pair.first]))
        self._positions.append(int(positions[pair.last]))
        self._counts.append(pair.count)
        self._hold(pair.partition, pair.places)

    def _hold(self, partition: int, places_by_level: tuple[list[int], ...]) -> None:
        positions = self._found.positions[partition]
        for level, places in zip(self._lists, places_by_level, strict=True):
            level.append(positions[places])
            self.entries += len(places)

    def ends(self) -> CollapsedForm:
        """The piece."""
        lists = tuple(map(_joined, self._lists))
        return CollapsedForm(np.array(self._positions, np.int64), self._counts, lists)

    def pairs(self) -> CollapsedForm:
        """All of it by final event, and of each by the first."""
        firsts, lasts = (np.array(each, np.int64) for each in (self._firsts, self._positions))
        order = np.lexsort((firsts, lasts))
        lists = tuple(_joined([level[place] for place in order]) for level in self._lists)
        counts = [self._counts[place] for place in order]
        return CollapsedForm(lasts[order], counts, lists, firsts[order])


def _joined(places: list[Numbers]) -> EventLists:
    sizes = np.array([len(each) for each in places], np.int64)
    return EventLists(np.concatenate([np.empty(0, np.int64), *places]), sizes)


class MatchCount(int):
    """The number of matches, an integer of any size, with the report of the run.

    `is_counted` says whether none of them was looked at; else they were found one by one,
    counted and dropped, and the notes of the `report` say why.
    """

    report: Report
    is_counted: bool

    @classmethod
    def of(cls, count: int, report: Report, *, is_counted: bool) -> MatchCount:
        """A count with its report."""
        self = cls(count)
        self.report, self.is_counted = report, is_counted
        return self

    def __repr__(self) -> str:
        """All digits, also where Python alone would refuse to write so many."""
        return digits(self)

    __str__ = __repr__

    def to_arrow(self) -> pa.Table:
        """A row with the column `count`: int64, or text where it is larger."""
        return pa.table({"count": count_column([int(self)])})
