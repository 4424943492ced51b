"""Explain a query: its plan, its estimates, and the measurements of a run."""

from __future__ import annotations

import time as clock
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

from sase.api.checks import bound, check_output, check_query, guard_of, limits_of
from sase.api.compiled_query import CompiledQuery, compile_query, statistics_in
from sase.api.compiled_script import CompiledScript, script_of
from sase.api.execution import measured
from sase.api.plan import DEFAULT_PLAN
from sase.api.set_results import ways_of
from sase.binding import OPEN, Schema, bind_text
from sase.binding.input_options import InputKeywords, InputOptions, takes_input_options
from sase.binding.lateness import with_longest
from sase.binding.script.script import NamedQuery
from sase.binding.types import UNKNOWN
from sase.engine.pipeline.limits import RunGuard, check_of, working
from sase.engine.sources.discovered import Discovered
from sase.errors import PlanError
from sase.lang.parser import is_script
from sase.planning.branches import PlacedOperator
from sase.planning.explain import Explanation, described
from sase.planning.explain.automaton import explained_automata
from sase.planning.explain.complexity import explained_complexity
from sase.planning.explain.driven import PhysicalPath, paths_of
from sase.planning.explain.forms import SETS, analyze_lists, explained_form
from sase.planning.explain.value import ExplainedForm, Measured
from sase.planning.optimizer import Optimized
from sase.planning.physical.drive import Feed
from sase.planning.plan.match_windows import MatchWindow
from sase.planning.plan.nodes import Negation, RunEvaluation, SequenceScan, reading
from sase.planning.plan.traversal import attributes_read
from sase.planning.recipes import read_recipe
from sase.planning.statistics import Statistics

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
    """Return the plan of a query: print it with `str`, or get it as JSON, a graph or a page.

    With `events`, the plan is that of a run over them. It is chosen by `stats`, or by the same
    sample as that of the run. Estimates are from this sample, or from a sample of the explanation
    itself if the run takes none. With `analyze`, the query runs, and the measurements are added.
    With `pushed`, the run pushes batches of this many rows to a matcher. Without events, `schema`
    describes the attributes; without both, every type is assumed to have the attributes that the
    query names.

    `output` is the form of the result, as for `match`; for a form without a list, the explanation
    adds the cost of a list. `off` are rewrites to switch off. `timeout` and `max_memory` limit the
    reading and the run of `analyze`, as for `match`. For a script, the plan is that of the
    `statement` of this name, or else of the only result, over the events that it reads; `streams`
    are the events or the schemas of inputs with names.

    Examples:
        >>> explanation = sase.explain("EVENT SEQ(A a, B b) WHERE [id] WITHIN 10")
        >>> [operator.name for operator in explanation.operators]
        ['SequenceScan', 'SequenceConstruction', 'Transformation']
    """
    given: dict[str, Any] = {
        "analyze": analyze, "pushed": pushed, "output": output, "limit": limit, "stats": stats,
        "off": off, "timeout": timeout, "max_memory": max_memory,
    }  # fmt: skip
    check_query(query)
    if statement is not None or streams is not None or is_script(query):
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
    """The explanation of a statement of a script, over its own events or for their schema."""
    schema: Any = None if own is not None else script.bound.queries[query.name].source
    kept = {"schema": schema, "params": script.params, "samples": script.lone is not None}
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
    """The explanation for each recipe; `samples` is off for a run that takes no sample."""
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
    source = explained_source(query, events, schema, InputOptions(**options))
    if analyze and source.events is None:
        raise PlanError("analyze=True runs the query: give it events")
    form: dict[str, Any] = {"params": params, "limit": limit, "output": output}
    form["assumes"] = events is None and schema is None
    found = plans_by(recipes, query, source, stats, guard, pushed, off, samples=samples, **form)
    return [each.analyzed(guard) if analyze else each.explained() for each in found]


