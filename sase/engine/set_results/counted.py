"""All matches as a graph of events: counted, sampled and iterated, not listed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
import pyarrow as pa

from sase.base.texts import digits
from sase.binding.bound import BoundComponent
from sase.engine.columns import Events
from sase.engine.columns.arrays import Numbers
from sase.engine.match_graph import Binding, EndCount, EndLists, MatchSet
from sase.engine.match_graph.aggregates import Function, Number, Values
from sase.engine.match_graph.ranks import Estimate, estimated, exactly
from sase.engine.match_graph.totals import PairLists
from sase.engine.operators.kleene.counted_store import CountedStore
from sase.engine.operators.kleene.match_set_evaluation import (
    CollectedMatches,
    MatchSetEvaluationState,
)
from sase.engine.operators.kleene.run_operator import RunOperator
from sase.engine.pipeline.batch import RowsInMemory
from sase.engine.pipeline.limits import RunGuard, check_of, working
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.report import Report
from sase.engine.results.batch import MatchBatch
from sase.engine.set_results.collapsed_table import (
    CollapsedForm,
    EventLists,
    check_size,
    count_column,
)
from sase.planning.engine_plan import EnginePlan

# ---------------------------------------------------------------- collected


class CollectedEvents:
    """A run that has read all events, without finding matches."""

    reasons: tuple[str, ...] = ()

    def __init__(
        self, plan: EnginePlan, rows: RowsInMemory, events: Events, guard: RunGuard | None = None
    ) -> None:
        self._rows, self._guard = rows, guard
        self._pipeline = Pipeline(plan, check=check_of(guard))
        self._pipeline.bind_input(rows.inputs, events)
        with working(guard):
            for _ in self._pipeline.results(events):
                raise AssertionError("a collapsed evaluation lists no match")

    @property
    def report(self) -> Report:
        """The report of the run, with overflows in conditions on neighbours."""
        context = self._pipeline.context
        for overflows in context.overflows:
            overflows.collect(lambda place: int(context.buffer.numbers("position")[place]))
        if context.overflows:
            self._pipeline.warnings.note_rows(self._pipeline.state.history)
        return self._rows.told(self._pipeline.report())

    @property
    def nothing(self) -> MatchBatch:
        """An empty batch."""
        return MatchBatch(self._pipeline.shape, self._pipeline.state.history)


# ---------------------------------------------------------------- counted

# The most matches converted at once; the first piece has one, so that it comes soon.
LARGEST_PIECE = 4096
# Events in a piece of the collapsed form.
ENTRIES = 1 << 16


class CountedMatches(CollectedEvents):
    """The matches of a plan for which the paths of a graph are exactly the matches.

    Only `estimate` considers HAVING.
    """

    def __init__(
        self, plan: EnginePlan, rows: RowsInMemory, events: Events, guard: RunGuard | None = None
    ) -> None:
        super().__init__(plan, rows, events, guard)
        evaluation = self._pipeline.operators[0]
        assert isinstance(evaluation, MatchSetEvaluationState)
        with working(guard):
            self._collected = evaluation.collected()
            check_of(guard)(0)

    @property
    def set(self) -> MatchSet:
        """The graph."""
        return self._collected.matches

    def count(self, most: int) -> int:
        """The exact number; `most` is not needed."""
        with working(self._guard):
            return self.set.count()

    def estimate(self, samples: int, seed: int) -> Estimate:
        """The number of matches, by the share of samples that pass HAVING."""
        total = self.count(0)
        if not total or not self._pipeline.top.filters:
            return exactly(total)
        tried = self._collected.bindings(self.set.sample(samples, seed))
        return estimated(total, samples, int(self._pipeline.top.accepted(tried).sum()))

    def sample(self, number: int, seed: int, most: int) -> Iterator[MatchBatch]:
        """Independent matches."""
        return iter([self._results_of(self.set.sample(number, seed))])

    def first(self, number: int) -> Iterator[MatchBatch]:
        """The first matches in order."""
        return iter([self._results_of(self.set.first(number))])

    def parts(self) -> Iterator[MatchBatch]:
        """All matches in order, made on demand."""
        matches, size = iter(self.set), 1
        yield self.nothing
        while some := list(islice(matches, size)):
            yield self._results_of(some)
            size = min(2 * size, LARGEST_PIECE)

    def ends(self, most: int) -> CollapsedForm:
        """The collapsed form."""
        with working(self._guard):
            return FormBuilder.over(self._collected).ends()

    def pairs(self, most: int) -> CollapsedForm:
        """The collapsed form by first and final event."""
        with working(self._guard):
            return FormBuilder.by_first(self._collected).pairs()

    def ends_within(self, within: range) -> Iterator[CollapsedForm]:
        """The collapsed form of final events at positions `within` a range, in pieces."""
        piece = FormBuilder(self._collected)
        for end, held in held_by_end(self._collected, within):
            piece.add(end, held)
            if piece.entries >= ENTRIES:
                yield piece.ends()
                piece = FormBuilder(self._collected)
        if piece.entries:
            yield piece.ends()

    def count_within(self, within: range) -> int:
        """The number of matches with their final event at a position `within` a range."""
        return count_within(self._collected, within)

    def aggregate(
        self, function: Function, level: int, name: str | None, most: int
    ) -> Number | None:
        """An aggregate over the events of a component in all matches together."""
        component = self.nothing.shape.components[level]
        with working(self._guard):
            of_each = values_of(self._collected, self.nothing, component, name)
            return self.set.aggregate(function, level, of_each)

    def _results_of(self, matches: list[Binding]) -> MatchBatch:
        results = self._pipeline.top.result(self._collected.bindings(matches))
        return replace(self.nothing, results=(results,))


def held_by_end(
    matches: CollectedMatches, within: range | None = None
) -> Iterator[tuple[EndCount, EndLists]]:
    """The final events at positions `within` a range, and the events of their matches."""
    every = matches.matches.counts_by_end()
    ends = (each for each in every if within is None or each.position in within)
    return zip(ends, matches.matches.collapsed(within=within), strict=True)


def count_within(matches: CollectedMatches, within: range) -> int:
    """The number of matches with their final event at a position `within` a range."""
    return sum(end.count for end in matches.matches.counts_by_end() if end.position in within)


def values_of(
    matches: CollectedMatches, nothing: MatchBatch, component: BoundComponent, name: str | None
) -> list[Values]:
    """The values of a component's attribute by partition and place; ones without a name."""
    return [
        [1] * len(positions)
        if name is None
        else nothing.attribute(component, name, positions).to_pylist()
        for positions in matches.positions
    ]


