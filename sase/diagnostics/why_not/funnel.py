"""Count the funnel: how far partial matches get, and which parts stop them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sase.binding.bound import elements_of
from sase.diagnostics.why_not.budget import Count
from sase.diagnostics.why_not.candidates import ComponentCandidates, is_of_first
from sase.diagnostics.why_not.path_count import PathCount
from sase.diagnostics.why_not.query_parts import PartKind, QueryPart, beginning, without
from sase.diagnostics.why_not.search import RelaxedSearch
from sase.engine.columns import Events
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.sentinels import EARLIEST
from sase.lang.ast import StrategyName


@dataclass(frozen=True)
class FunnelStep:
    """A part, and the number of events that still end a partial match once it applies."""

    part: QueryPart
    left: Count


@dataclass(frozen=True)
class FunnelLevel:
    """A positive component: its events in order, those `reached`, and the `steps` in between.

    `partial` counts partial matches that end here; at a last component that may be empty, all
    matches.
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
    """Count the steps of a level, each with one more part; the last has all."""
    query = search.query

    def count(parts: Sequence[QueryPart]) -> PathCount:
        relaxed = without(query, parts)
        is_last = number == len(query.positives)
        return search.count(relaxed if is_last else beginning(relaxed, number))

    def left(parts: Sequence[QueryPart]) -> Count:
        found = count(parts).lasts
        if not found.is_exact and any(part.kind is PartKind.STRATEGY for part in parts):
            # A strategy's matches are matches of the loosest one, too, but that has more to count.
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
    """Whether every passing event of the first component is a partial match, without a search."""
    first, *others = search.query.positives
    binding = (PartKind.TEST, PartKind.CONSTANT)
    return first.is_single and bool(others) and all(p.kind not in binding for p in search.parts)


def _tightened(steps: Sequence[FunnelStep], most: int) -> list[FunnelStep]:
    """Tighten the bounds of steps: an unfinished count is at least that of the next step."""
    found: list[FunnelStep] = []
    for step in reversed(steps):
        least = found[-1].left.number if found else 0
        if not step.left.is_exact and step.left.number < least:
            step = FunnelStep(step.part, Count(least, is_exact=False))
        found.append(step)
    before = Count(most)
    # A step that keeps all events of the one before is exact, too.
    for place, step in reversed([*enumerate(found)]):
        if before.is_exact and step.left.number == before.number:
            found[place] = FunnelStep(step.part, before)
        before = found[place].left
    return found[::-1]


def _deciding(number: int, search: RelaxedSearch) -> list[QueryPart]:
    """The parts that first apply at a level, in their order of application."""
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
        # Its result depends on the other parts, so it comes last.
        found.sort(key=lambda part: part.kind is PartKind.STRATEGY)
    return found


def _in_order(events: Events, positive: Sequence[ComponentCandidates]) -> list[int]:
    """Count the candidates of each level after those before; at the last, all ends.

    Candidates of a set's members come after those before the set.
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
            # The least number must fit before the next component.
            steps = np.unique(ranks[is_later])[:least]
            if len(steps) < least:
                return counts + [0] * (len(positive) - len(counts))
            earliest = max(earliest, int(steps[-1])) if least else earliest
    return [*counts[:-1], len(ends)]


def _perhaps_in_order(
    lo: Numbers, hi: Numbers, positive: Sequence[ComponentCandidates]
) -> list[int]:
    """The same for imprecise time: the candidates that may come after those before."""
    counts, ends = [], np.empty(0, np.int64)
    earliest = EARLIEST  # the least possible time of the last earlier event
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
