"""Near misses: what a query finds without one part, and that part alone stops; nearest first.

A search of the query without the part finds what to look at. Of sequences (each component binds
one event) the engine itself finds the nearest: it is asked for the opposite of a condition, and for
the operands as columns. Of other matches the first are looked at of each event that ends some. What
is found is rated and told in the same way, match by match, by `MatchJudge`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sase.binding import BoundQuery, Schema
from sase.binding.bound import All, Column, Condition, When, WindowKind
from sase.binding.types import TIMES
from sase.diagnostics.attributes import Attributes
from sase.diagnostics.strategies.strategy_rules import StrategyRules
from sase.diagnostics.why_not.ablation import Ablation
from sase.diagnostics.why_not.candidates import ComponentCandidates
from sase.diagnostics.why_not.distance import as_floats, compared, distances
from sase.diagnostics.why_not.event_sample import EventSample
from sase.diagnostics.why_not.judge import UNKNOWN, Failure, Match, MatchJudge
from sase.diagnostics.why_not.query_parts import PartKind, QueryPart, without
from sase.diagnostics.why_not.relaxation import (
    as_positive,
    bare,
    differing,
    opposite,
    with_condition,
)
from sase.diagnostics.why_not.search import RelaxedSearch, planned
from sase.diagnostics.why_not.value_format import format_span
from sase.engine.columns.arrays import Floats, Mask, Numbers
from sase.engine.expressions import Interner
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.bindings import Bindings, as_bindings, begins_of
from sase.engine.operators.contract import size_of, span_of
from sase.engine.operators.transformation import Results
from sase.engine.results.batch import MatchBatch, ResultSchema
from sase.engine.results.row_history import RowHistory
from sase.planning.recipes import Recipe

# Which results are misses, and by how much as a share of what was asked for.
Rating: TypeAlias = Callable[[Results], tuple[Mask, Floats | None]]
# A miss without a measure counts as one by a whole window, or by as much as the value itself; to
# agree in nothing is less of a miss still.
WHOLE, APART = 1.0, 2.0
# Windows that are tried one after the other, as multiples; at last none.
WIDER = (2, 10, 100)
LONGEST = 2**63 - 1
EXACTLY = "by the last instant: a window is less than its length"
# Sequences among which those with two reasons are told from those with one.
LOOKED_UP = 1 << 16
# What is looked at where components bind series: matches, of those that end with one event the
# first, and of those among which these are found; and how often conditions are evaluated.
LOOKED_AT, OF_EACH, FOUND, WORK = 500, 10, 100_000, 50_000
# Matches, and events between their first and last, in which skipped events are told.
REPLAYED, LONG = 50, 2_000
# Events that are tried to find one that forbids a match; and matches looked at at once.
TRIED, CHUNK = 50, 50
# What the events of a match look like does not depend on how it is found.
UNCHANGED = Recipe("", "", ())


@dataclass(frozen=True)
class NearMiss:
    """A match that some part stops, and how it fails."""

    match: Match
    failure: Failure

    @property
    def rank(self) -> float:
        """Where it stands among those of the same part."""
        return WHOLE if np.isnan(self.failure.share) else self.failure.share


@dataclass(frozen=True)
class NearMisses:
    """Those that one part stops, nearest first."""

    part: QueryPart
    misses: tuple[NearMiss, ...]

    @property
    def by(self) -> str:
        """What is said of the nearest."""
        return self.misses[0].failure.text


class NearMissSearch:
    """Finds the near misses of each part of a query."""

    def __init__(
        self,
        query: BoundQuery,
        search: RelaxedSearch,
        sample: EventSample,
        attributes: Attributes,
        candidates: Sequence[ComponentCandidates],
        near: int,
    ) -> None:
        self.query, self.search, self.sample, self.near = query, search, sample, near
        self._attributes = attributes
        self._are_sequences = query.level == 1
        self._unit = _nanoseconds(query, search.schema)
        self._passing = {each.component.index: each.at for each in candidates}

    def of(self, left_out: Ablation) -> NearMisses:
        """Find those that a part stops; none where that cannot be told."""
        (part,) = left_out.parts
        nearest: dict[Hashable, NearMiss] = {}
        for each in self._found(part, without(self.query, [part])):
            key = self._key(each)
            if key not in nearest or each.rank < nearest[key].rank:
                nearest[key] = each
        ranked = sorted(nearest.values(), key=lambda miss: miss.rank)
        return NearMisses(part, tuple(ranked[: self.near]))

    def _key(self, miss: NearMiss) -> Hashable:
        """What is shown once: a sequence, or of series the event that ends some."""
        if self._are_sequences:
            return tuple(tuple(miss.match[each.index]) for each in self.query.positives)
        return max(_events(miss.match))

    def _found(self, part: QueryPart, relaxed: BoundQuery) -> Iterator[NearMiss]:
        match part.kind:
            case PartKind.CONSTANT:
                return iter(())
            case PartKind.WINDOW:
                return self._outside(relaxed)
            case PartKind.STRATEGY:
                return self._skipping(self._first(relaxed))
            case PartKind.NEGATION if self._are_sequences:
                return self._forbidden_sequences(part, relaxed)
            case PartKind.NEGATION:
                return self._forbidden(part.number, self._first(relaxed))
            case PartKind.LEAST | PartKind.MOST:
                return self._miscounted(part.number, self._first(relaxed))
        if self._are_sequences:
            return self._failing(part, self._failing_sequences(part, relaxed))
        return self._failing(part, self._first(relaxed))

    # ------------------------------------------------------------ the window

    def _outside(self, relaxed: BoundQuery) -> Iterator[NearMiss]:
        """Find those that are too long for the window, in windows of growing length."""
        window = self.query.window
        assert window is not None
        size, most = size_of(window), span_of(window)
        measures = self._attributes.measures(window, self.query.equivalences)

        def rate(results: Results) -> tuple[Mask, Floats]:
            spans = measures[results.last] - measures[results.first]
            return spans > most, (spans - size) / size

        for factor in (*WIDER, None):
            # What lies beyond a wider window is further away than all that lies in it.
            wider = replace(window, size=min(size * factor, LONGEST)) if factor else None
            found = self._nearest(replace(relaxed, window=wider), rate)
            for match in found:
                events = _events(match)
                by = int(measures[max(events)] - measures[min(events)]) - size
                text = f"by {format_span(by, window, self.search.schema)}" if by else EXACTLY
                yield NearMiss(match, Failure(by / size, text))
            if len(found) >= self.near or not self.search.is_whole:
                return

    # ------------------------------------------------------------ conditions, tests and HAVING

    def _failing(self, part: QueryPart, matches: Sequence[Match]) -> Iterator[NearMiss]:
        """Rate those that a condition, a test or HAVING does not hold for."""
        judge = self._judge(matches)
        for match in matches:
            failure = self._failure(part, judge, match)
            if judge.is_exhausted:
                return
            if failure is not None:
                yield NearMiss(match, failure)

    def _failure(self, part: QueryPart, judge: MatchJudge, match: Match) -> Failure | None:
        if part.kind is PartKind.TEST:
            return judge.disagreement(part.number, match)
        condition = self._condition(part)
        if part.kind is not PartKind.HAVING:
            # Of an empty series nothing is asked of the first event.
            conjunct = self.query.conjuncts[part.number]
            of_first = conjunct.when is When.FIRST and conjunct.component is not None
            is_asked = not of_first or match[conjunct.component or 0]
            return judge.failure(condition, match) if is_asked else None
        operands = condition.operands if isinstance(condition, All) else (condition,)
        failures = (judge.failure(each, match) for each in operands)
        return next((each for each in failures if each is not None), None)

    def _condition(self, part: QueryPart) -> Condition:
        if part.kind is not PartKind.HAVING:
            return self.query.conjuncts[part.number].condition
        assert self.query.having is not None
        return self.query.having

    def _failing_sequences(self, part: QueryPart, relaxed: BoundQuery) -> list[Match]:
        """Search the sequences that fail a part: the nearest, or the first without a measure."""
        schema = self.search.schema
        if part.kind is PartKind.TEST:
            test = self.query.equivalences[part.number]
            if test.value is not None:
                return self._nearest(with_condition(relaxed, differing(test, self.query), schema))
            codes = self._attributes.codes([test])
            return self._nearest(relaxed, lambda found: (_disagree(codes[found.matrix]), None))
        condition = self._condition(part)
        query, values = with_condition(relaxed, opposite(condition), schema), compared(condition)
        if not values:
            return self._nearest(query)
        columns = tuple(Column(f"#{n}", each) for n, each in enumerate(values))
        unit = None if self._unit is None else self._unit / 1e9
        is_time = values[0].type.kind in TIMES

        def rate(results: Results) -> tuple[Mask, Floats]:
            operands = [as_floats(each) for each in results.values]
            with np.errstate(invalid="ignore", over="ignore"):  # what is infinite has no share
                by = distances(condition, operands)
                beside = np.max(np.abs(operands), axis=0)
                if is_time:
                    beside = np.full(len(by), UNKNOWN if unit is None else unit)
                shares = np.divide(by, beside, out=np.zeros(len(by)), where=beside != 0)
            return np.ones(len(by), np.bool_), shares

        return self._nearest(replace(query, columns=columns), rate)

    # ------------------------------------------------------------ negative components

    def _forbidden_sequences(self, part: QueryPart, relaxed: BoundQuery) -> Iterator[NearMiss]:
        """Search the sequences that an event forbids, as sequences with that event."""
        # With it in the sequence other negative components would have less room: whether they
        # forbid the sequence too is asked of the query without it.
        negatives = (each.index for each in self.query.negatives)
        others = [QueryPart(PartKind.NEGATION, n, "") for n in negatives if n != part.number]
        query = as_positive(without(self.query, others), part.number)
        level = [each.index for each in query.positives].index(part.number)
        allowed = self._known(relaxed) if others else None

        def rest(results: Results) -> NDArray[np.void]:
            return _as_rows(np.delete(results.matrix, level, axis=0))

        def rate(results: Results) -> tuple[Mask, None]:
            every = np.ones(len(results), np.bool_)
            return every if allowed is None else np.isin(rest(results), allowed), None

        # Several events may forbid the same sequence: one is shown.
        for match in self._nearest(query, rate, rest):
            yield NearMiss(match, Failure(UNKNOWN, ""))

    def _known(self, query: BoundQuery) -> NDArray[np.void]:
        """The first sequences that a query finds, to look others up among them."""
        found, count = [np.empty((len(query.positives), 0), np.int64)], 0
        for results in self.search.results(query):
            found.append(results.matrix)
            count += len(results)
            if count >= LOOKED_UP:
                break
        return _as_rows(np.concatenate(found, axis=1))

    def _forbidden(self, index: int, matches: Sequence[Match]) -> Iterator[NearMiss]:
        """Find an event of a negative component that forbids a match, in each that has one."""
        conditions = [each.condition for each in self.query.conjuncts if each.component == index]
        ends: set[int] = set()
        for begin in range(0, len(matches), CHUNK):
            some = [(each, self._between(index, each)) for each in matches[begin : begin + CHUNK]]
            judge = self._judge([{**match, index: events} for match, events in some])
            for match, events in some:
                forbid = (e for e in events if judge.forbids(index, e, match, conditions))
                event = next(forbid, None)
                if event is not None:
                    ends.add(max(_events(match)))
                    yield NearMiss({**match, index: (event,)}, Failure(UNKNOWN, ""))
            if judge.is_exhausted or len(ends) >= self.near:
                return

    def _between(self, index: int, match: Match) -> tuple[int, ...]:
        """Some events of a negative component in the interval in which they forbid a match."""
        events, at = self.search.events, self._passing[index]
        order = np.arange(len(events)) if events.tie is None else events.tie
        before = [p for each, series in match.items() if each < index for p in series]
        after = [p for each, series in match.items() if each > index for p in series]
        low = np.searchsorted(order[at], order[max(before)], "right") if before else 0
        high = np.searchsorted(order[at], order[min(after)], "left") if after else len(at)
        at = at[low : max(low, high)]
        is_in = np.ones(len(at), np.bool_)
        for codes in self._codes:
            known = [code for code in codes[[*before, *after]].tolist() if code >= 0]
            if known:
                is_in &= (codes[at] == known[0]) | (codes[at] < 0)
        if not (before and after):
            is_in &= self._is_near(at, max(after) if after else min(before), is_before=not before)
        return tuple(at[is_in][:TRIED].tolist())

    @cached_property
    def _codes(self) -> list[Numbers]:
        """The codes of all events under each test."""
        tests = (replace(each, value=None) for each in self.query.equivalences)
        return [self._attributes.codes([each]) for each in tests]

    def _is_near(self, at: Numbers, end: int, *, is_before: bool) -> Mask:
        """Which events are in the window of a match's other end (docs/semantics.md, Windows)."""
        window, tests = self.query.window, self.query.equivalences
        assert window is not None
        every = self._attributes.measures(window, tests)
        known, measures = self._attributes.are_measured(window, tests)[at], every[at]
        size = size_of(window)
        if is_before:
            floor = max(int(every[end]) - size, -LONGEST - 1)
            return known & (measures >= floor if window.inclusive else measures > floor)
        ceiling = min(int(every[end]) + size, LONGEST)
        return known & (measures <= ceiling if window.inclusive else measures < ceiling)

    # ------------------------------------------------------------ lengths and strategies

    def _miscounted(self, index: int, matches: Sequence[Match]) -> Iterator[NearMiss]:
        """Rate those with too few events of a component, or too many."""
        (component,) = (each for each in self.query.components if each.index == index)
        for match in matches:
            number, bound, what = len(match[index]), component.minimum, "few"
            if component.maximum is not None and number > component.maximum:
                bound, what = component.maximum, "many"
            elif number >= bound:
                continue
            by = abs(number - bound)
            text = f"{component.variable}.len is {number:,}: {by:,} too {what}"
            yield NearMiss(match, Failure(by / bound, text))

    def _skipping(self, matches: Sequence[Match]) -> Iterator[NearMiss]:
        """Rate those that skip what the strategy does not let them skip."""

        def skipped(match: Match) -> int:
            events = _events(match)
            return max(events) - min(events) + 1 - len(events)

        for match in sorted(matches, key=skipped)[:REPLAYED]:
            failure = self._skips(match) if skipped(match) <= LONG else None
            if failure is not None:
                yield NearMiss(match, failure)

    def _skips(self, match: Match) -> Failure | None:
        """Replay a match among the events between its first and last."""
        events, strategy = _events(match), self.query.strategy
        first, between = min(events), self.search.events.between(min(events), max(events) + 1)
        rules = StrategyRules(self.query, between, self.search.schema)
        run = tuple(
            tuple(place - first for place in match[each.index]) for each in self.query.positives
        )
        forbidden = rules.forbidden(strategy, run)
        if not forbidden:
            return None
        rows = self.sample.history.rows(np.arange(first, max(events) + 1)).tolist()
        said = rules.reasons(strategy, forbidden, rows.__getitem__)
        return Failure(len(forbidden) / (len(forbidden) + len(events)), "; ".join(said))

    # ------------------------------------------------------------ searching

    def _nearest(
        self,
        query: BoundQuery,
        rate: Rating | None = None,
        distinct: Callable[[Results], NDArray[Any]] | None = None,
    ) -> list[Match]:
        """Search the nearest misses that a query finds; without a measure the first.

        Of those for which `distinct` says the same, or of series of one event that ends some, the
        nearest is kept.
        """
        if distinct is None and not self._are_sequences:
            distinct = _last
        found: Results | None = None
        kept = np.empty(0)
        for results in self._results(query):
            shares: Floats | None = None
            if rate is not None:
                are_misses, shares = rate(results)
                results = results.at(are_misses)
                shares = None if shares is None else np.nan_to_num(shares[are_misses], nan=WHOLE)
            parts = [results] if found is None else [found, results]
            kept = np.append(kept, np.full(len(results), WHOLE) if shares is None else shares)
            order = np.argsort(kept, kind="stable")
            if distinct is not None:
                keys = np.concatenate([distinct(each) for each in parts])[order]
                order = order[np.sort(np.unique(keys, return_index=True)[1])]
            order = order[: self.near]
            found, kept = Results.merged(parts, order), kept[order]
            if shares is None and len(order) == self.near:
                break
        return [] if found is None else _matches(query, found)

    def _first(self, query: BoundQuery) -> list[Match]:
        """Search the first matches of each event that ends some."""
        found: list[Match] = []
        for results in self._results(query):
            last = results.last
            begins = np.flatnonzero(np.append(True, last[1:] != last[:-1]))
            numbers = np.arange(len(last))
            rank = numbers - np.repeat(begins, np.diff(np.append(begins, len(last))))
            places = np.flatnonzero(rank < OF_EACH)[: LOOKED_AT - len(found)]
            found += _matches(query, results.at(places))
            if len(found) >= LOOKED_AT:
                break
        return found

    def _results(self, query: BoundQuery) -> Iterator[Results]:
        """The results among which near misses are looked for."""
        found = 0
        for results in self.search.results(query):
            yield results
            found += len(results)
            if self.search.is_enough(found) if self._are_sequences else found >= FOUND:
                return

    def _judge(self, matches: Sequence[Match]) -> MatchJudge:
        events = [event for match in matches for event in _events(match)]
        search, history = self.search, self.sample.history
        return MatchJudge(
            self.query, search.events, search.schema, history, events, unit=self._unit, work=WORK
        )


