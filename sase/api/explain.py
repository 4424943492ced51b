"""Explaining a query: its plan, what is expected of it, and what it does."""

from __future__ import annotations

import time as clock
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from sase.api.checks import check_output
from sase.api.compiled_query import CompiledQuery, compile_query, statistics_in
from sase.api.compiled_script import CompiledScript, names_statements, script_of
from sase.api.execution import measured
from sase.api.limits import bound, guard_of, limits_of
from sase.api.plan import DEFAULT_PLAN
from sase.api.set_results import plan_of_histories
from sase.binding import OPEN, Schema, bind_text
from sase.binding.input_options import InputKeywords, InputOptions, takes_input_options
from sase.binding.lateness import with_longest
from sase.binding.script import NamedQuery
from sase.binding.types import UNKNOWN
from sase.engine.pipeline.limits import RunGuard, check_of, working
from sase.engine.sources.discovered import Discovered
from sase.errors import PlanError
from sase.planning.collapse import FEW_AGREE
from sase.planning.explain import Explanation, described
from sase.planning.explain.automaton import explained_automata
from sase.planning.explain.driven import PhysicalPath, paths_of
from sase.planning.explain.forms import SETS, analyze_lists, explained_form
from sase.planning.explain.value import ExplainedForm, Measured
from sase.planning.nodes import (
    Negation,
    Operator,
    Union,
    chain,
    find,
    name_of,
    reading,
)
from sase.planning.optimizer import Optimized
from sase.planning.physical.drive import Feed
from sase.planning.recipes import read_recipe
from sase.planning.shared_scans import shared_scans
from sase.planning.statistics import Statistics
from sase.planning.traversal import attributes_read

if TYPE_CHECKING:
    from sase.engine.report import FusedUse, Report


@takes_input_options
def explain(
    query: str,
    events: object = None,
    *,
    statement: str | None = None,
    streams: Mapping[str, object] | None = None,
    analyze: bool = False,
    pushed: int | None = None,
    schema: Schema | None = None,
    params: Mapping[str, object] | None = None,
    plan: str = DEFAULT_PLAN,
    output: str = "all",
    limit: int | None = None,
    stats: object = None,
    off: Collection[str] = (),
    timeout: object = None,
    max_memory: object = None,
    **options: Unpack[InputKeywords],
) -> Explanation:
    """The plan of a query: as text with `str`, as JSON, as a graph, or as a page.

    With `events` the plan is that of a run over them, by the same sample if it takes one, or by
    `stats`. It says what is expected, by these or a sample of its own, and with `analyze` what
    happened when it ran, or with `pushed` when they were pushed to a matcher, in batches of so many
    rows. Without any a `schema` says which attributes there are, and else every type is taken to
    have those that the query names. `output` is the form of the result, as `match`
    has it; of one without a list it says what a list would cost. `off` are rewrites to be switched
    off. `timeout` and `max_memory` bound what `analyze` reads and runs, as those of `match` do.
    Of a script it is the plan of the `statement` of that name, or without one that of the only
    result, over what this reads; `streams` are the events, or the schemas, of inputs with names.
    """
    given: dict[str, Any] = {
        "analyze": analyze, "pushed": pushed, "output": output, "limit": limit, "stats": stats,
        "off": off, "timeout": timeout, "max_memory": max_memory,
    }  # fmt: skip
    if statement is not None or streams is not None or names_statements(query):
        known = events if events is not None else schema
        script, read = script_of(query, known, streams, params, plan, options)
        chosen = script.chosen(statement, "sase.Script(text).explain(…)")
        own = None if read is None else script.alone(read)[chosen.name]
        return explain_statement(script, chosen, own, **given)
    (explanation,) = explain_by(
        [plan], query, events, schema=schema, params=params, **given, **options
    )
    return explanation


def explain_statement(
    script: CompiledScript, query: NamedQuery, own: Discovered | None, **given: Any
) -> Explanation:
    """The explanation of a statement of a script, over its own events, or by their schema."""
    schema: Any = None if own is not None else script.bound.queries[query.name].source
    kept = {"schema": schema, "params": script.params, "samples": False}
    return explain_by([script.recipe], query.written, own, **kept, **given)[0]


