"""Near misses: matches of a query without one part that only this part stops; nearest first."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa

from sase.binding import BoundQuery, Schema
from sase.binding.bound import BoundComponent, Comparison, Condition, When, WindowKind
from sase.cached_property import cached_property
from sase.diagnostics.attributes import Attributes
from sase.diagnostics.strategies.match_replay import MatchReplay, replayed_plan
from sase.diagnostics.why_not.ablation import Ablation
from sase.diagnostics.why_not.candidate_misses import CandidateMiss, CandidateMisses
from sase.diagnostics.why_not.candidates import ComponentCandidates
from sase.diagnostics.why_not.event_sample import EventSample
from sase.diagnostics.why_not.interpreter import UNKNOWN
from sase.diagnostics.why_not.judge import Failure, MatchJudge, miscount
from sase.diagnostics.why_not.match_search import (
    LONGEST,
    WHOLE,
    Match,
    MatchSearch,
    events_of,
    wider,
)
from sase.diagnostics.why_not.query_parts import (
    PartKind,
    QueryPart,
    bare,
    keys_of,
    number_of,
    plain_group,
    without,
)
from sase.diagnostics.why_not.search import RelaxedSearch
from sase.diagnostics.why_not.value_format import format_span
from sase.engine.columns.arrays import Floats, Mask, Numbers
from sase.engine.expressions import Interner
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.contract import size_of, span_of
from sase.engine.operators.transformation import Results
from sase.engine.results.arrow_columns import structs
from sase.engine.results.batch import MatchBatch, ResultSchema
from sase.engine.results.row_history import RowHistory
from sase.lang.ast import StrategyName
from sase.planning.engine_plan import EnginePlan
from sase.planning.plan.basic import basic_plan

# ---------------------------------------------------------------- near misses

# A search of the query without the part finds candidates, which are rated one by one.

EXACTLY = "by the last instant: a window is less than its length"
# Evaluations of conditions, besides one for each event of the matches.
WORK = 50_000
# Limits of explaining skipped events: matches, and events between first and last.
REPLAYED, LONG = 50, 2_000
# Events tried as forbidding a match; matches examined at once.
TRIED, CHUNK = 50, 50


@dataclass(frozen=True)
class NearMiss:
    """A match that one part stops, and how it fails."""

    match: Match
    failure: Failure

    @property
    def rank(self) -> float:
        """Its order among the misses of one part."""
        return WHOLE if np.isnan(self.failure.share) else self.failure.share


@dataclass(frozen=True)
class NearMisses:
    """The near misses of one part, nearest first."""

    part: QueryPart
    misses: tuple[NearMiss, ...]

    @property
    def by(self) -> str:
        """The description of the nearest."""
        return self.misses[0].failure.text


class NearMissSearch:
    """Finds the near misses of each part of a query."""

    def __init__(
        self,
        search: RelaxedSearch,
        sample: EventSample,
        attributes: Attributes,
        candidates: Sequence[ComponentCandidates],
        near: int,
    ) -> None:
        self.query, self.search, self._sample, self._near = search.query, search, sample, near
        self._attributes = attributes
        self._matches = MatchSearch(search, attributes, near)
        self._candidates = CandidateMisses(search, near)
        self._passing = {each.component.index: each.at for each in candidates}

    @property
    def limits(self) -> tuple[str, ...]:
        """The searches left out with imprecise time, with reasons."""
        return tuple(self._candidates.limits)

    def of(self, left_out: Ablation) -> NearMisses:
        """Find the misses of a part; none if they cannot be determined."""
        (part,) = left_out.parts
        if self.query.confidence is not None:
            return NearMisses(part, tuple(self._of_candidates(part)))
        nearest: dict[Hashable, NearMiss] = {}
        for each in self._found(part, without(self.query, [part])):
            key = self._key(each)
            if key not in nearest or each.rank < nearest[key].rank:
                nearest[key] = each
        ranked = sorted(nearest.values(), key=lambda miss: miss.rank)
        return NearMisses(part, tuple(ranked[: self._near]))

    def _key(self, miss: NearMiss) -> Hashable:
        """The key for duplicates: a sequence, or with series the last event."""
        if self._matches.of_sequences:
            return tuple(tuple(miss.match[each.index]) for each in self.query.positives)
        return max(events_of(miss.match))

    def _found(self, part: QueryPart, relaxed: BoundQuery) -> Iterator[NearMiss]:
        of_sequences = self._matches.of_sequences
        match part.kind:
            case PartKind.CONSTANT:
                return iter(())
            case PartKind.WINDOW:
                return self._outside(relaxed)
            case PartKind.STRATEGY:
                return self._skipping(relaxed)
            case PartKind.LEAST | PartKind.MOST:
                return self._miscounted(part.number, relaxed)
            case PartKind.NEGATION if part.number in map(number_of, self.query.negations):
                return self._forbidden_by_group(part, relaxed)
            case PartKind.NEGATION if of_sequences:
                found = self._matches.forbidden(relaxed, part)
                return (NearMiss(each, Failure(UNKNOWN, "")) for each in found)
            case PartKind.NEGATION:
                return self._forbidden(part.number, relaxed)
            case PartKind.TEST:
                return self._disagreeing(part.number, relaxed)
        return self._failing(part, relaxed)

    # ------------------------------------------------------------ the kinds of parts

    def _outside(self, relaxed: BoundQuery) -> Iterator[NearMiss]:
        """Find misses too long for the window, in windows of growing length."""
        window = self.query.window
        assert window is not None
        size, most = size_of(window), span_of(window)
        measures = self._attributes.measures(window, self.query.equivalences)

        def rate(results: Results) -> tuple[Mask, Floats]:
            spans = measures[results.last] - measures[results.first]
            return spans > most, (spans - size) / size

        for each in wider(self.query):
            found = self._matches.nearest(replace(relaxed, window=each), rate)
            for match in found:
                events = events_of(match)
                by = int(measures[max(events)] - measures[min(events)]) - size
                text = f"by {format_span(by, window, self.search.schema)}" if by else EXACTLY
                yield NearMiss(match, Failure(by / size, text))
            if len(found) >= self._near or not self.search.is_whole:
                return

    def _disagreeing(self, number: int, relaxed: BoundQuery) -> Iterator[NearMiss]:
        """Rate misses with events that do not agree under a test."""
        if self._matches.of_sequences:
            found = self._matches.disagreeing(relaxed, self.query.equivalences[number])
        else:
            found = self._matches.first(relaxed)
        judge = self._judge(found)
        for match in found:
            failure = judge.disagreement(number, match)
            if failure is not None:
                yield NearMiss(match, failure)

    def _failing(self, part: QueryPart, relaxed: BoundQuery) -> Iterator[NearMiss]:
        """Rate misses that fail a condition or HAVING."""
        condition, first = self._condition(part), None
        if part.kind is not PartKind.HAVING:
            conjunct = self.query.conjuncts[part.number]
            first = conjunct.component if conjunct.when is When.FIRST else None
        if self._matches.of_sequences:
            found = self._matches.failing(relaxed, condition)
        else:
            found = self._matches.first(relaxed)
        if first is not None:
            # The condition does not apply to an empty series.
            found = [match for match in found if match[first]]
        judge = self._judge(found)
        for match in found:
            failure = judge.first_failure(condition, match)
            if judge.is_exhausted:
                return
            if failure is not None:
                yield NearMiss(match, failure)

    def _miscounted(self, index: int, relaxed: BoundQuery) -> Iterator[NearMiss]:
        """Rate misses with too few or too many events of a component."""
        component = self.query.components[index]
        for match in self._matches.first(relaxed):
            failure = miscount(component, match)
            if failure is not None:
                yield NearMiss(match, failure)

    def _skipping(self, relaxed: BoundQuery) -> Iterator[NearMiss]:
        """Rate misses that skip events which the strategy forbids to skip.

        Not for earliest_maximal: its runs have several choices for an event.
        """
        if self.query.strategy is StrategyName.EARLIEST_MAXIMAL:
            return

        def skipped(match: Match) -> int:
            events = events_of(match)
            return max(events) - min(events) + 1 - len(events)

        for match in sorted(self._matches.first(relaxed), key=skipped)[:REPLAYED]:
            failure = self._skips(match) if skipped(match) <= LONG else None
            if failure is not None:
                yield NearMiss(match, failure)

    def _skips(self, match: Match) -> Failure | None:
        """Replay a match among the events between its first and last."""
        events = events_of(match)
        first, end = min(events), max(events) + 1
        replay = MatchReplay(self._replayed_plan, self.search.events.between(first, end))
        bound = (match[each.index] for each in self.query.positives)
        (forbidden,) = replay.forbidden([[at - first for at in series] for series in bound])
        if not forbidden:
            return None
        rows = self._sample.history.rows(np.arange(first, end)).tolist()
        sentences = replay.reasons(forbidden, rows.__getitem__)
        share = len(forbidden) / (len(forbidden) + len(events))
        against = tuple(first + each.position for each in forbidden)
        return Failure(share, "; ".join(sentences), against)

    @cached_property
    def _replayed_plan(self) -> EnginePlan:
        return replayed_plan(self.query, self.query.strategy, self.search.schema)

    def _condition(self, part: QueryPart) -> Condition:
        """The condition of a part, or HAVING."""
        if part.kind is not PartKind.HAVING:
            return self.query.conjuncts[part.number].condition
        assert self.query.having is not None
        return self.query.having

    # ------------------------------------------------------------ imprecise time

    def _of_candidates(self, part: QueryPart) -> Iterator[NearMiss]:
        """The likeliest misses of a part, by confidence without it."""
        found = self._candidates.of(part) if part.kind is not PartKind.CONSTANT else []
        judge = self._judge([each.match for each in found])
        asked = self.query.confidence
        for each in found:
            failure = self._instead(part, each, judge)
            text = f"with a confidence of {each.confidence:.6g}"
            if each.instead is not None:
                text = f"with a confidence of {each.instead:.6g} instead of {each.confidence:.6g}"
            if failure is not None and failure.text:
                text = f"{failure.text}, {text}"
            share = 1 - each.confidence
            if part.kind is PartKind.CONFIDENCE:
                assert asked is not None and isinstance(asked.threshold, Fraction)
                share = float(asked.threshold) - each.confidence
            yield NearMiss(each.match, Failure(share, text))

    def _instead(self, part: QueryPart, miss: CandidateMiss, judge: MatchJudge) -> Failure | None:
        """Describe how a candidate fails a part."""
        match part.kind:
            case PartKind.OWN | PartKind.RELATION | PartKind.HAVING:
                return judge.first_failure(self._condition(part), miss.match, miss.confidence)
            case PartKind.TEST:
                return judge.disagreement(part.number, miss.match)
            case PartKind.LEAST | PartKind.MOST:
                return miscount(self.query.components[part.number], miss.match)
            case PartKind.NEGATION if part.number in map(number_of, self.query.negations):
                return Failure(UNKNOWN, self._group_text(part.number, miss.match))
        return None

    def _group_text(self, number: int, match: Match) -> str:
        """The rows of the forbidding events of a negative group, if known."""
        (group,) = (each for each in self.query.negations if number_of(each) == number)
        inside = [each for each in group.components if each.index in match]
        if not inside:
            return ""
        events = np.array([match[each.index][0] for each in inside])
        rows = self._sample.history.rows(events).tolist()
        return " and ".join(
            f"{c.variable} in row {row:,}" for c, row in zip(inside, rows, strict=True)
        )

    # ------------------------------------------------------------ negative components

    def _forbidden_by_group(self, part: QueryPart, relaxed: BoundQuery) -> Iterator[NearMiss]:
        """Find the events of a negative group that forbid a sequence, for plain groups."""
        negation = plain_group(self.query, part.number)
        if negation is None or not self._matches.of_sequences:
            return
        for match in self._matches.forbidden_by_group(relaxed, negation):
            yield NearMiss(match, Failure(UNKNOWN, self._group_text(part.number, match)))

    def _forbidden(self, index: int, relaxed: BoundQuery) -> Iterator[NearMiss]:
        """Find for each match an event of a negative component that forbids it, if any."""
        component, schema = self.query.components[index], self.search.schema
        conditions = [each.condition for each in self.query.conjuncts if each.component == index]
        conditions += [
            Comparison("=", key, test.value)
            for test in self.query.equivalences
            if test.value is not None
            for key in keys_of(test, [component], schema)
        ]
        matches, ends = self._matches.first(relaxed), set[int]()
        for begin in range(0, len(matches), CHUNK):
            some = [(each, self._between(index, each)) for each in matches[begin : begin + CHUNK]]
            judge = self._judge([{**match, index: events} for match, events in some])
            for match, events in some:
                with_each = ({**match, index: (event,)} for event in events)
                for forbidden in with_each:
                    if all(judge.holds(each, forbidden) for each in conditions):
                        ends.add(max(events_of(match)))
                        yield NearMiss(forbidden, Failure(UNKNOWN, ""))
                        break
            if judge.is_exhausted or len(ends) >= self._near:
                return

    def _between(self, index: int, match: Match) -> tuple[int, ...]:
        """Some events of a negative component in the interval where they forbid a match."""
        at, order = self._passing[index], self._attributes.order
        before = [p for each, series in match.items() if each < index for p in series]
        after = [p for each, series in match.items() if each > index for p in series]
        low = np.searchsorted(order[at], order[max(before)], "right") if before else 0
        high = np.searchsorted(order[at], order[min(after)], "left") if after else len(at)
        at = at[low : max(low, high)]
        at = at[self._attributes.agreeing(self.query.equivalences, at, [*before, *after])]
        if not (before and after):
            at = at[self._is_near(at, max(after) if after else min(before), is_before=not before)]
        return tuple(at[:TRIED].tolist())

    def _is_near(self, at: Numbers, end: int, *, is_before: bool) -> Mask:
        """Mark events in the window from a match's other end (docs/semantics.md, Windows)."""
        window = self.query.window
        assert window is not None
        every, reach = self._attributes.measures(window, self.query.equivalences), span_of(window)
        measures = every[at]
        if is_before:
            found = measures >= max(int(every[end]) - reach, -LONGEST - 1)
        else:
            found = measures <= min(int(every[end]) + reach, LONGEST)
        return found & ((window.kind is not WindowKind.PARTITION_EVENTS) | (measures >= 0))

    def _judge(self, matches: Sequence[Match]) -> MatchJudge:
        events = [event for match in matches for event in events_of(match)]
        return MatchJudge(self.search, self._sample.history, events, WORK + len(events))