def _nanoseconds(query: BoundQuery, schema: Schema) -> float | None:
    """The length of a window in time, beside which times are large or small."""
    window, unit = query.window, schema.nanoseconds
    if window is None or window.kind is not WindowKind.TIME or unit is None:
        return None
    return size_of(window) * unit


def _disagree(codes: Numbers) -> Mask:
    """Which columns of codes are not of events that agree."""
    known = np.where(codes >= 0, codes, codes.max(axis=0))
    disagree: Mask = (codes == NOTHING).any(axis=0) | (np.ptp(known, axis=0) > 0)
    return disagree


def _events(match: Match) -> list[int]:
    """All events of a match."""
    return [event for series in match.values() for event in series]


def _last(results: Results) -> Numbers:
    return results.last


def _as_rows(positions: Numbers) -> NDArray[np.void]:
    """Matches as values that can be compared."""
    rows = np.ascontiguousarray(positions.T)
    return rows.view([(f"f{n}", np.int64) for n in range(rows.shape[1])]).ravel()


def _matches(query: BoundQuery, found: Results) -> list[Match]:
    """The events of results by component."""
    bindings, by_level = as_bindings(found.positions), []
    for level in range(bindings.shape[0]):
        events, ends = bindings.of_level(level)
        cuts = zip(begins_of(ends).tolist(), ends.tolist(), strict=True)
        by_level.append([tuple(events[begin:end].tolist()) for begin, end in cuts])
    indexes = [each.index for each in query.positives]
    return [dict(zip(indexes, each, strict=True)) for each in zip(*by_level, strict=True)]


