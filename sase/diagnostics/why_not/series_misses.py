"""Near misses where matches are of any number of events, or under a strategy; nearest first.

What a query finds without a part is looked at match by match, the first ones of each event that
ends some: what the part says of such a match is told with the values at hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sase.binding import BoundQuery
from sase.binding.bound import All, BoundComponent, Condition, When, WindowKind
from sase.diagnostics.strategies.reasons import reasons
from sase.diagnostics.strategies.strategy_rules import Rules, Run
from sase.diagnostics.why_not.ablation import Without
from sase.diagnostics.why_not.candidates import Attributes, Candidates
from sase.diagnostics.why_not.distance import measured, span_text
from sase.diagnostics.why_not.event_sample import LookedAt
from sase.diagnostics.why_not.judge import UNKNOWN, Failure, Judge
from sase.diagnostics.why_not.near_misses import EXACTLY, LONGEST, WHOLE, WIDER, Misses
from sase.diagnostics.why_not.query_parts import Kind, Part, without
from sase.diagnostics.why_not.relaxation import as_positive
from sase.diagnostics.why_not.search import Search
from sase.engine.operators.bindings import Bindings, as_bindings, begins_of
from sase.engine.operators.contract import size_of, span_of
from sase.engine.operators.transformation import Results

Numbers = NDArray[np.int64]
# What is looked at of a query without a part: matches, of those that end with one event the first,
# and of those among which these are found; and how often conditions are looked at.
LOOKED_AT, OF_EACH, FOUND, WORK = 500, 10, 100_000, 50_000
# Matches, and events between their first and last, in which skipped events are told.
REPLAYED, LONG = 50, 2_000
# Events that are tried to find one that forbids a match; and matches looked at at once.
TRIED, CHUNK = 50, 50

# A match with an event of a negative component, by the component's index.
Held = Mapping[int, Sequence[int]]


@dataclass(frozen=True)
class _Miss:
    held: Held
    failure: Failure


class SeriesMisses:
    """Finds the near misses of each part of a query."""

    def __init__(
        self,
        query: BoundQuery,
        search: Search,
        seen: LookedAt,
        attributes: Attributes,
        candidates: Sequence[Candidates],
        near: int,
    ) -> None:
        self.query, self.search, self.seen, self.near = query, search, seen, near
        self._attributes = attributes
        self._passing = {each.component.index: each.at for each in candidates}
        self._components = {each.index: each for each in query.components}
        self._unit = _unit_of(query, search)
        tests = [replace(each, value=None) for each in query.equivalences if query.negatives]
        self._codes = [attributes.codes([each]) for each in tests]

    def of(self, left_out: Without) -> Misses | None:
        """Those that a part stops; None where that cannot be told."""
        (part,) = left_out.parts
        relaxed = without(self.query, [part])
        match part.kind:
            case Kind.WINDOW:
                found = self._outside(relaxed)
            case Kind.STRATEGY:
                found = self._skipping(self._first(relaxed))
            case Kind.NEGATION:
                found = self._forbidden(part.number, self._first(relaxed))
            case Kind.LEAST | Kind.MOST:
                component = self._components[part.number]
                found = self._short_or_long(component, self._first(relaxed))
            case Kind.CONSTANT:
                return None
            case _:
                found = self._failing(part, self._first(relaxed))
        return self._misses(part, found)

    def _misses(self, part: Part, found: Iterator[_Miss]) -> Misses:
        """The nearest of each event that ends one."""
        nearest: dict[int, _Miss] = {}
        for each in found:
            last = max(place for events in each.held.values() for place in events)
            if last not in nearest or _rank(each) < _rank(nearest[last]):
                nearest[last] = each
        kept = sorted(nearest.values(), key=_rank)[: self.near]
        matches = [
            tuple(each.held.get(c.index, ()) for c in self.query.components) for each in kept
        ]
        return Misses(
            part,
            shown_as(self.query),
            bindings_of(matches, len(self.query.components)),
            np.array([each.failure.share for each in kept], np.float64),
            tuple(each.failure.text for each in kept),
        )

    # ------------------------------------------------------------ the kinds of parts

    def _failing(self, part: Part, matches: Sequence[Held]) -> Iterator[_Miss]:
        """Those that a condition, a test or HAVING does not hold for."""
        judge = self._judge(matches)
        for held in matches:
            failure = self._failure(part, judge, held)
            if judge.is_tired:
                return
            if failure is not None:
                yield _Miss(held, failure)

    def _failure(self, part: Part, judge: Judge, held: Held) -> Failure | None:
        if part.kind is Kind.TEST:
            return judge.disagreement(part.number, held)
        for condition in self._conditions(part, held):
            failure = judge.failure(condition, held, self._unit)
            if failure is not None:
                return failure
        return None

    def _conditions(self, part: Part, held: Held) -> tuple[Condition, ...]:
        """What a match must satisfy; of an empty series nothing is asked of the first event."""
        if part.kind is not Kind.HAVING:
            conjunct = self.query.conjuncts[part.number]
            of_first = conjunct.when is When.FIRST and conjunct.component is not None
            is_asked = not of_first or held[conjunct.component or 0]
            return (conjunct.condition,) if is_asked else ()
        having = self.query.having
        assert having is not None
        return having.operands if isinstance(having, All) else (having,)

    def _short_or_long(self, component: BoundComponent, matches: Sequence[Held]) -> Iterator[_Miss]:
        """Those with too few events of a component, or too many."""
        most = component.maximum
        for held in matches:
            number = len(held[component.index])
            bound, what = component.minimum, "few"
            if most is not None and number > most:
                bound, what = most, "many"
            by = abs(number - bound)
            if number >= component.minimum and what == "few":
                continue
            text = f"{component.variable}.len is {number:,}: {by:,} too {what}"
            yield _Miss(held, Failure(by / bound, text))

    def _outside(self, relaxed: BoundQuery) -> Iterator[_Miss]:
        window = self.query.window
        assert window is not None
        size, most = size_of(window), span_of(window)
        of_each = measured(window, self.query, self._attributes)
        for factor in (*WIDER, None):
            # What lies beyond a wider window is further away than all that lies in it.
            wider = replace(window, size=min(size * factor, LONGEST)) if factor else None
            found = 0
            for results in self._results(replace(relaxed, window=wider)):
                matches = as_bindings(results.positions)
                spans = of_each[matches.last] - of_each[matches.first]
                places = np.flatnonzero(spans > most)
                places = places[np.argsort(spans[places], kind="stable")[: self.near]]
                found += len(places)
                chosen = self._held(relaxed, matches[:, places])
                for held, span in zip(chosen, spans[places].tolist(), strict=True):
                    by = span - size
                    text = f"by {span_text(by, window, self.search.schema)}" if by else EXACTLY
                    yield _Miss(held, Failure(by / size, text))
            if found >= self.near or not self.search.is_whole:
                return

    def _forbidden(self, index: int, matches: Sequence[Held]) -> Iterator[_Miss]:
        """Those that an event of a negative component forbids, with that event."""
        conditions = [each.condition for each in self.query.conjuncts if each.component == index]
        ends: set[int] = set()
        for begin in range(0, len(matches), CHUNK):
            some = matches[begin : begin + CHUNK]
            tried = [self._between(index, held) for held in some]
            judge = self._judge([*some, *({index: each} for each in tried)])
            for held, events in zip(some, tried, strict=True):
                for event in events:
                    if self._forbids(judge, held, index, event, conditions):
                        ends.add(max(place for series in held.values() for place in series))
                        yield _Miss({**held, index: (event,)}, Failure(UNKNOWN, ""))
                        break
            if judge.is_tired or len(ends) >= self.near:
                return

    def _forbids(
        self, judge: Judge, held: Held, index: int, event: int, conditions: Sequence[Condition]
    ) -> bool:
        bound = [place for series in held.values() for place in series]
        with_it = {**held, index: (event,)}
        return judge.agrees(index, bound, event) and all(
            judge.holds(each, with_it) for each in conditions
        )

    def _between(self, index: int, held: Held) -> tuple[int, ...]:
        """Some events of a negative component in the interval in which they forbid a match."""
        events, at = self.search.events, self._passing[index]
        order = np.arange(len(events)) if events.tie is None else events.tie
        before = [p for each, series in held.items() if each < index for p in series]
        after = [p for each, series in held.items() if each > index for p in series]
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

    def _is_near(self, at: Numbers, end: int, *, is_before: bool) -> NDArray[np.bool_]:
        """Which events are within the window of a match's other end (docs/semantics.md, Windows).

        What is of no partition is in no window of one.
        """
        window = self.query.window
        assert window is not None
        of_each = measured(window, self.query, self._attributes)
        known = np.ones(len(at), np.bool_)
        if window.kind is WindowKind.PARTITION_EVENTS:
            known = np.all([codes[at] >= 0 for codes in self._codes], axis=0)
        size, measures = size_of(window), of_each[at]
        if is_before:
            floor = max(int(of_each[end]) - size, -LONGEST - 1)
            return known & (measures >= floor if window.inclusive else measures > floor)
        ceiling = min(int(of_each[end]) + size, LONGEST)
        return known & (measures <= ceiling if window.inclusive else measures < ceiling)

    def _skipping(self, matches: Sequence[Held]) -> Iterator[_Miss]:
        """Those that skip what the strategy does not let them skip."""

        def skipped(held: Held) -> int:
            places = [place for series in held.values() for place in series]
            return max(places) - min(places) + 1 - len(places)

        for held in sorted(matches, key=skipped)[:REPLAYED]:
            if skipped(held) <= LONG:
                failure = self._skips(held)
                if failure is not None:
                    yield _Miss(held, failure)

    def _skips(self, held: Held) -> Failure | None:
        run: Run = tuple(tuple(held[each.index]) for each in self.query.positives)
        places = [place for series in run for place in series]
        first, last = min(places), max(places)
        rules = Rules(self.query, self.search.events.between(first, last + 1), self.search.schema)
        local = tuple(tuple(place - first for place in series) for series in run)
        kept = rules.kept(self.query.strategy, local)
        if not kept:
            return None
        said = reasons(
            self.query.strategy,
            kept,
            lambda place: int(self.seen.history.rows(np.array([first + place]))[0]),
            rules.values.type_names.__getitem__,
            "".join(f"[{test.attribute}]" for test in self.query.equivalences),
        )
        return Failure(len(kept) / (len(kept) + len(places)), "; ".join(said))

    # ------------------------------------------------------------ what they share

    def _results(self, relaxed: BoundQuery) -> Iterator[Results]:
        """The results among which near misses are looked for."""
        found = 0
        for results in self.search.results(relaxed):
            yield results
            found += len(results)
            if found >= FOUND:
                return

    def _first(self, relaxed: BoundQuery) -> list[Held]:
        """The first matches of each event that ends some."""
        found: list[Held] = []
        for results in self._results(relaxed):
            matches = as_bindings(results.positions)
            last = matches.last
            begins = np.flatnonzero(np.append(True, last[1:] != last[:-1]))
            numbers = np.arange(len(last))
            rank = numbers - np.repeat(begins, np.diff(np.append(begins, len(last))))
            places = np.flatnonzero(rank < OF_EACH)[: LOOKED_AT - len(found)]
            found += self._held(relaxed, matches[:, places])
            if len(found) >= LOOKED_AT:
                break
        return found

    def _held(self, relaxed: BoundQuery, matches: Bindings) -> list[Held]:
        by_level = []
        for level in range(matches.shape[0]):
            events, ends = matches.of_level(level)
            cuts = zip(begins_of(ends).tolist(), ends.tolist(), strict=True)
            by_level.append([tuple(events[begin:end].tolist()) for begin, end in cuts])
        indexes = [each.index for each in relaxed.positives]
        return [dict(zip(indexes, each, strict=True)) for each in zip(*by_level, strict=True)]

    def _judge(self, matches: Sequence[Held]) -> Judge:
        places = [place for held in matches for series in held.values() for place in series]
        search = self.search
        history = self.seen.history
        return Judge(self.query, search.events, search.schema, history, places, WORK)


def _rank(miss: _Miss) -> float:
    return WHOLE if np.isnan(miss.failure.share) else miss.failure.share


def _unit_of(query: BoundQuery, search: Search) -> float | None:
    """The seconds beside which a time is large or small: those of the window, if there is one."""
    window, unit = query.window, search.schema.nanoseconds
    if window is None or window.kind is not WindowKind.TIME or unit is None:
        return None
    return size_of(window) * unit / 1e9


def shown_as(query: BoundQuery) -> BoundQuery:
    """A query whose matches are shown with an event of each negative component, or without."""
    shown = query
    for component in query.negatives:
        shown = as_positive(shown, component.index)
    optional = {component.index for component in query.negatives}
    return replace(
        shown,
        components=tuple(
            replace(each, minimum=0) if each.index in optional else each
            for each in shown.components
        ),
        conjuncts=(),
        having=None,
    )


def bindings_of(matches: Sequence[Sequence[Sequence[int]]], levels: int) -> Bindings:
    """Matches by the positions that each component binds."""
    lengths = np.array([[len(each) for each in match] for match in matches], np.int64)
    events = [place for match in matches for series in match for place in series]
    return Bindings(
        np.array(events, np.int64),
        np.cumsum(lengths.reshape(len(matches), levels).sum(axis=1), dtype=np.int64),
        np.ascontiguousarray(lengths.reshape(len(matches), levels).T),
    )