class FormBuilder:
    """Builds a piece of a collapsed form."""

    def __init__(self, matches: CollectedMatches) -> None:
        self._found, self.entries = matches, 0
        self._firsts, self._positions, self._counts = list[int](), list[int](), list[int]()
        self._lists: list[list[Numbers]] = [[] for _ in range(matches.levels)]

    @classmethod
    def over(cls, matches: CollectedMatches, within: range | None = None) -> FormBuilder:
        """Build the form of all final events at positions `within` a range."""
        whole = cls(matches)
        for end, held in held_by_end(matches, within):
            whole.add(end, held)
            check_size(whole.entries)
        return whole

    @classmethod
    def by_first(cls, matches: CollectedMatches) -> FormBuilder:
        """Build the form of all pairs of a first and a final event."""
        whole = cls(matches)
        for pair in matches.matches.collapsed_pairs():
            whole.add_pair(pair)
            check_size(whole.entries)
        return whole

    def add(self, end: EndCount, held: EndLists) -> None:
        """Add a final event."""
        self._positions.append(end.position)
        self._counts.append(end.count)
        self._hold(held.partition, held.places)

    def add_pair(self, pair: PairLists) -> None:
        """Add a pair of a first and a final event."""
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
        """The form by final event."""
        lists = tuple(map(_joined, self._lists))
        return CollapsedForm(np.array(self._positions, np.int64), self._counts, lists)

    def pairs(self) -> CollapsedForm:
        """The form by final event, then first event."""
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

    `is_counted` is true if no match was examined. Otherwise they were found one by one, counted and
    dropped, and the notes of `report` say why.

    Examples:
        >>> events = [{"ts": n, "type": "A"} for n in range(64)]
        >>> count = sase.match("EVENT A+ a[]", events, output="count")
        >>> count, count.is_counted
        (18446744073709551615, True)
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
        """All digits, beyond Python's limit for converting integers to text."""
        return digits(self)

    __str__ = __repr__

    def to_arrow(self) -> pa.Table:
        """A row with the column `count`: int64, or text if it is larger."""
        return pa.table({"count": count_column([int(self)])})


# ---------------------------------------------------------------- counted states


class CountedStates(CollectedEvents):
    """The matches of a plan that collects events, as paths through states."""

    def count(self, most: int) -> int:
        """The exact number; `most` is not needed."""
        evaluation = self._pipeline.operators[0]
        assert isinstance(evaluation, MatchSetEvaluationState)
        with working(self._guard):
            return evaluation.count()


# ---------------------------------------------------------------- counted histories


class CountedHistories:
    """The number of matches of a plan that counts the histories of merged runs."""

    reasons: tuple[str, ...] = ()

    def __init__(
        self, plan: EnginePlan, rows: RowsInMemory, events: Events, guard: RunGuard | None = None
    ) -> None:
        self._rows = rows
        self._pipeline = Pipeline(plan, check=check_of(guard))
        self._pipeline.bind_input(rows.inputs, events)
        with working(guard):
            for _ in self._pipeline.results(events):
                raise AssertionError("a count of histories finds no match")
        evaluation = self._pipeline.operators[0]
        assert isinstance(evaluation, RunOperator)
        assert isinstance(evaluation.store, CountedStore)
        self._store = evaluation.store

    def count(self, most: int) -> int:
        """The exact number."""
        return self._store.count

    @property
    def report(self) -> Report:
        """The report of the run."""
        return self._rows.told(self._pipeline.report())