# ---------------------------------------------------------------- the table


def table_of(
    query: BoundQuery, found: Sequence[NearMisses], history: RowHistory, schema: Schema, near: int
) -> pa.Table:
    """The nearest misses: `stopped_by`, `by`, `distance`, the `rows` and the events themselves.

    A negative component has an event where that is what stopped the match, and else NULL.
    """
    ranked = sorted(
        (APART if _is_apart(each.part, miss) else miss.rank, place, number)
        for number, each in enumerate(found)
        for place, miss in enumerate(each.misses)
    )
    chosen = [(found[number].part, found[number].misses[n]) for _, n, number in ranked[:near]]
    shares = [miss.failure.share for _, miss in chosen]
    shape = ResultSchema.of(planned(_with_negatives(query), schema, UNCHANGED), Interner())
    positions = _positions(
        query, [miss.match for _, miss in chosen], as_matrix=not shape.has_series
    )
    events = MatchBatch(shape, history, (Results(positions),))
    table, names = events.table(), [component.variable for component in query.components]
    return pa.table(
        {
            "stopped_by": pa.array([part.text for part, _ in chosen], pa.string()),
            "by": pa.array([miss.failure.text or None for _, miss in chosen], pa.string()),
            "distance": pa.array([None if s != s else s for s in shares], pa.float64()),
            "rows": events.rows().to_struct_array(),
            **{_free(name): table.column(name) for name in names},
        }
    )


