"""The statements of a script, each bound to its sources, with the plan that runs them."""

# long because: the steps of a statement from its text to its plan are read together.

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from warnings import warn

from sase.api.checks import bound, check_query
from sase.api.compiled_query import CompiledQuery, compile_query
from sase.api.execution import run
from sase.api.script_inputs import Sources, discovered, open_inputs
from sase.base.interface import option
from sase.binding import Schema
from sase.binding.input_options import InputOptions
from sase.binding.lateness import lateness_in
from sase.binding.script.script import NamedQuery, StatementGraph
from sase.binding.script.statements import ByStatement, fits_other_events, reason_of, without_source
from sase.binding.script.streams import NamedStream
from sase.cached_property import cached_property
from sase.engine.pipeline.limits import RunGuard, check_of, working
from sase.engine.sources.discovered import Discovered
from sase.errors import BindingError, BudgetError, StatementWarning
from sase.lang.parser import is_script
from sase.planning.plan.traversal import columns_named

if TYPE_CHECKING:
    from sase.engine.report import Report
    from sase.engine.results.matches import Matches
    from sase.engine.scripts.pipeline import ScriptPipeline
    from sase.engine.scripts.plan import ScriptPlan, StatementPlan
    from sase.engine.scripts.rows import InputRows
    from sase.planning.engine_plan import EnginePlan

# From this number of statements on, garbage is collected before the first run.
MANY = 50
Watch: TypeAlias = Callable[[int, Mapping[str, int]], None]


class _BoundScript(NamedTuple):
    """The query of each statement after those that it reads, the streams, and the inputs."""

    queries: dict[str, CompiledQuery]
    streams: dict[str | None, NamedStream]
    sources: Sources


class _CompiledStatement(NamedTuple):
    """A statement, the schema of its source, its query and its plan."""

    named: NamedQuery
    schema: Schema
    query: CompiledQuery
    plan: EnginePlan


