"""The public functions that match a query against events, or compile it to a plan."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter_ns as ticks
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from sase.api.checks import (
    LISTED,
    check_bounds,
    check_events,
    check_is_listed,
    check_output,
    guard_of,
    limits_of,
)
from sase.api.compiled_query import compile_query, statistics_in
from sase.api.compiled_script import script_of
from sase.api.execution import run
from sase.api.lazy_events import collected
from sase.api.plan import DEFAULT_PLAN, Plan
from sase.api.progress import Progress, ProgressCalls, check_progress, total_of
from sase.api.set_results import compressed, counted
from sase.binding.input_options import InputKeywords, InputOptions, takes_input_options
from sase.engine.pipeline.limits import check_of, working
from sase.engine.sources.discovered import Discovered
from sase.errors import PlanError

if TYPE_CHECKING:
    from sase.api.compiled_query import CompiledQuery
    from sase.api.compiled_script import CompiledScript
    from sase.engine.pipeline.limits import RunGuard
    from sase.engine.results.matches import Matches
    from sase.engine.set_results import CompressedMatches, MatchCount


@overload
def match(
    query: str, events: object = None, *, output: Literal["all", "non_overlap"] = "all", **rest: Any
) -> Matches: ...


@overload
def match(
    query: str, events: object = None, *, output: Literal["compressed"], **rest: Any
) -> CompressedMatches: ...


@overload
def match(
    query: str, events: object = None, *, output: Literal["count"], **rest: Any
) -> MatchCount: ...


@overload
def match(
    query: str, events: object = None, *, output: str, **rest: Any
) -> Matches | CompressedMatches | MatchCount: ...


# The overloads differ only in the result, so the other keywords are listed once, in these forms.
@takes_input_options  # type: ignore[misc]
def match(
    query: str,
    events: object = None,
    *,
    streams: Mapping[str, object] | None = None,
    params: Mapping[str, object] | None = None,
    plan: str = DEFAULT_PLAN,
    output: str = "all",
    limit: int | None = None,
    max_matches: int | None = None,
    stats: object = None,
    threads: int | None = None,
    timeout: object = None,
    max_memory: object = None,
    progress: Progress | None = None,
    **options: Unpack[InputKeywords],
) -> Matches | CompressedMatches | MatchCount:
    """Compile a query, run it over events, and return its matches.

    `events` are a path of files (Parquet, CSV, JSON lines, Arrow; a file, a folder or a pattern), a
    pyarrow Table, RecordBatch or reader, a data frame, a relation of DuckDB (of which only the
    needed columns are computed), a list of dicts, or a dict of type name → any of these. In files,
    the columns of time and type are found by their usual names. `seq` is the column that orders
    events of the same time, or "#row" for their row in the input. A script with one result is a
    query, too; `streams` are its inputs with names. `plan` is the name or the path of a recipe.

    A row is bad if its time, type, `seq`, or a column that the query names cannot be read. It is an
    error, or with `on_bad_row="quarantine"` left out and put into `Matches.report.quarantined`. In
    CSV the texts of `null` are missing values, and the columns of `text` are text. The optimizer
    chooses by `stats`, statistics of the events or the path of a file with them, or by a sample.

    `output` is the form of the result. "all" lists every match. "non_overlap" lists the first match
    of each partition, then the first one after it, and so on. "compressed" is a set that can be
    counted and sampled even if it is too large to list. "count" is the number alone; then
    `max_matches` limits the matches that may be enumerated. `timeout` limits the run (seconds, or
    "5 min"), and `max_memory` the growth of the process (bytes, or "2GB"). More is a `BudgetError`.
    `progress` is called ten times a second at most and at the end, with the rows done and all rows.

    Examples:
        >>> events = [{"ts": 1, "type": "A", "id": 7}, {"ts": 2, "type": "B", "id": 7}]
        >>> sase.match("EVENT SEQ(A a, B b) WHERE [id] WITHIN 10", events).rows.to_pydict()
        {'a': [0], 'b': [1]}
    """
    check_output(output)
    check_bounds(threads, max_matches)
    guard = guard_of(limits := limits_of(timeout, max_memory), ticks)
    check_events(events, streams)
    check_progress(progress, is_listed=output in LISTED)
    with working(guard):
        events = collected(events, query, params, plan, output, options)
        script, _ = script_of(
            query, events, streams, params, plan, options, guard,
            strict=True, limit=limit, output=output,
        )  # fmt: skip
        check_of(guard)(0)
    settings: Any = dict(threads=threads, max_matches=max_matches)
    if script.lone is None:
        _refuse_of_several(output, stats=stats)
        return _of_several(script, guard, progress, **settings)
    return _of_query(script.lone, output, guard, progress, stats=stats, limits=limits, **settings)


def _of_several(
    script: CompiledScript,
    guard: RunGuard | None,
    progress: Progress | None,
    *,
    threads: int | None,
    max_matches: int | None,
) -> Matches:
    """The matches of the only result of a script."""
    rows = [each.rows for each in script.sources.values()]
    calls = None if progress is None else ProgressCalls(progress, total_of(rows))
    found = script.found(script.sources, guard, max_matches, calls, threads=threads)
    if calls is not None:
        calls.end()
    return found[script.result]


def _of_query(
    query: CompiledQuery,
    output: str,
    guard: RunGuard | None,
    progress: Progress | None,
    **settings: Any,
) -> Matches | CompressedMatches | MatchCount:
    if output not in LISTED:
        return counted(query, **settings) if output == "count" else compressed(query, **settings)
    if progress is None:
        return run(query, guard=guard, **settings)
    calls = ProgressCalls(progress, query.source.rows)
    return calls.until_end(run(query, guard=guard, watch=calls, **settings))


def _refuse_of_several(output: str, **given: object) -> None:
    """Refuse keywords for a script that only a query by itself can have."""
    for name, value in given.items():
        if value is not None:
            raise PlanError(f"{name}= is of one query, and this is a script: leave it out")
    if output not in LISTED:
        raise PlanError(f'output="{output}" is of one query, and this is a script')


@takes_input_options
def compile(
    query: str,
    schema: object,
    *,
    params: Mapping[str, object] | None = None,
    plan: str = DEFAULT_PLAN,
    output: str = "all",
    limit: int | None = None,
    lateness: object = None,
    stats: object = None,
    **options: Unpack[InputKeywords],
) -> Plan:
    """Compile a query for events of a schema, and return its plan.

    `schema` is a `sase.Schema`, a schema of Arrow, or sample events; then the keywords describe the
    columns. `lateness` is how late rows of a stream may be: a `timedelta`, a text like "5 seconds",
    or a number of integer times.

    Examples:
        >>> events = [{"ts": 1, "type": "A", "id": 7}, {"ts": 2, "type": "B", "id": 7}]
        >>> plan = sase.compile("EVENT SEQ(A a, B b) WHERE [id] WITHIN 10", events)
        >>> print(plan)
        Transformation
          SequenceConstruction window=10
            SequenceScan components=[a, b] tests=[id] stacks=AIS partitions=[[id]] window=10
    """
    check_is_listed(output)
    known = compile_query(
        query,
        Discovered.of(schema, InputOptions(**options)),
        params=params,
        plan=plan,
        limit=limit,
        output=output,
        lateness=lateness,
    )
    return known.plan(known.optimized(statistics_in(stats)))
