"""The statements of a script, each bound to what it reads, with the plan that runs them."""

# long because: the way of a statement from its text to its plan is read as one.

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from warnings import warn

from sase.api.checks import check_query
from sase.api.compiled_query import CompiledQuery, compile_query
from sase.api.limits import bound
from sase.api.script_inputs import Sources, discovered, open_inputs
from sase.binding import Schema
from sase.binding.input_options import InputOptions
from sase.binding.lateness import lateness_in
from sase.binding.script import NamedQuery, StatementGraph
from sase.binding.set_aside import ByStatement, fits_other_events, reason_of, without_source
from sase.binding.streams import NamedStream
from sase.cached_property import cached_property
from sase.engine.pipeline.limits import RunGuard, check_of, working
from sase.engine.sources.discovered import Discovered
from sase.errors import BindingError, BudgetError, StatementWarning
from sase.lang.parser import is_script
from sase.planning.traversal import attributes_read

if TYPE_CHECKING:
    from sase.engine.report import Report
    from sase.engine.results.matches import Matches
    from sase.engine.scripts.input_rows import InputRows
    from sase.engine.scripts.pipeline import Found, ScriptPipeline
    from sase.engine.scripts.plan import ScriptPlan, StatementPlan
    from sase.planning.plan import EnginePlan

# So many statements are worth a collection of garbage of their own.
MANY = 50
Watch: TypeAlias = Callable[[int, Mapping[str, int]], None]


class _BoundScript(NamedTuple):
    """The query of each statement behind those that it reads, what these read, and the inputs."""

    queries: dict[str, CompiledQuery]
    streams: dict[str | None, NamedStream]
    sources: Sources


class _CompiledStatement(NamedTuple):
    """A statement, the schema of what it reads, its query and its plan."""

    named: NamedQuery
    schema: Schema
    query: CompiledQuery
    plan: EnginePlan