def plans_by(
    recipes: Sequence[str],
    query: str,
    source: Discovered,
    stats: object,
    guard: RunGuard | None = None,
    pushed: int | None = None,
    off: Collection[str] = (),
    *,
    output: str = "all",
    samples: bool = True,
    **form: Any,
) -> Iterator[PlanByRecipe]:
    """The plan of each recipe, to be explained or run; a query is bound once."""
    bound(source, guard)
    with working(guard):
        known = compile_query(query, source, plan=recipes[0], output=output, **form)
        samples = samples and pushed is None
        choosing, statistics = measured(known, statistics_in(stats), guard, samples=samples)
        check_of(guard)(0)
        loaded = pushed is None and _are_loaded(known)
    assumes = bool(form.get("assumes"))
    for recipe in map(read_recipe, recipes):
        by_recipe = replace(known, recipe=recipe)
        made = by_recipe.optimized(choosing, off, loaded=loaded)
        ways = ways_of(by_recipe, is_number=output == "count")
        explained = explained_form(output, ways, made.plan, statistics)
        yield PlanByRecipe(by_recipe, made, statistics, pushed, explained, assumes)


@dataclass(frozen=True, eq=False)
class PlanByRecipe:
    """The plan of a query by a recipe, and the statistics for estimates."""

    query: CompiledQuery
    made: Optimized
    statistics: Statistics | None
    pushed: int | None
    form: ExplainedForm
    assumes: bool

    def explained(self) -> Explanation:
        """The explanation without a run."""
        notes = _notes(self.query, self.made, assumes=self.assumes)
        paths = _physical(self.query, self.made, self.form)
        found = described(
            self.query.query, self.query.recipe, self.made, self.statistics,
            notes=notes, form=self.form, physical=paths,
        )  # fmt: skip
        return self._with_query(found)

    def analyzed(self, guard: RunGuard | None) -> Explanation:
        """The explanation with the measurements of a run."""
        found = analyzed(self.query, self.made, self.statistics, self.pushed, guard)
        return self._with_query(replace(found, form=self.form))

    def _with_query(self, found: Explanation) -> Explanation:
        query = self.query.bound
        complexity = explained_complexity(query, self.statistics)
        return replace(found, automata=explained_automata(query), complexity=complexity)


def explained_source(
    query: str, events: object, schema: Schema | None, names: InputOptions
) -> Discovered:
    """The discovered events or schema; without both, a schema of the names in the query."""
    if events is not None:
        return Discovered.of(events, names, schema)
    if schema is None:
        return Discovered(_assumed_schema(query, names), names)
    return Discovered.of(schema, names)


def _are_loaded(compiled: CompiledQuery) -> bool:
    """Whether all events will be in memory at once."""
    from sase.engine.pipeline.batch import is_too_large

    events = compiled.source.events
    return events is not None and not is_too_large(compiled.unoptimized, events)


def _notes(compiled: CompiledQuery, made: Optimized, *, assumes: bool) -> list[str]:
    """The warnings of a run, also on columns that are text because of a few values."""
    from sase.engine.pipeline.batch import text_warnings
    from sase.engine.sources import Files

    notes, events = [each.sentence for each in compiled.bound.warnings], compiled.source.events
    if isinstance(events, Files):
        notes += text_warnings(compiled.plan(made).engine, events)
    return [*notes, ASSUMED] if assumes else notes


def _physical(
    compiled: CompiledQuery, made: Optimized, form: ExplainedForm
) -> tuple[PhysicalPath, ...]:
    """The drives that list matches, for the events as they are read."""
    if form.output in SETS and not form.reasons:
        return ()
    from sase.engine.pipeline.batch import is_too_large

    plan = compiled.plan(made).engine
    return paths_of(plan, in_pieces=is_too_large(plan, compiled.source.events))


def _executed(
    paths: tuple[PhysicalPath, ...], uses: tuple[FusedUse, ...], pushed: int | None
) -> Iterator[PhysicalPath]:
    """The drives for the feed of a run, each with its measurements."""
    used = {use.path: use for use in uses}
    for path in paths:
        if path.name in used:
            yield replace(path, **used[path.name].measured)
        elif pushed is not None or path.feed is Feed.LOADED:
            yield path


