"""Count the funnel: how far partial matches come, and which parts stop those that end there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sase.binding.bound import elements_of
from sase.diagnostics.why_not.budget import Count
from sase.diagnostics.why_not.candidates import ComponentCandidates, is_of_first
from sase.diagnostics.why_not.path_count import PathCount
from sase.diagnostics.why_not.query_parts import PartKind, QueryPart, without
from sase.diagnostics.why_not.relaxation import beginning
from sase.diagnostics.why_not.search import RelaxedSearch
from sase.engine.columns import Events
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.sentinels import EARLIEST
from sase.lang.ast import StrategyName


@dataclass(frozen=True)
class FunnelStep:
    """A part, and how many events are still the last of a partial match once it must hold."""

    part: QueryPart
    left: Count


@dataclass(frozen=True)
class FunnelLevel:
    """A positive component: its events that come late enough, and those `reached` by the `steps`.

    `partial` matches end with one; at a last component that may be empty, all that end a match.
    """

    candidates: ComponentCandidates
    in_order: int
    steps: tuple[FunnelStep, ...]
    reached: Count
    partial: Count


def funnel_of(
    candidates: Sequence[ComponentCandidates], search: RelaxedSearch
) -> tuple[FunnelLevel, ...]:
    """Count the levels of all positive components."""
    positive = [each for each in candidates if not each.component.negated]
    in_order = _in_order(search.events, positive)
    found: list[FunnelLevel] = []
    is_over = False
    for number, each in enumerate(positive, start=1):
        if is_over or not in_order[number - 1]:
            level = FunnelLevel(each, in_order[number - 1], (), Count(0), Count(0))
        else:
            level = _level(number, each, in_order[number - 1], search)
        is_over |= level.reached.is_none and each.component.minimum > 0
        found.append(level)
    return tuple(found)


def _level(
    number: int, candidates: ComponentCandidates, in_order: int, search: RelaxedSearch
) -> FunnelLevel:
    """Count the steps of a level, each with one more part; they end with the whole."""
    query = search.query

    def count(parts: Sequence[QueryPart]) -> PathCount:
        relaxed = without(query, parts)
        is_last = number == len(query.positives)
        return search.count(relaxed if is_last else beginning(relaxed, number))

    def left(parts: Sequence[QueryPart]) -> Count:
        found = count(parts).lasts
        if not found.is_exact and any(part.kind is PartKind.STRATEGY for part in parts):
            # What a strategy finds is found under the loosest one, which has more to count.
            stricter = count([part for part in parts if part.kind is not PartKind.STRATEGY]).lasts
            return Count(max(found.number, stricter.number), is_exact=False)
        return found

    if number == 1 and query.level > 1 and _is_trivial(search):
        return FunnelLevel(candidates, in_order, (), Count(in_order), Count(in_order))
    found = count([])
    if found.lasts.number == in_order:
        return FunnelLevel(candidates, in_order, (), Count(in_order), found.matches)
    deciding = _deciding(number, search)
    steps = [FunnelStep(part, left(deciding[n:])) for n, part in enumerate(deciding, start=1)]
    return FunnelLevel(
        candidates, in_order, tuple(_tightened(steps, in_order)), found.lasts, found.matches
    )


def _is_trivial(search: RelaxedSearch) -> bool:
    """Whether an event of the first component that passes is a partial match: no search is due."""
    first, *others = search.query.positives
    binding = (PartKind.TEST, PartKind.CONSTANT)
    return first.is_single and bool(others) and all(p.kind not in binding for p in search.parts)


def _tightened(steps: Sequence[FunnelStep], most: int) -> list[FunnelStep]:
    """Tighten the bounds of steps: an ended one leaves at least what the next one does."""
    found: list[FunnelStep] = []
    for step in reversed(steps):
        least = found[-1].left.number if found else 0
        if not step.left.is_exact and step.left.number < least:
            step = FunnelStep(step.part, Count(least, is_exact=False))
        found.append(step)
    before = Count(most)
    # One that leaves all that was left before is exact all the same.
    for place, step in reversed([*enumerate(found)]):
        if before.is_exact and step.left.number == before.number:
            found[place] = FunnelStep(step.part, before)
        before = found[place].left
    return found[::-1]


def _deciding(number: int, search: RelaxedSearch) -> list[QueryPart]:
    """Select the parts that come in at a level, in the order in which they are applied."""
    query, parts = search.query, search.parts
    indexes = [each.index for each in query.positives]
    here, before = indexes[number - 1], set(indexes[: number - 1])
    is_last = number == len(indexes)
    later = (PartKind.CONSTANT, PartKind.NEGATION, PartKind.CONFIDENCE, PartKind.HAVING)
    component = query.positives[number - 1]
    has_several = number > 1 or component.maximum != 1
    of_whole = (PartKind.TEST, PartKind.WINDOW, PartKind.STRATEGY)
    of_one = (PartKind.RELATION, PartKind.LEAST, PartKind.MOST)
    found = [
        part
        for part in parts
        if (part.kind in of_whole and has_several)
        or (part.kind in of_one and {here} <= set(part.components) <= {here, *before})
        or (
            part.kind is PartKind.OWN
            and part.components == (here,)
            and is_of_first(query.conjuncts[part.number], component)
        )
    ]
    found += [part for part in parts if is_last and part.kind in later]
    if query.strategy is StrategyName.EARLIEST_MAXIMAL:
        # Of fewer parts it takes other events, so that it comes last.
        found.sort(key=lambda part: part.kind is PartKind.STRATEGY)
    return found


def _in_order(events: Events, positive: Sequence[ComponentCandidates]) -> list[int]:
    """Count the candidates of each level that come after those before; at the last, all ends.

    Those of the members of a set come after those before the set.
    """
    if events.until is not None:
        return _perhaps_in_order(events.ts, events.until, positive)
    counts, earliest, ends = [], -1, np.empty(0, np.int64)
    for levels in elements_of([each.component for each in positive]):
        after = earliest
        for each in (positive[level] for level in levels):
            at, least = each.at, each.component.minimum
            ranks = at if events.tie is None else events.tie[at]
            is_later = ranks > after
            ends = at[is_later] if least else np.union1d(ends, at[is_later])
            counts.append(int(is_later.sum()))
            # So many come one after the other before what is next.
            steps = np.unique(ranks[is_later])[:least]
            if len(steps) < least:
                return counts + [0] * (len(positive) - len(counts))
            earliest = max(earliest, int(steps[-1])) if least else earliest
    return [*counts[:-1], len(ends)]


def _perhaps_in_order(
    lo: Numbers, hi: Numbers, positive: Sequence[ComponentCandidates]
) -> list[int]:
    """The same of imprecise time: the candidates that may come after those before."""
    counts, ends = [], np.empty(0, np.int64)
    earliest = EARLIEST  # of what comes before, the least time that its last event may have
    for each in positive:
        at, least = each.at[hi[each.at] > earliest], each.component.minimum
        ends = at if least else np.union1d(ends, at)
        counts.append(len(at))
        for _ in range(least):
            at = at[hi[at] > earliest]
            if not len(at):
                return counts + [0] * (len(positive) - len(counts))
            times = np.maximum(lo[at], earliest + 1)
            earliest = int(times.min())
            at = np.delete(at, int(times.argmin()))
    return [*counts[:-1], len(ends)]
