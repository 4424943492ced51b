"""Near misses: matches of a query without one part that only this part stops; nearest first.

A search of the query without the part finds candidates, which are rated one by one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from sase.binding import BoundQuery
from sase.binding.bound import Condition, When
from sase.cached_property import cached_property
from sase.diagnostics.attributes import Attributes
from sase.diagnostics.strategies.group_rules import rules_of
from sase.diagnostics.why_not.ablation import Ablation
from sase.diagnostics.why_not.candidate_misses import CandidateMiss, CandidateMisses
from sase.diagnostics.why_not.candidates import ComponentCandidates
from sase.diagnostics.why_not.distance import UNKNOWN
from sase.diagnostics.why_not.event_sample import EventSample
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
    groups_at_the_edges,
    number_of,
    without,
)
from sase.diagnostics.why_not.search import RelaxedSearch
from sase.diagnostics.why_not.value_format import format_span
from sase.engine.columns.arrays import Floats, Mask, Numbers
from sase.engine.operators.contract import size_of, span_of
from sase.engine.operators.transformation import Results
from sase.lang.ast import StrategyName

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
        """Rate misses whose events do not agree under a test."""
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

        Not for earliest_maximal, whose runs have several choices for an event.
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
        events, strategy = events_of(match), self.query.strategy
        first, end = min(events), max(events) + 1
        between = self.search.events.between(first, end)
        rules = rules_of(self.query, between, self.search.schema)
        bound = (match[each.index] for each in self.query.positives)
        run = tuple(tuple(place - first for place in series) for series in bound)
        forbidden = rules.forbidden(strategy, run)
        if not forbidden:
            return None
        rows = self._sample.history.rows(np.arange(first, end)).tolist()
        sentences = rules.reasons(strategy, forbidden, rows.__getitem__)
        return Failure(len(forbidden) / (len(forbidden) + len(events)), "; ".join(sentences))

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
        (negation,) = (each for each in self.query.negations if number_of(each) == part.number)
        is_plain = all(c.is_single and not c.negated for c in negation.components)
        is_between = negation not in groups_at_the_edges(self.query)
        if not (self._matches.of_sequences and is_plain and is_between):
            return
        for match in self._matches.forbidden_by_group(relaxed, negation):
            yield NearMiss(match, Failure(UNKNOWN, self._group_text(part.number, match)))

    def _forbidden(self, index: int, relaxed: BoundQuery) -> Iterator[NearMiss]:
        """Find for each match an event of a negative component that forbids it, if any."""
        conditions = [each.condition for each in self.query.conjuncts if each.component == index]
        matches, ends = self._matches.first(relaxed), set[int]()
        for begin in range(0, len(matches), CHUNK):
            some = [(each, self._between(index, each)) for each in matches[begin : begin + CHUNK]]
            judge = self._judge([{**match, index: events} for match, events in some])
            for match, events in some:
                forbid = (e for e in events if judge.forbids(index, e, match, conditions))
                event = next(forbid, None)
                if event is not None:
                    ends.add(max(events_of(match)))
                    yield NearMiss({**match, index: (event,)}, Failure(UNKNOWN, ""))
            if judge.is_exhausted or len(ends) >= self._near:
                return

    def _between(self, index: int, match: Match) -> tuple[int, ...]:
        """Some events of a negative component in the interval where they forbid a match."""
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
        return [self._attributes.codes_of(each) for each in self.query.equivalences]

    def _is_near(self, at: Numbers, end: int, *, is_before: bool) -> Mask:
        """Mark events in the window from a match's other end (docs/semantics.md, Windows)."""
        window, tests = self.query.window, self.query.equivalences
        assert window is not None
        every = self._attributes.measures(window, tests)
        known, measures = self._attributes.are_measured(window, tests)[at], every[at]
        reach = span_of(window)
        if is_before:
            return known & (measures >= max(int(every[end]) - reach, -LONGEST - 1))
        return known & (measures <= min(int(every[end]) + reach, LONGEST))

    def _judge(self, matches: Sequence[Match]) -> MatchJudge:
        events = [event for match in matches for event in events_of(match)]
        return MatchJudge(self.search, self._sample.history, events, WORK + len(events))
