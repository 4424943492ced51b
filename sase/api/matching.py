"""The public functions that match a query in events, or compile it to a plan."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from time import perf_counter_ns as ticks
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from sase.api.checks import (
    LISTED,
    check_bounds,
    check_events,
    check_is_listed,
    check_output,
    check_params,
    check_query,
)
from sase.api.compiled_query import compile_query, statistics_in
from sase.api.compiled_script import CompiledScript, graph_of
from sase.api.execution import run
from sase.api.limits import bound, guard_of, limits_of
from sase.api.plan import DEFAULT_PLAN, Plan
from sase.api.script_inputs import discovered
from sase.api.set_results import compressed, counted
from sase.binding.input_options import InputKeywords, InputOptions, takes_input_options
from sase.engine.pipeline.limits import check_of, working
from sase.engine.sources.discovered import Discovered
from sase.errors import PlanError

if TYPE_CHECKING:
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


# The forms only tell apart what is returned: what else may be given stands here, once.
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
    **options: Unpack[InputKeywords],
) -> Matches | CompressedMatches | MatchCount:
    """The matches of a query in events: compile and run.

    `events` are the path of files (Parquet, CSV, JSON lines, Arrow; a file, a folder or a pattern),
    a pyarrow Table, RecordBatch or reader, a data frame, a list of dicts, or a dict of type name →
    any of these. In files the columns of time and type are found by their usual names. `seq` is the
    column that orders events of the same time, or "#row" for their row in the input. `plan` is
    the name of a recipe, or the path of one of your own. A row is bad whose time, type, `seq` or a
    column that the query names cannot be read: an error, or with `on_bad_row="quarantine"` left out
    and put into `Matches.report.quarantined`. Texts of CSV that are `null` stand for a missing
    value, and columns that are `text` are that, whatever their values are. `stats` are statistics
    of the events, or the path of a file of them, by which the optimizer chooses; without any it
    measures them on a sample where there are enough events for that to pay.

    `output` is "all", "non_overlap" (of each partition the first match, then the first behind it),
    "compressed" for a set that can be counted and sampled where it cannot be listed, or "count" for
    the number alone; `max_matches` then bounds how many may be looked at one by one.
    `timeout` is how long the run may work: seconds, or a text such as "30s" or "5 min".
    `max_memory` is by how much the process may grow meanwhile: bytes, or a text such as "2GB". What
    exceeds them ends in a `TimeLimitError` or a `BudgetError`.
    A script of one result, which no other statement reads, is a query, too; `streams` name inputs.
    """
    check_output(output)
    check_bounds(threads, max_matches)
    guard = guard_of(limits := limits_of(timeout, max_memory), ticks)
    check_events(events, streams)
    with working(guard):
        sources = discovered(options, events, streams)
        check_query(query)
        check_params(params)
        for each in sources.values():
            bound(each, guard)
        graph = graph_of(query, sources)
        script = CompiledScript(graph, sources, params, plan, limit=limit, output=output)
        lone = script.lone
        check_of(guard)(0)
    if lone is None:
        _refuse_of_several(output, stats=stats, threads=threads)
        return script.found(sources, guard, max_matches)[graph.result.name]
    given: Any = {"params": params, "plan": plan, "limit": limit, "output": output}
    again = partial(compile_query, source=lone.source, **given)
    settings: Any = dict(stats=stats, threads=threads, max_matches=max_matches, limits=limits)
    if output in LISTED:
        return run(lone, guard=guard, **settings)
    return counted(lone, **settings) if output == "count" else compressed(lone, again, **settings)


def _refuse_of_several(output: str, **given: object) -> None:
    """Refuse what only a statement that runs by itself can have."""
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
    """The plan of a query over events of a schema.

    `schema` is a `sase.Schema`, a schema of Arrow, or events like those that will come: then the
    keywords say what its columns are. Where the plan is opened for a stream `lateness` says how
    late rows may come: a `timedelta`, a text like "5 seconds", or a number of integer times.
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
