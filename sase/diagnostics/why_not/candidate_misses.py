"""Near misses with imprecise time: matches of the query without a part, likeliest first."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from sase.binding import BoundQuery
from sase.binding.bound import BoundComponent
from sase.cached_property import cached_property
from sase.diagnostics.attributes import of_types, types_of
from sase.diagnostics.why_not.match_search import Match, events_of, matches_of, wider
from sase.diagnostics.why_not.query_parts import (
    PartKind,
    QueryPart,
    any_confidence,
    as_positive,
    negatives_of,
    number_of,
    plain_group,
    with_group,
    without,
)
from sase.diagnostics.why_not.search import RelaxedSearch
from sase.engine.columns.arrays import Floats, Mask, Numbers
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.contract import size_of
from sase.engine.operators.transformation import Results

# The most known matches, and candidates with known confidence.
MATCHES, LISTED = 1_000_000, 100_000
ONLY = "of near misses only those of WITH CONFIDENCE were looked for"
TOO_MANY = (
    f"there are more than {MATCHES:,} matches, too many to find candidates that are none: {ONLY}"
)
NOT_KNOWN = (
    f"the budget ended before all matches were known: {ONLY}; more seconds show others, or fewer"
    " events by from, to and where"
)
PARTLY = "the budget ended a search of near misses: there may be likelier ones"


@dataclass(frozen=True)
class CandidateMiss:
    """A match without a part and its confidence; `instead` is that with the part, if known."""

    match: Match
    confidence: float
    instead: float | None = None


class CandidateMisses:
    """Finds the `near` likeliest matches that a part stops."""

    def __init__(self, search: RelaxedSearch, near: int) -> None:
        self._query, self._search, self._near = search.query, search, near
        # Searches left out, with reasons.
        self.limits: dict[str, None] = {}

    def of(self, part: QueryPart) -> list[CandidateMiss]:
        """Search the misses of a part; none if the set of all matches is unknown."""
        relaxed = without(self._query, [part])
        if part.kind is PartKind.CONFIDENCE:
            return [each for each, _ in self._likeliest(relaxed, None)]
        if self._matches is None:
            return []  # in `limits`
        is_window = part.kind is PartKind.WINDOW
        found = self._outside(relaxed) if is_window else self._likeliest(relaxed, self._matches)
        if part.kind not in (PartKind.NEGATION, PartKind.WINDOW):
            return [each for each, _ in found]
        known, is_all = self._confidences
        return [
            replace(
                miss,
                match={**miss.match, **self._in_the_way(part, miss.match)},
                instead=known.get(key, 0.0) if is_all else self._with_all(miss.match),
            )
            for miss, key in found
        ]

    def _outside(self, relaxed: BoundQuery) -> list[tuple[CandidateMiss, bytes]]:
        """The likeliest in windows of growing length, by confidence without a window."""
        found: list[tuple[CandidateMiss, bytes]] = []
        for window in wider(self._query):
            found = self._likeliest(replace(relaxed, window=window), self._matches)
            if len(found) >= self._near or not self._search.is_whole:
                break
        alone = [(self._without_window(relaxed, miss), key) for miss, key in found]
        return sorted(alone, key=lambda each: -each[0].confidence)

    def _without_window(self, relaxed: BoundQuery, miss: CandidateMiss) -> CandidateMiss:
        """The confidence of a candidate without a window, by its events and absences."""
        found = self._confidence(relaxed, miss.match, 0)
        return replace(miss, confidence=found) if found else miss

    def _with_all(self, match: Match) -> float | None:
        """The confidence of a candidate with all parts; None if not known in time."""
        window = self._query.window
        return self._confidence(self._query, match, 0 if window is None else size_of(window))

    def _confidence(self, query: BoundQuery, match: Match, reach: int) -> float | None:
        """The confidence of a candidate, by its events and those that may forbid it."""
        own, negations = np.array(events_of(match), np.int64), query.negations
        inside = [*query.negatives, *(c for each in negations for c in each.components)]
        asked = replace(query, having=None, confidence=any_confidence(query))
        for bound, confidence in self._among(asked, inside, own, reach):
            if all(bound[index] == tuple(events) for index, events in match.items()):
                return confidence
        return None if self._search.is_cut else 0.0

    def _likeliest(
        self, relaxed: BoundQuery, matches: set[int] | None
    ) -> list[tuple[CandidateMiss, bytes]]:
        """The likeliest candidates that are no matches; with series one for each last event."""
        of_sequences = self._query.level == 1
        kept: dict[Hashable, tuple[CandidateMiss, bytes]] = {}
        for results in self._search.results(relaxed):
            found = _candidates(results)
            known, last = found.confidences, found.events[found.ends - 1]
            is_miss = np.ones(len(known), np.bool_) if matches is not None else ~self._reach(known)
            places = np.flatnonzero(is_miss & (known > self._least(kept)))
            new = dict[Hashable, tuple[int, bytes]]()
            for place in places[np.argsort(-known[places], kind="stable")].tolist():
                key = _key(found, place)
                name: Hashable = key if of_sequences else int(last[place])
                is_known = name in new or (matches is not None and hash(key) in matches)
                if not is_known and (name not in kept or kept[name][0].confidence < known[place]):
                    new[name] = place, key
                if len(new) == self._near:
                    break
            chosen = np.array([place for place, _ in new.values()], np.int64)
            shown = matches_of(relaxed, results.at(chosen))
            for (name, (place, key)), match in zip(new.items(), shown, strict=True):
                kept[name] = CandidateMiss(match, float(known[place])), key
            ranked = sorted(kept.items(), key=lambda each: -each[1][0].confidence)
            kept = dict(ranked[: self._near])
        if not self._search.is_whole:
            self.limits[PARTLY] = None
        return [*kept.values()]

    def _least(self, kept: dict[Hashable, tuple[CandidateMiss, bytes]]) -> float:
        """The confidence that a further candidate must exceed."""
        if len(kept) < self._near:
            return 0.0
        return min(miss.confidence for miss, _ in kept.values())

    def _reach(self, confidences: Floats) -> Mask:
        asked = self._query.confidence
        assert asked is not None and isinstance(asked.threshold, Fraction)
        least = float(asked.threshold)
        reach: Mask = confidences > least if asked.strict else confidences >= least
        return reach

    # ------------------------------------------------------------ matches with all parts

    @cached_property
    def _matches(self) -> set[int] | None:
        """Identifiers of all matches; None if they are too many or unknown."""
        matches = set[int]()
        for found in map(_candidates, self._search.results(self._query)):
            if len(matches) + found.size > MATCHES:
                self.limits[TOO_MANY] = None
                return None
            matches.update(hash(_key(found, place)) for place in range(found.size))
        if not self._search.is_whole:
            self.limits[NOT_KNOWN] = None
        return matches if self._search.is_whole else None

    @cached_property
    def _confidences(self) -> tuple[dict[bytes, float], bool]:
        """Confidences of candidates that pass all parts but confidence and HAVING; if complete."""
        any_likely = replace(self._query, having=None, confidence=any_confidence(self._query))
        listed = dict[bytes, float]()
        for found in map(_candidates, self._search.results(any_likely)):
            if len(listed) + found.size > LISTED:
                return listed, False
            keys = (_key(found, place) for place in range(found.size))
            listed.update(zip(keys, found.confidences.tolist(), strict=True))
        return listed, self._search.is_whole

    # ------------------------------------------------------------ negative components

    def _in_the_way(self, part: QueryPart, match: Match) -> Match:
        """The events of a negative component or group most likely to forbid a match."""
        if part.kind is not PartKind.NEGATION:
            return {}
        asked, inside = self._with_negatives(part.number)
        if asked is None:
            return {}
        own, window = np.array(events_of(match), np.int64), self._query.window
        likely, best = 0.0, dict[int, Sequence[int]]()
        reach = 0 if window is None else size_of(window)
        for bound, confidence in self._among(asked, inside, own, reach):
            is_same = all(bound[index] == tuple(events) for index, events in match.items())
            if is_same and confidence > likely:
                likely, best = confidence, {each.index: bound[each.index] for each in inside}
        return best

    def _among(
        self, asked: BoundQuery, others: Sequence[BoundComponent], own: Numbers, reach: int
    ) -> Iterator[tuple[Match, float]]:
        """Matches of a query among given events and those near them, with confidences."""
        at, search = np.union1d(own, self._perhaps_near(others, own, reach)), self._search
        among = RelaxedSearch(
            asked, (), search.events.at(at), search.schema, search.recipe, search.budget
        )
        for results in among.results(asked):
            known = _candidates(results).confidences.tolist()
            for each, confidence in zip(matches_of(asked, results), known, strict=True):
                bound = {index: tuple(at[[*events]].tolist()) for index, events in each.items()}
                yield bound, confidence
        search.is_cut |= among.is_cut

    def _with_negatives(self, number: int) -> tuple[BoundQuery | None, Sequence[BoundComponent]]:
        """The query with a negative component or plain group made positive; its components."""
        query, group = self._query, plain_group(self._query, number)
        is_alone = any(each.index == number for each in query.negatives)
        others = (n for n in map(number_of, negatives_of(query)) if n != number or not is_alone)
        left_out = [QueryPart(PartKind.NEGATION, each, "") for each in others]
        rest = replace(without(query, left_out), having=None, confidence=any_confidence(query))
        if is_alone:
            return as_positive(rest, number), [query.components[number]]
        if group is None:
            return None, ()
        level = sum(not each.negated for each in query.components[: group.position])
        return with_group(rest, group, level), group.components

    def _perhaps_near(
        self, components: Sequence[BoundComponent], own: Numbers, reach: int
    ) -> Numbers:
        """The events that components may bind within `reach` of a match's events."""
        events = self._search.events
        assert events.until is not None
        at = of_types(events, types_of(components))
        begin, end = int(events.ts[own].min()) - reach, int(events.until[own].max()) + reach
        return at[(events.until[at] >= begin) & (events.ts[at] <= end)]


def _candidates(results: Results) -> Bindings:
    found = results.positions
    assert isinstance(found, Bindings)
    return found


def _key(bindings: Bindings, place: int) -> bytes:
    begin = bindings.ends[place - 1] if place else 0
    return (
        bindings.events[begin : bindings.ends[place]].tobytes()
        + bindings.lengths[:, place].tobytes()
    )