@dataclass(frozen=True, eq=False)
class CompiledScript:
    """The statements of a script, and the inputs that they are bound to."""

    graph: StatementGraph
    sources: Sources
    params: Mapping[str, object] | None
    recipe: str
    lateness: object = None
    # Of the only result: how many of its matches are wanted, and in which form.
    limit: int | None = None
    output: str = "all"
    # Whether the attributes of events are columns of results, as in CSV.
    flat: bool = False
    # Statements of the script that this one was made of, which are compiled already.
    compiled: Mapping[str, _CompiledStatement] = field(default_factory=dict)
    # Statements that do not run, as the events do not have what they name.
    set_aside: Mapping[str, BindingError] = field(default_factory=dict)
    binding: _BoundScript | None = field(default=None, repr=False)

    def settled(self, *, strict: bool = False) -> CompiledScript:
        """Set aside what names something that the events lack; an error if it is `strict`.

        That is an error, too, where the text is wrong for any events, or no statement is left.
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
        """Why statements are set aside, by their names."""
        return {name: reason_of(problem) for name, problem in self.set_aside.items()}

    def warn(self, stacklevel: int) -> None:
        """Warn of the statements that are set aside."""
        if self.set_aside:
            told = (f"{name} is set aside: {reason}" for name, reason in self.reasons.items())
            warn(StatementWarning("\n".join(told)), stacklevel=stacklevel)

    def chosen(self, name: str | None, of_all: str = "") -> NamedQuery:
        """The statement of a name, or without one the only result; not one that is set aside."""
        aside = self.set_aside
        problem = next(iter(aside.values()), None) if name is None else aside.get(name)
        if problem is not None:
            raise problem
        return self.graph.chosen(name, of_all)

    @cached_property
    def lone(self) -> CompiledQuery | None:
        """The query of the only statement, if it reads one input: it runs by itself."""
        if not self.graph.is_lone or self.set_aside:
            return None
        (statement,) = self.graph.statements
        samples = statement.sources == (None,) and not is_script(self.graph.source.text)
        late = self._lateness(*statement.sources)
        return replace(self.bound.queries[statement.name], lateness=late, samples=samples)

    def with_text(self, text: str) -> CompiledScript:
        """Another script over the same inputs; statements that are in both are compiled once."""
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
        """The statements bound to what they read; what files hold is inferred by all of them."""
        return self._bind(None) if self.binding is None else self.binding

    def _bind(self, aside: dict[str, BindingError] | None) -> _BoundScript:
        """Bind the statements; put those `aside` that these events do not fit, if that is asked."""
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
        """A statement bound to what it reads, of which types may be inferred by that."""
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
        """What is asked of all statements, and of the only result."""
        is_asked = self.limit is not None or self.output != "all"
        if not is_asked or query.name != self.graph.result.name:
            return {"flat": self.flat}
        return {"flat": self.flat, "limit": self.limit, "output": self.output}

    def _infer(
        self,
        known: CompiledQuery,
        query: NamedQuery,
        sources: dict[str | None, Discovered],
        streams: dict[str | None, NamedStream],
    ) -> bool:
        """Infer the types of what a query names in files; whether some are others than they seemed.

        A query over one input has done so when it was compiled.
        """
        changed = False
        for name in query.sources:
            if name not in sources:
                continue
            before = sources[name]
            if len(query.sources) == 1:
                after = known.source
            else:
                named = {*before.schema.roles, *attributes_read(known.bound)}
                columns = before.files.schema.names if before.files is not None else ()
                after = before.with_inferred_types(frozenset(named.intersection(columns)))
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
            # Else Python looks for garbage among all that they are made of amid one of the first
            # runs, which takes as long as to run fifty of them over millions of events.
            gc.collect()
        return ScriptPlan(inputs, statements)

    @cached_property
    def _typing(self) -> Mapping[str | None, CompiledQuery]:
        """The queries for all events of inputs whose types conditions define.

        By these they are typed before they are one stream with others.
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

    def found(
        self,
        events: Sources,
        guard: RunGuard | None = None,
        most: int | None = None,
        watch: Watch | None = None,
        put_aside: Callable[[Mapping[str | None, Any]], object] | None = None,
    ) -> dict[str, Matches]:
        """The matches of every statement in events that are all there is, at most so many of each.

        What exceeds the limits of a guard is an error. Bad rows, by input, are `put_aside`.
        """
        from sase.engine.results.matches import Matches

        pipeline, search = self._search(events, guard)
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
                        " max_matches: narrow it, set LIMIT, or give a greater max_matches"
                        " (--max-matches)"
                    )
            if watch is not None:
                rows = sum(each.buffer.arrived for each in pipeline.inputs.values())
                watch(rows, {name: sum(map(len, some)) for name, some in parts.items()})

        with working(guard):
            for each in search:
                keep(each)
            keep(pipeline.finish())
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
        """What to tell of columns that statements compare as text, and that are nearly numbers."""
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
        """The columns that statements compare of an input."""
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
        """What each statement reads of events that are all there is, to be run by itself.

        The pipeline that finds it out is shown to who may `watch`.
        """
        pipeline, search = self._search(events, guard)
        for running in pipeline.statements.values():
            running.taken = []
        with working(guard):
            for _ in search:
                pass
            pipeline.finish()
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

    def _search(
        self, events: Sources, guard: RunGuard | None
    ) -> tuple[ScriptPipeline, Iterator[Found]]:
        """What runs the statements over events that are all there is, and what is found of them."""
        from sase.engine.scripts.pipeline import ScriptPipeline

        read = {name: self._rows(name, events[name]) for name in self.graph.inputs}
        in_pieces = [name for name, each in read.items() if each.come_in_pieces]
        whole = [name for name in self.sources if name not in in_pieces]
        pipeline = ScriptPipeline(
            self.plan, streaming=bool(in_pieces), whole=whole, check=check_of(guard)
        )
        return pipeline, pipeline.search(read)

    def columns_read(self, name: str | None) -> tuple[frozenset[str], bool]:
        """The columns of an input that statements name, and whether results show all."""
        plans = [each.reading for each in self._readers(name)]
        schema = self.bound.sources[name].schema
        named = frozenset(schema.roles).union(*(plan.attributes for plan in plans))
        if name in self._typing:
            named = named.union(attributes_read(self._typing[name].bound))
        return named, any(plan.scan.columns is None for plan in plans)

    def _rows(self, name: str | None, given: Discovered) -> InputRows:
        """What the statements read of an input."""
        from sase.engine.scripts.input_rows import InputRows

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


def names_statements(text: object) -> bool:
    """Whether a text is a script: several statements, or one that names streams."""
    return isinstance(text, str) and is_script(text)


def graph_of(text: str, sources: Sources) -> StatementGraph:
    """The statements of a text, which messages call a query where it is one."""
    return StatementGraph.of(text, sources, name="script" if is_script(text) else "query")


def script_of(
    text: str,
    unnamed: object,
    streams: Mapping[str, object] | None,
    params: Mapping[str, object] | None,
    recipe: str,
    options: Mapping[str, Any],
    guard: RunGuard | None = None,
) -> tuple[CompiledScript, Sources | None]:
    """A script for inputs, events or schemas, and its events; it may know no more than its text."""
    check_query(text)
    if unnamed is None and streams is None:
        graph = StatementGraph.of(text)
        sources: Sources = open_inputs(options, graph.inputs)
        return CompiledScript(graph, sources, params, recipe), None
    sources = discovered(options, unnamed, streams)
    for each in sources.values():
        bound(each, guard)
    script = CompiledScript(graph_of(text, sources), sources, params, recipe).settled()
    read = [sources[name].events for name in script.graph.inputs]
    return script, None if any(each is None for each in read) else sources