# ---------------------------------------------------------------- near miss table

# The rank of disagreement: further than any other miss without a measure.
APART = 2.0


def table_of(
    query: BoundQuery,
    chosen: Sequence[tuple[QueryPart, NearMiss]],
    history: RowHistory,
    schema: Schema,
) -> pa.Table:
    """Make a table of near misses; a negative component has the forbidding event."""
    # The form of a match does not depend on how it was found.
    plan = EnginePlan(basic_plan(_with_negatives(query)), schema, query.definitions)
    shape = ResultSchema.of(plan, Interner())
    matches = [miss.match for _, miss in chosen]
    positions = positions_of(query.components, matches, as_matrix=not plan.has_series)
    events = MatchBatch(shape, history, (Results(positions),))
    table, shares = events.table(), [miss.failure.share for _, miss in chosen]
    return pa.table(
        {
            "stopped_by": pa.array([part.text for part, _ in chosen], pa.string()),
            "by": pa.array([miss.failure.text or None for _, miss in chosen], pa.string()),
            "distance": pa.array([None if s != s else s for s in shares], pa.float64()),
            "rows": structs(events.rows()),
            **{_free(each.variable): table.column(each.variable) for each in query.components},
        }
    )


def nearest_of(found: Sequence[NearMisses], near: int) -> list[tuple[QueryPart, NearMiss]]:
    """The nearest misses of all parts, each with its part."""
    ranks = sorted(
        (APART if each.part.kind is PartKind.TEST else miss.rank, place, number)
        for number, each in enumerate(found)
        for place, miss in enumerate(each.misses)
    )
    return [(found[n].part, found[n].misses[place]) for _, place, n in ranks[:near]]


def _with_negatives(query: BoundQuery) -> BoundQuery:
    """Make every negative component optional, so that matches may have an event of it."""
    components = tuple(
        replace(each, negated=False, minimum=0) if each.negated else each
        for each in query.components
    )
    return replace(bare(query), components=components, conjuncts=(), having=None)


def positions_of(
    components: Sequence[BoundComponent], matches: Sequence[Match], *, as_matrix: bool
) -> Numbers | Bindings:
    """The positions that every component binds in matches."""
    bound = [[match.get(each.index, ()) for each in components] for match in matches]
    events = np.array([e for match in bound for series in match for e in series], np.int64)
    shape = len(matches), len(components)
    if as_matrix:
        return np.ascontiguousarray(events.reshape(shape).T)
    lengths = np.array([[*map(len, match)] for match in bound], np.int64).reshape(shape)
    ends = np.cumsum(lengths.sum(axis=1), dtype=np.int64)
    return Bindings(events, ends, np.ascontiguousarray(lengths.T))


def _free(name: str) -> str:
    """The name of a variable, changed if it collides with another column."""
    return f"{name}_" if name in ("stopped_by", "by", "distance", "rows") else name