def explain_by(
    recipes: Sequence[str],
    query: str,
    events: object = None,
    *,
    analyze: bool = False,
    pushed: int | None = None,
    schema: Schema | None = None,
    params: Mapping[str, object] | None = None,
    output: str = "all",
    limit: int | None = None,
    stats: object = None,
    off: Collection[str] = (),
    timeout: object = None,
    max_memory: object = None,
    samples: bool = True,
    **options: Unpack[InputKeywords],
) -> list[Explanation]:
    """The same by each of some recipes; `samples` is off of statements, whose runs take none."""
    check_off(off)
    limits = limits_of(timeout, max_memory)
    if not (analyze or limits.are_none):
        raise PlanError("timeout and max_memory bound the run of analyze=True: nothing else is run")
    guard = guard_of(limits, clock.perf_counter_ns)
    if analyze:
        check_output(output)
        if output in SETS:
            raise PlanError(analyze_lists(output))
    if pushed is not None and (pushed < 1 or not analyze):
        raise PlanError(f"pushed={pushed}: analyze=True pushes batches of at least one row")
    names = InputOptions(**options)
    source, assumes = _source(query, events, schema, names), events is None and schema is None
    if analyze and source.events is None:
        raise PlanError("analyze=True runs the query: give it events")
    bound(source, guard)
    with working(guard):
        known = compile_query(
            query, source,
            params=params, plan=recipes[0], limit=limit, output=output, assumes=assumes,
        )  # fmt: skip
        samples = samples and pushed is None
        choosing, statistics = measured(known, statistics_in(stats), guard, samples=samples)
        check_of(guard)(0)
        loaded = pushed is None and _are_loaded(known)
    explanations = []
    for recipe in map(read_recipe, recipes):
        by_recipe = replace(known, recipe=recipe)
        made = by_recipe.optimized(choosing, off, loaded=loaded)
        form = _form(by_recipe, made, statistics, output)
        if analyze:
            found = replace(analyzed(by_recipe, made, statistics, pushed, guard), form=form)
        else:
            notes = _notes(by_recipe, made, assumes=assumes)
            paths = _physical(by_recipe, made, form)
            found = described(
                query, recipe, made, statistics, notes=notes, form=form, physical=paths
            )
        explanations.append(replace(found, automata=explained_automata(known.bound)))
    return explanations


def _source(query: str, events: object, schema: Schema | None, names: InputOptions) -> Discovered:
    """What is known of events; without any, and without a schema, what the query asks for."""
    if events is not None:
        return Discovered.of(events, names, schema)
    if schema is None:
        return Discovered(_assumed_schema(query, names), names)
    return Discovered.of(schema, names)


def _are_loaded(known: CompiledQuery) -> bool:
    """Whether all events will be at hand at once."""
    from sase.engine.pipeline.batch import is_too_large

    events = known.source.events
    return events is not None and not is_too_large(known.unoptimized, events)


def _notes(known: CompiledQuery, made: Optimized, *, assumes: bool) -> list[str]:
    """What a run would warn of, columns that are text because of a few values among it."""
    from sase.engine.pipeline.batch import text_warnings
    from sase.engine.sources import Files

    notes, events = [each.sentence for each in known.bound.warnings], known.source.events
    if isinstance(events, Files):
        notes += text_warnings(known.plan(made).engine, events)
    return [*notes, ASSUMED] if assumes else notes


def _physical(
    known: CompiledQuery, made: Optimized, form: ExplainedForm
) -> tuple[PhysicalPath, ...]:
    """The physical plan of what lists matches, for events as they are read."""
    if form.output in SETS and not form.reasons:
        return ()
    from sase.engine.pipeline.batch import is_too_large

    plan = known.plan(made).engine
    return paths_of(plan, in_pieces=is_too_large(plan, known.source.events))


def _executed(
    paths: tuple[PhysicalPath, ...], uses: tuple[FusedUse, ...], pushed: int | None
) -> Iterator[PhysicalPath]:
    """The paths for events that came like this, with what each did in a run."""
    used = {use.path: use for use in uses}
    for path in paths:
        if path.name in used:
            yield replace(path, **used[path.name].measured)
        elif pushed is not None or path.feed is Feed.LOADED:
            yield path


def _form(
    known: CompiledQuery, made: Optimized, statistics: Statistics | None, output: str
) -> ExplainedForm:
    form = explained_form(output, known.basic, made.plan, statistics)
    if output == "count" and not form.reasons and not known.may_explode:
        return replace(form, reasons=(FEW_AGREE,))
    if output == "count" and form.reasons:
        return replace(form, histories=plan_of_histories(known)[1])
    return form


ASSUMED = "no events and no schema: every type is taken to have what the query names"


def _assumed_schema(query: str, roles: InputOptions) -> Schema:
    """One wide table with the attributes that a query names."""
    usual = (roles.earliest, roles.until, roles.type, roles.seq)
    names = attributes_read(bind_text(query, OPEN))
    schema = Schema(
        columns=tuple((name, UNKNOWN) for name in names if name not in usual),
        time=roles.earliest,
        until=roles.until,
        type=roles.type,
        seq=roles.seq,
        time_unit=roles.time_unit,
    )
    return with_longest(schema, roles.longest)