ASSUMED = (
    "no events and no schema, so every type is assumed to have all attributes that the query names"
)


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


# Of pushed rows.
LATE = "came late, behind rows of a later time, and are in no match"


def analyzed(
    compiled: CompiledQuery,
    made: Optimized,
    statistics: Statistics | None,
    pushed: int | None,
    guard: RunGuard | None,
) -> Explanation:
    """Run a plan and explain it with the measurements of each operator."""
    from sase.engine.pipeline.analyze import COMPILED, counted
    from sase.engine.pipeline.analyze import analyzed as run
    from sase.engine.pipeline.batch import is_too_large, most_held

    plan, report, taken = compiled.plan(made).engine, None, 0
    events, most = compiled.source.events, most_held(guard)
    in_pieces = pushed is not None or is_too_large(plan, events, most)
    settings: dict[str, Any] = {
        "clock": clock.perf_counter_ns,
        "shown": 0,
        "pushed": pushed,
        "guard": guard,
        "held": most,
    }
    while report is None or COMPILED in report.notes:
        # The times of a run that compiled kernels mean nothing, so it is repeated.
        begin = clock.perf_counter_ns()
        _, report = run(plan, events, **settings)
        taken = clock.perf_counter_ns() - begin
    operators = tuple(_measured(report, plan.placed))
    late = [f"of {report.rows:,} rows {report.late:,} {LATE}"] if report.late else []
    paths = paths_of(counted(plan), in_pieces=in_pieces)
    return described(
        compiled.query,
        compiled.recipe,
        made,
        statistics,
        notes=(*report.warnings, *report.notes, *late),
        measured=operators,
        results=operators[-1].rows_out,
        nanoseconds=taken,
        physical=tuple(_executed(paths, report.fused, pushed)),
    )


# The counters of the rows into an operator and out of it; the first one that exists counts.
_INTO, _OUT = ("rows", "visited", "in"), ("pushed", "sequences", "matches", "out")


def _measured(report: Report, operators: Iterable[PlacedOperator]) -> Iterator[Measured]:
    """The measurements of each operator, by its number."""
    _, *times = report.timings
    counted = zip(operators, report.counters, times, strict=True)
    for placed, (_, counters), (_, spent) in counted:
        yield _measured_by(placed, counters, report.rows, spent)


def _measured_by(
    placed: PlacedOperator, counters: dict[str, Any], rows: int, spent: int
) -> Measured:
    """The measurements of an operator; counters by level become counters by variable."""
    operator = placed.operator
    if isinstance(operator, MatchWindow | SequenceScan | RunEvaluation):
        is_first = isinstance(operator, MatchWindow) or operator.input is None
        counters = _with_rows(counters, rows if is_first else counters["events"])
    variables = [component.variable for component in reading(placed.plan).components]
    if isinstance(operator, Negation):
        variables = [negative.name for negative in operator.elements]
    into, out = (next(key for key in keys if key in counters) for keys in (_INTO, _OUT))
    return Measured(
        _total(counters[into]),
        _total(counters[out]),
        spent,
        counters.get("most_bytes"),
        tuple(
            (key, _by_variable(each, variables))
            for key, each in counters.items()
            if key not in (into, out, "most_bytes") or isinstance(each, list)
        ),
    )


def _with_rows(counters: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """The counters of an operator that reads events, with all rows read and those admitted.

    The cells of the runtime stack are its pushed rows.
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
    """Refuse to switch off a rewrite that does not exist."""
    from sase.base.texts import did_you_mean
    from sase.planning.rewrites import REWRITES

    for name in off:
        if name not in REWRITES:
            hint = did_you_mean(name, REWRITES) or (f"there are {', '.join(REWRITES)}",)
            raise PlanError(f"there is no rewrite `{name}` to switch off; {hint[0]}")
