"""Run a compiled query for the number of its matches, or for all of them as a set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from sase.api.checks import check_bounds
from sase.api.compiled_query import CompiledQuery
from sase.api.execution import run
from sase.api.limits import guard_of
from sase.engine.pipeline.limits import UNLIMITED, working
from sase.errors import BudgetError, MemoryLimitError, PlanError, TimeLimitError
from sase.lang import ast
from sase.lang.parser import parse_condition, parse_query
from sase.lang.printer import to_text
from sase.planning.collapse import FEW, FEW_AGREE, collapsible
from sase.planning.driver import RewriteCall
from sase.planning.history_counts import ALL, MANY, MERGING, counting_histories
from sase.planning.nodes import Operator, Transformation, require
from sase.planning.optimizer import Optimized, optimized
from sase.planning.recipes import read_recipe

if TYPE_CHECKING:
    from sase.engine.columns import Events
    from sase.engine.pipeline.batch import RowsInMemory
    from sase.engine.pipeline.limits import RunGuard
    from sase.engine.set_results import (
        CompressedMatches,
        CountedHistories,
        CountedMatches,
        CountedStates,
        CountedUnion,
        MatchCount,
    )
    from sase.engine.set_results.compressed_matches import MatchSource
    from sase.planning.plan import EnginePlan

# What `run` takes beside a compiled query and events: any number of matches is fine.
Settings = Mapping[str, Any]
ANY_NUMBER = 2**63
# So many events are collected to count the matches that HAVING is asked of.
MOST_AMONG = 1 << 16
# What a recipe has that merges runs, whatever that costs.
MERGING_RUNS = RewriteCall("merge_runs")


def compressed(
    known: CompiledQuery,
    again: Callable[[str], CompiledQuery],
    *,
    max_matches: int | None = None,
    **settings: Any,
) -> CompressedMatches:
    """All matches as a set; `again` compiles another text for the same source."""
    from sase.engine.set_results import CompressedMatches

    def narrowed(condition: str) -> CompressedMatches:
        top = require(known.basic, Transformation)
        if top.limit is not None or top.non_overlapping is not None:
            raise PlanError(
                f"where() would come before {'LIMIT' if top.limit is not None else 'non_overlap'},"
                " and find other matches than those of this set: filter what  expand()  gives, or"
                " write the condition as HAVING"
            )
        text = _with_having(known.query, condition)
        return compressed(again(text), again, max_matches=max_matches, **settings)

    check_bounds(settings.get("threads"), max_matches)
    keys = tuple(dict.fromkeys(test.attribute for test in known.bound.equivalences))
    opened = partial(_source, known, settings, for_set=True)
    return CompressedMatches(opened, narrowed, keys=keys, most=max_matches)


def counted(known: CompiledQuery, *, max_matches: int | None = None, **settings: Any) -> MatchCount:
    """The number of matches."""
    check_bounds(settings.get("threads"), max_matches)
    most = ANY_NUMBER if max_matches is None else max_matches
    if _may_be_few(known):
        few = _few(known, settings, (FEW_AGREE,), most)
        if few is not None:
            return few
    by_states = _by_states(known, settings)
    if by_states is not None:
        return by_states
    by_histories = _by_histories(known, settings, most)
    if by_histories is not None:
        return by_histories
    source = _source(known, settings, for_set=False)
    return _match_count(source, source.count(most))


def _may_be_few(known: CompiledQuery) -> bool:
    """Whether matches that can be counted as paths may be found sooner one by one."""
    from sase.engine.pipeline.batch import is_too_large

    form = collapsible(known.basic)
    if known.may_explode or form.list_reasons:
        return False
    return not is_too_large(known.plan(Optimized.of(form.plan)).engine, known.source.events)


def _few(
    known: CompiledQuery, settings: Settings, reasons: tuple[str, ...], most: int
) -> MatchCount | None:
    """The number of matches that are found one by one; None of more than a few."""
    found = _searched(known, settings, reasons, for_set=False)
    try:
        return _match_count(found, found.count(min(most, FEW)))
    except BudgetError as problem:
        if isinstance(problem, TimeLimitError | MemoryLimitError):
            raise
    return None


def _by_histories(known: CompiledQuery, settings: Settings, most: int) -> MatchCount | None:
    """Count the histories of merged runs: where the plan merges them, or matches are too many."""
    from sase.engine.set_results import CountedHistories

    reasons = collapsible(known.basic).reasons
    if not reasons:
        return None
    counting, of_which = plan_of_histories(known)
    if counting is None:
        return None
    if of_which == MANY:
        few = _few(known, {**settings, "warns": False}, reasons, most)
        if few is not None:
            return few
    whole = _held(known, counting, settings)
    if whole is None:
        return None
    source = CountedHistories(*whole)
    return _match_count(source, source.count())


def _by_states(known: CompiledQuery, settings: Settings) -> MatchCount | None:
    """Count choices of events through states, or branch by branch, unless they are too many."""
    from sase.engine.set_results import CountedStates, CountedUnion

    form = collapsible(known.basic)
    if not (form.by_states or form.by_branch):
        return None
    whole = _held(known, form.plan, settings)
    if whole is None:
        return None
    source = CountedUnion(*whole) if form.by_branch else CountedStates(*whole)
    return _match_count(source, source.count(0))


def _held(
    known: CompiledQuery, counting: Operator, settings: Settings
) -> tuple[EnginePlan, RowsInMemory, Events, RunGuard | None] | None:
    """What counts by a plan the events that are all held; nothing where they are too many."""
    from sase.engine.pipeline.batch import held

    plan = known.plan(Optimized.of(counting)).engine
    guard = guard_of(settings.get("limits", UNLIMITED), perf_counter_ns)
    with working(guard):
        whole = held(plan, known.source.events, guard=guard)
    return None if whole is None else (plan, *whole, guard)


def plan_of_histories(known: CompiledQuery) -> tuple[Operator | None, str | None]:
    """The plan that counts the histories of merged runs, if there is one, and of which matches.

    A recipe that merges runs counts all so; others count so what may be too many to be listed.
    """
    merges = MERGING_RUNS in known.recipe.entries
    if not merges and not known.may_explode:
        return None, None
    made = known.optimized() if merges else optimized(read_recipe(MERGING), known.basic)
    counting = counting_histories(made.plan)
    return counting, None if counting is None else ALL if merges else MANY


def _match_count(
    source: MatchSource | CountedHistories | CountedUnion | CountedStates, count: int
) -> MatchCount:
    from sase.engine.set_results import MatchCount
    from sase.engine.set_results.compressed_matches import notes

    report = source.report
    report = replace(report, notes=(*report.notes, *notes(source.reasons)))
    return MatchCount.of(count, report, is_counted=not source.reasons)


def _source(known: CompiledQuery, settings: Settings, *, for_set: bool) -> MatchSource:
    """A graph where the query allows it, and else a search."""
    from sase.engine.pipeline.batch import held, is_too_large
    from sase.engine.set_results import CountedMatches, counted_set

    form = collapsible(known.basic)
    plan, events = known.plan(Optimized.of(form.plan)).engine, known.source.events
    if for_set and is_too_large(plan, events):
        raise PlanError(
            'output="compressed" holds the events, and these files are too large for that:'
            ' output="count" reads them in pieces'
        )
    guard = guard_of(settings.get("limits", UNLIMITED), perf_counter_ns)
    with working(guard):
        is_held = form.lacks_having or not form.reasons
        whole = held(plan, events, guard=guard) if is_held else None
    if whole is not None and not form.reasons:
        return counted_set(plan, *whole, guard=guard)
    # That HAVING is asked of too many matches is worth to know where there are few events.
    among = (
        None
        if whole is None or len(whole[1]) > MOST_AMONG
        else CountedMatches(plan, *whole, guard=guard)
    )
    asked = form.reasons if for_set else form.list_reasons
    reasons = asked or ("the events are too many to be held",)
    return _searched(known, settings, reasons, for_set=for_set, among=among)


def _searched(
    known: CompiledQuery,
    settings: Settings,
    reasons: tuple[str, ...],
    *,
    for_set: bool,
    among: CountedMatches | None = None,
) -> MatchSource:
    """A search, which looks at matches one by one, of those `among` which HAVING chooses."""
    from sase.engine.set_results import ListedMatches

    # Matches of a set show their events, which several threads do not hand over.
    threads = 1 if for_set else settings.get("threads")
    matches = run(known, max_matches=ANY_NUMBER, **{**settings, "threads": threads})
    return ListedMatches(matches, reasons, holds=for_set, among=among)


def _with_having(query: str, condition: str) -> str:
    """The query with one more condition on finished matches."""
    tree, more = parse_query(query), parse_condition(condition, "where")
    having = more if tree.having is None else ast.And((tree.having, more))
    return to_text(replace(tree, having=having))