def _is_apart(part: QueryPart, miss: NearMiss) -> bool:
    return part.kind is PartKind.TEST and bool(np.isnan(miss.failure.share))


def _with_negatives(query: BoundQuery) -> BoundQuery:
    """A query whose matches are shown with an event of each negative component, or without."""
    shown = bare(query)
    for component in query.negatives:
        shown = as_positive(shown, component.index)
    negatives = {component.index for component in query.negatives}
    return replace(
        shown,
        components=tuple(
            replace(each, minimum=0) if each.index in negatives else each
            for each in shown.components
        ),
        conjuncts=(),
        having=None,
    )


def _positions(
    query: BoundQuery, matches: Sequence[Match], *, as_matrix: bool
) -> Numbers | Bindings:
    """Matches as the positions that every component binds."""
    bound = [[match.get(each.index, ()) for each in query.components] for match in matches]
    events = np.array([e for match in bound for series in match for e in series], np.int64)
    shape = len(matches), len(query.components)
    if as_matrix:
        return np.ascontiguousarray(events.reshape(shape).T)
    lengths = np.array([[*map(len, match)] for match in bound], np.int64).reshape(shape)
    ends = np.cumsum(lengths.sum(axis=1), dtype=np.int64)
    return Bindings(events, ends, np.ascontiguousarray(lengths.T))


def _free(name: str) -> str:
    """The name of a variable, which must not be that of another column."""
    return f"{name}_" if name in ("stopped_by", "by", "distance", "rows") else name
