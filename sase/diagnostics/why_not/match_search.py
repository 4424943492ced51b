"""Search the matches of relaxed queries that contain the near misses.

For sequences the engine finds the nearest: it searches for the opposite of a condition, with the
operands as columns. For series the first matches of each last event are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sase.binding import BoundQuery
from sase.binding.bound import BoundNegation, BoundWindow, Column, Condition, EquivalenceTest
from sase.binding.types import TIMES
from sase.binding.values.folding import INT64_MIN
from sase.diagnostics.attributes import Attributes
from sase.diagnostics.why_not.interpreter import as_floats, compared, distances, time_scale
from sase.diagnostics.why_not.query_parts import (
    PartKind,
    QueryPart,
    as_positive,
    differing,
    negatives_of,
    number_of,
    opposite,
    with_condition,
    with_group,
    without,
)
from sase.diagnostics.why_not.search import RelaxedSearch
from sase.engine.columns.arrays import Floats, Mask, Numbers
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.bindings.bindings import as_bindings, begins_of
from sase.engine.operators.contract import size_of
from sase.engine.operators.transformation import Results

# The positions of a match, by component index.
Match: TypeAlias = Mapping[int, Sequence[int]]
# Marks the results that are misses, with their share of the required amount.
Rating: TypeAlias = Callable[[Results], tuple[Mask, Floats | None]]
# The share of a miss without a measure: a whole window, or as much as the value itself.
WHOLE = 1.0
# Sequences kept to look up whether a miss has a second reason.
LOOKED_UP = 1 << 16
# Limits for series: matches examined, matches for each last event, matches searched.
LOOKED_AT, OF_EACH, FOUND = 500, 10, 100_000

# Multiples of the window that are tried in turn; then none.
WIDER = (2, 10, 100)
LONGEST = 2**63 - 1


def wider(query: BoundQuery) -> Iterator[BoundWindow | None]:
    """Yield windows of growing length, then None: each contains nearer misses than the next."""
    window = query.window
    assert window is not None
    for factor in WIDER:
        yield replace(window, size=min(size_of(window) * factor, LONGEST))
    yield None


class MatchSearch:
    """Finds matches of relaxed forms of a query, at most `near` if they can be rated."""

    def __init__(self, search: RelaxedSearch, attributes: Attributes, near: int) -> None:
        self._query, self._search, self._near = search.query, search, near
        self._attributes, self.of_sequences = attributes, search.query.level == 1

    def nearest(
        self,
        query: BoundQuery,
        rate: Rating | None = None,
        distinct: Callable[[Results], NDArray[Any]] | None = None,
    ) -> list[Match]:
        """Find the nearest matches, one for each `distinct` value; without `rate` the first."""
        if distinct is None and not self.of_sequences:
            distinct = attrgetter("last")
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
            order = order[: self._near]
            found, kept = Results.merged(parts, order), kept[order]
            if shares is None and len(order) == self._near:
                break
        return [] if found is None else matches_of(query, found)

    def first(self, query: BoundQuery) -> list[Match]:
        """Find the first matches of each last event."""
        found: list[Match] = []
        for results in self._results(query):
            last = results.last
            begins = np.flatnonzero(np.append(True, last[1:] != last[:-1]))
            numbers = np.arange(len(last))
            rank = numbers - np.repeat(begins, np.diff(np.append(begins, len(last))))
            places = np.flatnonzero(rank < OF_EACH)[: LOOKED_AT - len(found)]
            found += matches_of(query, results.at(places))
            if len(found) >= LOOKED_AT:
                break
        return found

    def _results(self, query: BoundQuery) -> Iterator[Results]:
        """Run a query up to the limit of matches."""
        found = 0
        for results in self._search.results(query):
            yield results
            found += len(results)
            if self._search.is_enough(found) if self.of_sequences else found >= FOUND:
                return

    # ------------------------------------------------------------ sequences

    def disagreeing(self, relaxed: BoundQuery, test: EquivalenceTest) -> list[Match]:
        """Find sequences with events that disagree under a test."""
        if test.value is not None:
            schema = self._search.schema
            found = [
                match
                for condition in differing(test, self._query, schema)
                for match in self.nearest(with_condition(relaxed, condition, schema))
            ]
            # A sequence with two other values is found twice.
            distinct = {tuple(map(tuple, each.values())): each for each in found}
            return list(distinct.values())[: self._near]
        codes = self._attributes.codes([test])
        return self.nearest(relaxed, lambda found: (_disagree(codes[found.matrix]), None))

    def failing(self, relaxed: BoundQuery, condition: Condition) -> list[Match]:
        """Find the sequences that fail a condition by least."""
        query = with_condition(relaxed, opposite(condition), self._search.schema)
        values = compared(condition)
        if not values:
            return self.nearest(query)
        columns = tuple(Column(f"#{n}", each) for n, each in enumerate(values))
        is_time = values[0].type.kind in TIMES
        unit = time_scale(self._query, self._search.schema) / 1e9

        def rate(results: Results) -> tuple[Mask, Floats]:
            operands = [as_floats(each) for each in results.values]
            with np.errstate(invalid="ignore", over="ignore"):  # infinite distances have no share
                by = distances(condition, operands)
                beside = np.full(len(by), unit) if is_time else np.max(np.abs(operands), axis=0)
                shares = np.divide(by, beside, out=np.zeros(len(by)), where=beside != 0)
            return np.ones(len(by), np.bool_), shares

        return self.nearest(replace(query, columns=columns), rate)

    def forbidden(self, relaxed: BoundQuery, part: QueryPart) -> list[Match]:
        """Find the sequences that an event of a negative component forbids, with the event."""
        # As part of the sequence the event leaves less room for other negative components. Whether
        # these forbid the sequence as well is decided by the query without it.
        others = self._narrowed_by(part.number)
        query = as_positive(without(self._query, others), part.number)
        level = [each.index for each in query.positives].index(part.number)

        def rest(results: Results) -> NDArray[np.void]:
            return _as_rows(np.delete(results.matrix, level, axis=0))

        # Several events may forbid one sequence; only one is shown.
        underflows = self._may_underflow()
        if not others and not underflows:
            return self.nearest(query, None, rest)
        allowed = self._allowed(relaxed)
        if underflows:
            allowed = np.setdiff1d(allowed, self._allowed(self._query))
        return self.nearest(query, lambda found: (np.isin(rest(found), allowed), None), rest)

    def forbidden_by_group(self, relaxed: BoundQuery, negation: BoundNegation) -> list[Match]:
        """Find the sequences that a group between two components forbids, with its events."""
        numbers = map(number_of, negatives_of(self._query))
        parts = [QueryPart(PartKind.NEGATION, number, "") for number in numbers]
        level = sum(not c.negated for c in self._query.components[: negation.position])
        query = with_group(without(self._query, parts), negation, level)
        inside = list(range(level, level + len(negation.components)))

        def rest(results: Results) -> NDArray[np.void]:
            return _as_rows(np.delete(results.matrix, inside, axis=0))

        allowed = self._allowed(relaxed)
        return self.nearest(query, lambda found: (np.isin(rest(found), allowed), None), rest)

    def _may_underflow(self) -> bool:
        """Whether a window may begin before the least time, where nothing can forbid."""
        window, times = self._query.window, self._search.events.ts
        return bool(window and len(times) and int(times[0]) - size_of(window) < INT64_MIN)

    def _narrowed_by(self, index: int) -> list[QueryPart]:
        """The negative components that have less room with this one in the sequence.

        They are those in the same gap. As the window spans all events of a match, those at its end
        count for one at its beginning, and vice versa.
        """
        gaps = accumulate(not component.negated for component in self._query.components)
        gap_of = dict(zip((c.index for c in self._query.components), gaps, strict=True))
        outside = {0, len(self._query.positives)}
        same = outside if gap_of[index] in outside else {gap_of[index]}
        others = [c.index for c in self._query.negatives if c.index != index]
        return [QueryPart(PartKind.NEGATION, each, "") for each in others if gap_of[each] in same]

    def _allowed(self, relaxed: BoundQuery) -> NDArray[np.void]:
        """The first sequences of a query, for lookups."""
        found, count = [np.empty((len(relaxed.positives), 0), np.int64)], 0
        for results in self._search.results(relaxed):
            found.append(results.matrix)
            count += len(results)
            if count >= LOOKED_UP:
                break
        return _as_rows(np.concatenate(found, axis=1))


def _disagree(codes: Numbers) -> Mask:
    """Mark the columns of codes with events that do not agree."""
    known = np.where(codes >= 0, codes, codes.max(axis=0))
    disagree: Mask = (codes == NOTHING).any(axis=0) | (np.ptp(known, axis=0) > 0)
    return disagree


def _as_rows(positions: Numbers) -> NDArray[np.void]:
    """Convert matches to comparable values."""
    rows = np.ascontiguousarray(positions.T)
    return rows.view([(f"f{n}", np.int64) for n in range(rows.shape[1])]).ravel()


def matches_of(query: BoundQuery, results: Results) -> list[Match]:
    """The events of results, by component."""
    bindings, by_level = as_bindings(results.positions), []
    for level in range(bindings.shape[0]):
        events, ends = bindings.of_level(level)
        cuts = zip(begins_of(ends).tolist(), ends.tolist(), strict=True)
        by_level.append([tuple(events[begin:end].tolist()) for begin, end in cuts])
    indexes = [each.index for each in query.positives]
    return [dict(zip(indexes, each, strict=True)) for each in zip(*by_level, strict=True)]


def events_of(match: Match) -> list[int]:
    """All events of a match."""
    return [event for series in match.values() for event in series]
