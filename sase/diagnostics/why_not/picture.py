"""Draw near misses along time, or the first partial match if there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sase.binding import BoundQuery
from sase.diagnostics.why_not.funnel import FunnelLevel
from sase.diagnostics.why_not.match_search import Match, events_of, matches_of
from sase.diagnostics.why_not.near_misses import NearMiss, positions_of
from sase.diagnostics.why_not.query_parts import PartKind, QueryPart, beginning
from sase.diagnostics.why_not.search import RelaxedSearch
from sase.diagnostics.why_not.why_not import NO_PICTURE
from sase.engine.expressions import Interner
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.transformation import Results
from sase.engine.results.batch import MatchBatch, ResultSchema
from sase.engine.results.row_history import RowHistory
from sase.engine.results.timeline import Timeline
from sase.engine.results.timeline_events import IMPRECISE, StopPosition, timeline_of_stopped
from sase.planning.engine_plan import EnginePlan
from sase.planning.plan.basic import basic_plan

NONE = "no near miss and no partial match is drawn: none was found, or near is 0"
ENDED = "the budget ended the search of a partial match"


def picture_of(
    search: RelaxedSearch,
    history: RowHistory,
    chosen: Sequence[tuple[QueryPart, NearMiss]],
    levels: Sequence[FunnelLevel],
) -> Timeline:
    """The timeline of near misses, or of a partial match that a component does not continue."""
    query = search.query
    if search.schema.until is not None:
        return replace(NO_PICTURE, notes=(IMPRECISE,))
    if chosen:
        stops = [_stop(query, part, miss) for part, miss in chosen]
        found = "1 near miss" if len(stops) == 1 else f"{len(stops):,} near misses, nearest first"
        matches = [miss.match for _, miss in chosen]
        return timeline_of_stopped(_batch(query, search, history, matches), stops, found)
    broken = next((n for n, each in enumerate(levels) if _breaks(each)), 0)
    partial = beginning(query, broken) if broken else query
    match = _first(search, partial) if broken else None
    if match is None:
        return replace(NO_PICTURE, notes=(ENDED if broken else NONE,))
    level = levels[broken]
    stop = StopPosition(
        _reason(level), max(events_of(match)), missing=level.candidates.component.variable
    )
    return timeline_of_stopped(
        _batch(partial, search, history, [match]), [stop], "a partial match, which is not continued"
    )


def _breaks(level: FunnelLevel) -> bool:
    return level.reached.is_none and level.candidates.component.minimum > 0


def _first(search: RelaxedSearch, partial: BoundQuery) -> Match | None:
    """The first partial match within the budget; that it ends early does not limit a number."""
    was_cut = search.is_cut
    some = next((each for each in search.results(partial) if len(each)), None)
    search.is_cut = was_cut
    return None if some is None else matches_of(partial, some.between(0, 1))[0]


def _reason(level: FunnelLevel) -> str:
    """The first part that leaves no event of a component."""
    name = level.candidates.text
    if not level.in_order:
        return f"stopped by {name}: no event of it comes after"
    none = next((step.part.text for step in level.steps if step.left.is_none), None)
    rest = "" if none is None else f", none with {none}"
    return f"stopped by {name}: {level.in_order:,} in order{rest}"


def _stop(query: BoundQuery, part: QueryPart, miss: NearMiss) -> StopPosition:
    """The stop of a near miss: at an event against it, or the last event that its part reads."""
    match, by = miss.match, miss.failure
    reason = f"stopped by {part.text}" + (f", {by.text}" if by.text else "")
    own = {each.index for each in query.positives}
    names = {c.index: c.variable for each in query.negations for c in each.components}
    names |= {each.index: each.variable for each in query.components}
    against = [(e, names[n]) for n, series in match.items() if n not in own for e in series]
    against += [(event, "") for event in by.against]
    read = [event for n in part.components if n in own for event in match[n]]
    if part.kind is PartKind.STRATEGY or not read:
        read = events_of(match)
    at = min((event for event, _ in against), default=max(read))
    return StopPosition(reason, at, tuple(sorted(against)))


def _batch(
    query: BoundQuery, search: RelaxedSearch, history: RowHistory, matches: Sequence[Match]
) -> MatchBatch:
    """Matches of positive components; the form of a match does not depend on how it was found."""
    plan = EnginePlan(basic_plan(query), search.schema, query.definitions)
    positions = positions_of(query.positives, matches, as_matrix=not plan.has_series)
    if isinstance(positions, Bindings) and query.has_sets:
        positions = _in_order(positions)
    return MatchBatch(ResultSchema.of(plan, Interner()), history, (Results(positions),))


def _in_order(bindings: Bindings) -> Bindings:
    """The events of each match in the order of the stream: those of a set are in any order."""
    order = np.lexsort((bindings.events, bindings.matches))
    return replace(bindings, events=bindings.events[order], states=bindings.known_states[order])