def analyzed(
    known: CompiledQuery,
    made: Optimized,
    statistics: Statistics | None,
    pushed: int | None,
    guard: RunGuard | None,
) -> Explanation:
    """The explanation of a plan that is run for it, with what each operator did."""
    from sase.engine.pipeline.analyze import COMPILED, counted
    from sase.engine.pipeline.analyze import analyzed as run
    from sase.engine.pipeline.batch import is_too_large, most_held

    plan, report, taken = known.plan(made).engine, None, 0
    events, most = known.source.events, most_held(guard)
    in_pieces = pushed is not None or is_too_large(plan, events, most)
    settings: dict[str, Any] = {
        "clock": clock.perf_counter_ns,
        "shown": 0,
        "pushed": pushed,
        "guard": guard,
        "held": most,
    }
    while report is None or COMPILED in report.notes:
        # What compiles says nothing of times, so it is run once more.
        begin = clock.perf_counter_ns()
        _, report = run(plan, events, **settings)
        taken = clock.perf_counter_ns() - begin
    operators = _measured(report, made.plan)
    paths = paths_of(counted(plan), in_pieces=in_pieces)
    return described(
        known.query,
        known.recipe,
        made,
        statistics,
        notes=(*report.warnings, *report.notes),
        measured=operators,
        results=operators["Transformation"].rows_out,
        nanoseconds=taken,
        physical=tuple(_executed(paths, report.fused, pushed)),
    )


# What goes into an operator and what comes out, of all that it counts; into the scan go all rows.
_FLOWS = {
    "MatchWindow": ("rows", "out"),
    "SequenceScan": ("rows", "pushed"),
    "SequenceConstruction": ("visited", "sequences"),
    "RunEvaluation": ("rows", "matches"),
}


def _measured(report: Report, plan: Operator) -> dict[str, Measured]:
    """The measurements of each operator by name, of each branch as of a plan by itself."""
    union, found = find(plan, Union), dict[str, Measured]()
    branches = () if union is None else union.branches
    for shared in () if union is None else shared_scans(union):
        first, *rest = shared.branches
        kinds = [type(operator).__name__ for operator in chain(shared.plan)]
        names = {kind: name_of(kind, first + 1) for kind in kinds}
        found |= _of_operators(report, shared.plan, names)
        for number in rest:
            name = name_of("Transformation", number + 1)
            found |= _of_operators(report, branches[number], {"Transformation": name})
    kinds = [type(operator).__name__ for operator in chain(plan)]
    return found | _of_operators(report, plan, {kind: kind for kind in kinds})


def _of_operators(report: Report, plan: Operator, names: Mapping[str, str]) -> dict[str, Measured]:
    """The measurements of operators by name; counters by level are by variable."""
    positives = [component.variable for component in reading(plan).components]
    negation = find(plan, Negation)
    negatives = [] if negation is None else [n.name for n in negation.elements]
    every, times, found = dict(report.counters), dict(report.timings), {}
    for kind, name in names.items():
        counters = every[name]
        if kind in ("MatchWindow", "SequenceScan", "RunEvaluation"):
            is_first = kind == "MatchWindow" or "MatchWindow" not in names
            counters = _with_rows(counters, report.rows if is_first else counters["events"])
        into, out = _FLOWS.get(kind, ("in", "out"))
        variables = negatives if kind == "Negation" else positives
        found[name] = Measured(
            _total(counters[into]),
            _total(counters[out]),
            times.get(name),
            counters.get("most_bytes"),
            tuple(
                (key, _by_variable(each, variables))
                for key, each in counters.items()
                if key not in (into, out, "most_bytes") or isinstance(each, list)
            ),
        )
    return found


def _with_rows(counters: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """The counters of what reads the events, with all rows that were read, and those admitted.

    What the runtime stack remembers are its cells.
    """
    rest = {key: each for key, each in counters.items() if key != "events"}
    pushed = {"pushed": rest.pop("cells")} if "cells" in rest and "pushed" not in rest else {}
    return {"rows": rows, "admitted": counters["events"], **pushed, **rest}


def _by_variable(count: Any, variables: Sequence[str]) -> Any:
    is_by_level = isinstance(count, list) and len(count) == len(variables)
    return dict(zip(variables, count, strict=True)) if is_by_level else count


def _total(count: Any) -> int:
    return sum(count) if isinstance(count, list) else int(count)


def check_off(off: Collection[str]) -> None:
    """Refuse to switch off what there is not."""
    from sase.nearest import did_you_mean
    from sase.planning.rewrites import REWRITES

    for name in off:
        if name not in REWRITES:
            hint = did_you_mean(name, REWRITES) or (f"there are {', '.join(REWRITES)}",)
            raise PlanError(f"there is no rewrite `{name}` to switch off; {hint[0]}")