@dataclass(frozen=True, eq=False)
class CompiledScript:
    """The statements of a script, bound to its inputs."""

    graph: StatementGraph
    sources: Sources
    params: Mapping[str, object] | None
    recipe: str
    lateness: object = None
    # The greatest number of matches of the only result, and their form.
    limit: int | None = None
    output: str = "all"
    # Whether the attributes of events are columns of results, as in CSV.
    flat: bool = False
    # Statements that were compiled for the script from which this one was made.
    compiled: Mapping[str, _CompiledStatement] = field(default_factory=dict)
    # Statements that do not run, because the events lack something that they name.
    set_aside: Mapping[str, BindingError] = field(default_factory=dict)
    binding: _BoundScript | None = field(default=None, repr=False)

    def settled(self, *, strict: bool = False) -> CompiledScript:
        """Set aside statements that name something that the events lack; if `strict`, raise.

        An error is also raised if the text is invalid for any events, or if no statement remains.
        """
        aside: dict[str, BindingError] = {}
        binding = self._bind(None if strict or self.graph.is_lone else aside)
        graph = self.graph.without(aside)
        if not graph.statements:
            found = {each for problem in aside.values() for each in problem.diagnostics}
            raise BindingError(sorted(found, key=lambda each: each.span))
        return replace(self, graph=graph, set_aside=aside, binding=binding)

    @property
    def reasons(self) -> dict[str, str]:
        """The reasons why statements are set aside, by the names of the statements."""
        return {name: reason_of(problem) for name, problem in self.set_aside.items()}

    def warn(self, stacklevel: int) -> None:
        """Warn of the statements that are set aside."""
        if self.set_aside:
            told = (f"{name} is set aside: {reason}" for name, reason in self.reasons.items())
            warn(StatementWarning("\n".join(told)), stacklevel=stacklevel)

    def chosen(self, name: str | None, of_all: str = "") -> NamedQuery:
        """The statement of this name, or the only result; an error if it is set aside."""
        aside = self.set_aside
        problem = next(iter(aside.values()), None) if name is None else aside.get(name)
        if problem is not None:
            raise problem
        return self.graph.chosen(name, of_all)

    @property
    def result(self) -> str:
        """The name of the only result."""
        return self.graph.result.name

    @cached_property
    def lone(self) -> CompiledQuery | None:
        """The query of the only statement if it reads one input; it runs without a script."""
        if not self.graph.is_lone or self.set_aside:
            return None
        (statement,) = self.graph.statements
        late = self._lateness(*statement.sources)
        return replace(self.bound.queries[statement.name], lateness=late)

    def with_text(self, text: str) -> CompiledScript:
        """Another script over the same inputs; statements in both scripts are compiled once."""
        plans = {each.name: each.plan for each in self.plan.statements}
        compiled = {
            each.name: _CompiledStatement(
                each,
                self.graph.schema_read(each, self.bound.streams),
                self.bound.queries[each.name],
                plans[each.name],
            )
            for each in self.graph.statements
        }
        graph = StatementGraph.of(text, self.sources)
        sources = self.bound.sources
        return replace(self, graph=graph, sources=sources, compiled=compiled, binding=None)

    @cached_property
    def bound(self) -> _BoundScript:
        """The statements bound to their sources; all statements infer the types in files."""
        return self._bind(None) if self.binding is None else self.binding

    def _bind(self, aside: dict[str, BindingError] | None) -> _BoundScript:
        """Bind the statements; if `aside` is given, collect those that these events do not fit."""
        found: dict[str, CompiledQuery] = {}
        sources = {**self.sources, **{name: each.source for name, each in self._typing.items()}}
        streams = {name: NamedStream(name, each.schema) for name, each in sources.items()}
        for query in self.graph.order:
            lacking = self.graph.lacking.get(query.name)
            if lacking is not None:
                if aside is None:
                    raise lacking
                aside[query.name] = lacking
                continue
            missing = [name for name in query.sources if name in (aside or {})]
            if aside is not None and missing:
                aside[query.name] = without_source(query, missing[0], self.graph)
                continue
            try:
                found[query.name] = self._known(query, sources, streams)
            except BindingError as problem:
                if aside is None or not fits_other_events(query, self.graph, streams, self.params):
                    raise
                aside[query.name] = problem
                continue
            if query.is_stream:
                bound = found[query.name].bound
                streams[query.name] = self.graph.stream_of(query, bound, streams)
        return _BoundScript(found, streams, sources)

    def _known(
        self,
        query: NamedQuery,
        sources: dict[str | None, Discovered],
        streams: dict[str | None, NamedStream],
    ) -> CompiledQuery:
        """A statement bound to its sources; binding may infer types of the sources."""
        before = self._before(query, streams)
        if before is not None:
            return before.query
        known = self._query(query, sources, streams)
        if self._infer(known, query, sources, streams):
            known = self._query(query, sources, streams)
        return known

    def _before(
        self, query: NamedQuery, streams: Mapping[str | None, NamedStream]
    ) -> _CompiledStatement | None:
        """The same statement over the same streams, if it is compiled already."""
        before = self.compiled.get(query.name)
        if before is None or before.named.written != query.written:
            return None
        is_same = before.named.sources == query.sources
        is_same = is_same and before.schema == self.graph.schema_read(query, streams)
        return before if is_same else None

    def _query(
        self,
        query: NamedQuery,
        sources: Sources,
        streams: Mapping[str | None, NamedStream],
    ) -> CompiledQuery:
        schema = self.graph.schema_read(query, streams)
        given = [sources[name] for name in query.sources if name in sources]
        if given and len(query.sources) == 1:
            source = given[0]
        else:
            policies = {each.names.on_bad_row for each in given} or {"error"}
            source = Discovered(schema, InputOptions(on_bad_row=max(policies)))
        try:
            known = compile_query(
                query.text, source, params=self.params, plan=self.recipe, **self._form_of(query)
            )
        except BindingError as problem:
            raise self.graph.in_script(problem) from None
        return replace(known, query=query.written)

    def _form_of(self, query: NamedQuery) -> dict[str, Any]:
        """The form of a statement's results; a limit and an output apply to the only result."""
        is_asked = self.limit is not None or self.output == "non_overlap"
        if not is_asked or query.name != self.graph.result.name:
            return {"flat": self.flat}
        return {"flat": self.flat, "limit": self.limit, "output": self.output}

    def _infer(
        self,
        compiled: CompiledQuery,
        query: NamedQuery,
        sources: dict[str | None, Discovered],
        streams: dict[str | None, NamedStream],
    ) -> bool:
        """Infer the types in files of the columns that a query names; return whether any changed.

        A query over one input inferred them when it was compiled.
        """
        changed = False
        for name in query.sources:
            if name not in sources:
                continue
            before = sources[name]
            if len(query.sources) == 1:
                after = compiled.source
            else:
                named = columns_named(before.schema, compiled.bound)
                columns = before.files.schema.names if before.files is not None else ()
                after = before.with_inferred_types(named.intersection(columns))
                changed |= after.schema != before.schema
            sources[name], streams[name] = after, NamedStream(name, after.schema)
        return changed

    @cached_property
    def plan(self) -> ScriptPlan:
        """The plan of the script for the engine."""
        from sase.engine.scripts.plan import InputPlan, ScriptPlan

        inputs = tuple(
            InputPlan(
                name,
                each.schema,
                self._lateness(name),
                each.names.on_bad_row,
                self._plan_of_types(name),
            )
            for name, each in self.bound.sources.items()
        )
        statements = tuple(map(self._statement, self.graph.order))
        if len(statements) >= MANY:
            # Without this, Python collects garbage during one of the first runs, and scans all
            # these objects. That takes as long as fifty runs of them over millions of events.
            gc.collect()
        return ScriptPlan(inputs, statements)

    @cached_property
    def _typing(self) -> Mapping[str | None, CompiledQuery]:
        """The queries for all events of the inputs in which conditions define the types.

        They give the events their types before these are merged with other streams.
        """
        return {
            name: compile_query("EVENT ANY e", source, params=self.params, plan="basic")
            for name, source in self.sources.items()
            if source.schema.definitions
        }

    def _plan_of_types(self, name: str | None) -> EnginePlan | None:
        known = self._typing.get(name)
        return None if known is None else known.plan(known.optimized()).engine

    def _statement(self, statement: NamedQuery) -> StatementPlan:
        from sase.engine.scripts.plan import CompositeType, StatementPlan, one_of_many

        known, composite = self.bound.queries[statement.name], None
        streams = tuple(self.bound.streams[name] for name in statement.sources)
        if statement.is_stream and self.graph.readers(statement.name):
            name = known.bound.type_name or statement.name
            composite = CompositeType(name, self.bound.streams[statement.name].schema.time)
        before = self.compiled.get(statement.name)
        if before is not None and before.query is known:
            plan = before.plan
        else:
            plan = one_of_many(known.plan(known.optimized()).engine)
        typing = {name: self._plan_of_types(name) for name in statement.sources}
        typed = tuple((name, each) for name, each in typing.items() if each is not None)
        return StatementPlan(statement.name, plan, streams, composite, typed)

    def _lateness(self, name: str | None) -> int | None:
        given = self.lateness
        if isinstance(given, Mapping):
            given = given.get(name)
        source = self.bound.sources[name]
        return None if given is None else lateness_in(given, source.schema, source.unit_hint)

    def results(
        self, events: Sources, guard: RunGuard | None, most: int | None, threads: int | None
    ) -> dict[str, Matches]:
        """The matches of every statement; a lone statement is a query, searched on first use."""
        if (lone := self.lone) is None:
            return self.found(events, guard, most, threads=threads)
        (statement,) = self.graph.statements
        own = events[statement.sources[0]]
        own.fit_types(self.columns_read(statement.sources[0])[0])
        matches = run(replace(lone, source=own), guard=guard, max_matches=most, threads=threads)
        return ByStatement([(statement.name, matches)], {})

    def found(
        self,
        events: Sources,
        guard: RunGuard | None = None,
        most: int | None = None,
        watch: Watch | None = None,
        put_aside: Callable[[Mapping[str | None, Any]], object] | None = None,
        *,
        threads: int | None = None,
    ) -> dict[str, Matches]:
        """The matches of every statement in complete events; more than `most` is an error.

        Exceeding a limit of the guard is an error, too. `put_aside` receives bad rows by input. The
        statements are dealt to `threads`, or to as many as pay.
        """
        from sase.engine.results.matches import Matches
        from sase.engine.scripts.pipeline import ScriptPipeline

        read, settings = self._read(events)
        settings["threads"] = threads or self._threads_that_pay(events)
        pipeline = ScriptPipeline(self.plan, check=check_of(guard), **settings)
        parts: dict[str, list[Any]] = {each.name: [] for each in self.graph.statements}
        aside: dict[str, list[Any]] = {name: [] for name in parts}

        def keep(found: Mapping[str, Matches]) -> None:
            for name, matches in found.items():
                some = [part for part in parts[name] if len(part)]
                more = [part for part in matches.parts if len(part) or not some]
                parts[name] = some + more
                if self.bound.queries[name].on_bad_row == "quarantine" and matches.report.bad:
                    aside[name].append(matches.report.quarantined)
                if most is not None and sum(map(len, parts[name])) > most:
                    raise BudgetError(
                        f"`{name}` has more than {most:,} match{'es' if most > 1 else ''}, which is"
                        " max_matches: narrow it, set LIMIT, or allow more with "
                        f" {option('max_matches')}"
                    )
            if watch is not None:
                watch(pipeline.arrived, {name: sum(map(len, some)) for name, some in parts.items()})

        with working(guard):
            for each in pipeline.search(read):
                keep(each)
        told = self._text_warnings(events)

        def report(name: str) -> Report:
            own = pipeline.whole_report(name, aside[name])
            return replace(own, warnings=(*told[name], *own.warnings))

        found = ((name, Matches.of(some, report(name))) for name, some in parts.items())
        results = ByStatement(found, self.reasons)
        if put_aside is not None:
            put_aside(pipeline.take_bad())
        return results

    def _text_warnings(self, events: Sources) -> dict[str, tuple[str, ...]]:
        """Warnings about columns that statements compare as text and that are nearly numbers."""
        from sase.engine.pipeline.batch import compared_columns
        from sase.engine.sources import Files
        from sase.engine.sources.open import nearly_numbers

        files = {n: each.events for n, each in events.items() if isinstance(each.events, Files)}

        @cache  # hundreds of statements may compare a column
        def told(name: str | None, column: str) -> tuple[str, ...]:
            return nearly_numbers(files[name], {column})

        found: dict[str, tuple[str, ...]] = {}
        for each in self.plan.statements:
            read = [name for name in each.sources if name in files]
            columns = sorted(compared_columns(each.plan)) if read else []
            texts = (text for name in read for column in columns for text in told(name, column))
            found[each.name] = tuple(dict.fromkeys(texts))
        return found

    def compared_columns(self, name: str | None) -> set[str]:
        """The columns of an input that statements compare."""
        from sase.engine.pipeline.batch import compared_columns

        return set[str]().union(*(compared_columns(e.unoptimized) for e in self._readers(name)))

    def _readers(self, name: str | None) -> list[CompiledQuery]:
        return [self.bound.queries[each.name] for each in self.graph.readers(name)]

    def alone(
        self,
        events: Sources,
        guard: RunGuard | None = None,
        watch: Callable[[ScriptPipeline], object] | None = None,
    ) -> dict[str, Discovered]:
        """The events that each statement reads, so that it can run as a query.

        The script runs over the events for that, and its pipeline is passed to `watch`. A lone
        statement needs no run.
        """
        if self.lone is not None:
            (lone,) = self.graph.statements
            return {lone.name: events[lone.sources[0]]}
        from sase.engine.scripts.pipeline import ScriptPipeline

        read, settings = self._read(events)
        pipeline = ScriptPipeline(self.plan, check=check_of(guard), **settings)
        search = pipeline.search(read)
        for running in pipeline.statements.values():
            running.taken = []
        with working(guard):
            for _ in search:
                pass
        if watch is not None:
            watch(pipeline)
        found = dict[str, Discovered]()
        for query in self.graph.statements:
            running, source = pipeline.statements[query.name], self.bound.queries[query.name].source
            is_input = len(query.sources) == 1 and query.sources[0] in self.sources
            found[query.name] = (
                events[query.sources[0]] if is_input else replace(source, events=running.read())
            )
        return found

    def _read(self, events: Sources) -> tuple[dict[str | None, InputRows], dict[str, Any]]:
        """The rows of complete inputs, and how a pipeline reads them, as keywords."""
        read = {name: self._rows(name, events[name]) for name in self.graph.inputs}
        in_pieces = [name for name, each in read.items() if each.come_in_pieces]
        whole = [name for name in self.sources if name not in in_pieces]
        return read, {"streaming": bool(in_pieces), "whole": whole}

    def _threads_that_pay(self, events: Sources) -> int:
        from sase.engine.pipeline.threads import threads_that_pay

        return threads_that_pay(sum(events[name].rows or 0 for name in self.graph.inputs))

    def columns_read(self, name: str | None) -> tuple[frozenset[str], bool]:
        """The columns of an input that statements name, and whether results show all columns."""
        plans = [each.reading for each in self._readers(name)]
        schema = self.bound.sources[name].schema
        named = frozenset(schema.roles).union(*(plan.named for plan in plans))
        if name in self._typing:
            named |= columns_named(schema, self._typing[name].bound)
        return named, any(plan.scan.columns is None for plan in plans)

    def _rows(self, name: str | None, given: Discovered) -> InputRows:
        """The rows of an input with the columns that the statements read."""
        from sase.engine.scripts.rows import InputRows

        assert given.events is not None, "a schema has no events"
        named, shows_all = self.columns_read(name)
        given.fit_types(named)
        return InputRows(
            self.bound.sources[name].schema,
            given.events,
            named,
            shows_all,
            given.names.on_bad_row,
        )


def script_of(
    text: str,
    unnamed: object,
    streams: Mapping[str, object] | None,
    params: Mapping[str, object] | None,
    recipe: str,
    options: Mapping[str, Any],
    guard: RunGuard | None = None,
    *,
    strict: bool = False,
    **form: Any,
) -> tuple[CompiledScript, Sources | None]:
    """A script for inputs, and its events; without inputs, a script of its text alone.

    The `form` has the limit and the output of the only result.
    """
    if unnamed is None and streams is None:
        check_query(text)
        graph = StatementGraph.of(text)
        sources: Sources = open_inputs(options, graph.inputs)
        return CompiledScript(graph, sources, params, recipe), None
    sources = discovered(options, unnamed, streams)
    check_query(text)
    for each in sources.values():
        bound(each, guard)
    # Messages call the text a query if it is one.
    graph = StatementGraph.of(text, sources, name="script" if is_script(text) else "query")
    script = CompiledScript(graph, sources, params, recipe, **form).settled(strict=strict)
    read = [sources[name].events for name in script.graph.inputs]
    return script, None if any(each is None for each in read) else sources
