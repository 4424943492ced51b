"""Run a compiled query for the number of its matches, or for all of them as a set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from sase.api.checks import check_bounds, guard_of
from sase.api.compiled_query import CompiledQuery
from sase.api.execution import run
from sase.base.interface import option
from sase.engine.pipeline.limits import UNLIMITED, working
from sase.errors import BudgetError, MemoryLimitError, PlanError, TimeLimitError
from sase.lang import ast
from sase.lang.parser import parse_condition, parse_query
from sase.lang.printer import to_text
from sase.planning.counting import CountingWay, CountMethod, ways_of_counting
from sase.planning.optimizer import Optimized
from sase.planning.plan.nodes import Operator, Transformation, require

if TYPE_CHECKING:
    from sase.engine.columns import Events
    from sase.engine.pipeline.batch import RowsInMemory
    from sase.engine.pipeline.limits import RunGuard
    from sase.engine.set_results import CompressedMatches, CountedMatches, MatchCount
    from sase.engine.set_results.compressed_matches import MatchSource
    from sase.planning.engine_plan import EnginePlan

# The arguments of `run` other than a compiled query and events. Any number of matches is allowed.
Settings = Mapping[str, Any]
ANY_NUMBER = 2**63
# The greatest number of events for which matches are also counted before HAVING.
MOST_AMONG = 1 << 16


def compressed(
    compiled: CompiledQuery, *, max_matches: int | None = None, **settings: Any
) -> CompressedMatches:
    """Return all matches as a set."""
    from sase.engine.set_results import CompressedMatches

    def narrowed(condition: str) -> CompressedMatches:
        top = require(compiled.basic, Transformation)
        if top.limit is not None or top.non_overlapping is not None:
            raise PlanError(
                f"where() would come before {'LIMIT' if top.limit is not None else 'non_overlap'},"
                " and find other matches than those of this set: filter the matches of  expand()  ,"
                " or write the condition as HAVING"
            )
        text = _with_having(compiled.query, condition)
        return compressed(compiled.of_text(text), max_matches=max_matches, **settings)

    check_bounds(settings.get("threads"), max_matches)
    keys = tuple(dict.fromkeys(test.attribute for test in compiled.bound.equivalences))
    opened = partial(_set_of, compiled, settings)
    return CompressedMatches(opened, narrowed, keys=keys, most=max_matches)


def counted(
    compiled: CompiledQuery, *, max_matches: int | None = None, **settings: Any
) -> MatchCount:
    """Return the number of matches."""
    check_bounds(settings.get("threads"), max_matches)
    most = ANY_NUMBER if max_matches is None else max_matches
    *before, way = ways_of(compiled, is_number=True)
    settings["guard"], read = _guard_of(settings), list[object]()
    for each in before:
        few = _few(compiled, {**settings, "keep": read.append}, each, most)
        if few is not None:
            return few
    source = _source(compiled, settings, way, events=next(iter(read), compiled.source.events))
    return _match_count(source, source.count(most))


def ways_of(compiled: CompiledQuery, *, is_number: bool) -> tuple[CountingWay, ...]:
    """The ways to count the matches, or to hold them as a set; files may be too large for some."""
    from sase.engine.pipeline.batch import is_too_large

    def is_held(plan: Operator) -> bool:
        return not is_too_large(compiled.plan(Optimized.of(plan)).engine, compiled.source.events)

    return ways_of_counting(
        compiled.basic,
        compiled.recipe,
        explodes=compiled.may_explode,
        is_number=is_number,
        events=compiled.source.rows or None,
        is_held=is_held,
    )


def _few(
    compiled: CompiledQuery, settings: Settings, way: CountingWay, most: int
) -> MatchCount | None:
    """Count matches by enumeration; None if there are more than a few."""
    found = _searched(compiled, {**settings, "warns": False}, way.reasons, for_set=False)
    try:
        return _match_count(found, found.count(min(most, way.most)))
    except BudgetError as problem:
        if isinstance(problem, TimeLimitError | MemoryLimitError):
            raise
    return None


def _match_count(source: Any, count: int) -> MatchCount:
    from sase.engine.set_results import MatchCount
    from sase.engine.set_results.compressed_matches import notes

    report = source.report
    report = replace(report, notes=(*report.notes, *notes(source.reasons)))
    return MatchCount.of(count, report, is_counted=not source.reasons)


def _set_of(compiled: CompiledQuery, settings: Settings) -> MatchSource:
    """The source of answers to questions about all matches."""
    from sase.engine.pipeline.batch import is_too_large

    if is_too_large(compiled.unoptimized, compiled.source.events):
        raise PlanError(
            f"{option('output', 'compressed')} holds the events, and these files are too large for"
            f" that: {option('output', 'count')} reads them in pieces"
        )
    (way,) = ways_of(compiled, is_number=False)
    events = compiled.source.events
    source: MatchSource = _source(compiled, settings, way, events=events, for_set=True)
    return source


def _source(
    compiled: CompiledQuery,
    settings: Settings,
    way: CountingWay,
    *,
    events: object,
    for_set: bool = False,
) -> Any:
    """The source that counts all matches in one way, or answers questions about them.

    The `events` are those of the query, or their rows if these were read before.
    """
    from sase.engine import set_results as by

    counts = {
        CountMethod.PATHS: by.CountedMatches,
        CountMethod.BRANCHES: by.CountedUnion,
        CountMethod.STATES: by.CountedStates,
        CountMethod.HISTORIES: by.CountedHistories,
    }
    held = None if way.plan is None else _held(compiled, way.plan, settings, events)
    if way.method in counts:
        assert held is not None, "so it was chosen"
        return counts[way.method](*held)
    # With few events, it is cheap to count the matches before HAVING. A note can then say that
    # HAVING tests too many of them.
    is_small = held is not None and len(held[2]) <= MOST_AMONG
    among = by.CountedMatches(*held) if held is not None and is_small else None
    return _searched(compiled, settings, way.reasons, for_set=for_set, among=among)


def _held(
    compiled: CompiledQuery, counting: Operator, settings: Settings, events: object
) -> tuple[EnginePlan, RowsInMemory, Events, RunGuard | None] | None:
    """The plan with its events and guard, to count matches; None if memory is too small."""
    from sase.engine.pipeline.batch import held

    plan = compiled.plan(Optimized.of(counting)).engine
    guard = _guard_of(settings)
    with working(guard):
        whole = held(plan, events, guard=guard)
    return None if whole is None else (plan, *whole, guard)


def _guard_of(settings: Settings) -> RunGuard | None:
    return settings.get("guard") or guard_of(settings.get("limits", UNLIMITED), perf_counter_ns)


def _searched(
    compiled: CompiledQuery,
    settings: Settings,
    reasons: tuple[str, ...],
    *,
    for_set: bool,
    among: CountedMatches | None = None,
) -> MatchSource:
    """A search that enumerates matches; `among` counts the matches before HAVING."""
    from sase.engine.set_results import ListedMatches

    # Matches of a set show their events, and several threads cannot return events.
    threads = 1 if for_set else settings.get("threads")
    matches = run(compiled, max_matches=ANY_NUMBER, **{**settings, "threads": threads})
    return ListedMatches(matches, reasons, holds=for_set, among=among)


def _with_having(query: str, condition: str) -> str:
    """The query with one more HAVING condition."""
    tree, more = parse_query(query), parse_condition(condition, "where")
    having = more if tree.having is None else ast.And((tree.having, more))
    return to_text(replace(tree, having=having))
