"""Explain a query: events of each component, the funnel, ablations, near misses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sase.binding import BoundQuery
from sase.binding.bound import Condition
from sase.diagnostics.attributes import Attributes
from sase.diagnostics.why_not.ablation import Ablation, each_left_out, fewest_left_out, longest_of
from sase.diagnostics.why_not.budget import Budget, Count
from sase.diagnostics.why_not.candidates import ComponentCandidates, are_barred, candidates_of
from sase.diagnostics.why_not.event_sample import EventSample, sample_events
from sase.diagnostics.why_not.funnel import funnel_of
from sase.diagnostics.why_not.near_misses import (
    NearMisses,
    NearMissSearch,
    nearest_of,
    table_of,
)
from sase.diagnostics.why_not.picture import picture_of
from sase.diagnostics.why_not.query_parts import bare, needing_window, parts_of
from sase.diagnostics.why_not.search import RelaxedSearch
from sase.diagnostics.why_not.sentences import sentences
from sase.diagnostics.why_not.why_not import WhyNot
from sase.engine.columns.arrow.input import Inputs
from sase.engine.columns.decode.time_column import doubt_of_unit
from sase.engine.pipeline.batch import text_warnings
from sase.engine.sources import Files
from sase.engine.statistics.ties import TieShare
from sase.planning.engine_plan import EnginePlan
from sase.planning.recipes import Recipe

PARTLY = (
    "the events are too many to be held, and these are the first of them: choose others with"
    " from and to, in files of their own"
)
ENDED = (
    "the budget ended some of the counting: where it says “at least” there may be more, which more"
    " seconds or a greater number of partial matches show"
)


def explain(
    query: BoundQuery,
    text: str,
    plan: EnginePlan,
    events: Inputs | Files,
    restrictions: Sequence[Condition],
    *,
    recipe: Recipe,
    near: int,
    budget: Budget,
) -> WhyNot:
    """Explain the matches of a query in the events that satisfy the restrictions."""
    # The most important searches come first: they have more of the budget.
    query = bare(query)
    sample = sample_events(plan, query, events, restrictions)
    budget.check(0)
    parts = parts_of(query, text)
    search = RelaxedSearch(query, parts, sample.events, plan.schema, recipe, budget)
    attributes = Attributes(sample.events, plan.schema, query.components)
    candidates = candidates_of(query, parts, attributes)
    matches = Count(0) if are_barred(candidates) else search.count(query).matches
    left_out, fewest = _left_out(candidates, search)
    levels = funnel_of(candidates, search)
    finder = NearMissSearch(search, sample, attributes, candidates, near)
    misses = _near_misses(finder, matches, left_out) if near else ()
    longest = longest_of(matches, search)
    limits = ([] if sample.is_whole else [PARTLY]) + ([ENDED] if search.is_cut else [])
    limits += finder.limits
    chosen = nearest_of(misses, near)
    names = dict.fromkeys((*plan.schema.times, *plan.attributes))
    why = WhyNot(
        matches,
        sample.rows,
        sample.count,
        candidates,
        levels,
        left_out,
        fewest,
        table_of(query, chosen, sample.history, plan.schema),
        (),
        not limits,
        tuple(name for name in names if name != plan.schema.type),
        picture_of(search, sample.history, chosen, levels),
    )
    result, *words = sentences(why, sample.types, misses, needing_window(query), longest)
    texts = text_warnings(plan, events) if isinstance(events, Files) else ()
    found = (*plan.warnings, *texts, *_of_times(plan, sample))
    return replace(why, words=(result, *found, *words, *limits))


def _of_times(plan: EnginePlan, sample: EventSample) -> Iterator[str]:
    """Describe a doubtful unit of time, and simultaneous events, which form no sequence."""
    events, ties = sample.events, TieShare.of(plan)
    if len(events):
        first, last = int(events.ts[0]), int(events.ts[-1])
        doubt = doubt_of_unit(plan.schema, first, last, events.resolution_ns)
        yield from [] if doubt is None else [doubt]
    if ties is not None:
        ties.measure(events)
        if ties.is_large:
            yield ties.warning(plan.schema.seq)


def _left_out(
    candidates: Sequence[ComponentCandidates], search: RelaxedSearch
) -> tuple[tuple[Ablation, ...], Ablation | None]:
    """The ablations that help; none if a required component has no event at all."""
    if any(not each.events for each in candidates if each.must_bind):
        return (), None
    left_out = each_left_out(candidates, search)
    if len(search.parts) < 2 or any(each.matches.number for each in left_out):
        return left_out, None
    return left_out, fewest_left_out(search)


def _near_misses(
    finder: NearMissSearch, matches: Count, left_out: Sequence[Ablation]
) -> tuple[NearMisses, ...]:
    """Near misses of each part that reduces the matches; of the strictest other strategy."""
    others = [each for each in left_out if each.instead]
    looser = [each for each in others if each.matches.number > matches.number][:1]
    rest = [each for each in left_out if not each.instead and each.matches.number]
    search, was_cut = finder.search, finder.search.is_cut
    found = [finder.of(each) for each in (*looser, *rest)]
    if search.query.level > 1:
        # Near misses exist even if the matches were too many to count.
        search.is_cut = was_cut
    return tuple(each for each in found if each.misses)
