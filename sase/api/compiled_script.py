"""The statements of a script, each bound to what it reads, with the plan that runs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from sase.api.compiled_query import CompiledQuery, compile_query
from sase.binding.input_options import InputOptions
from sase.binding.lateness import lateness_in
from sase.binding.script import NamedQuery, StatementGraph
from sase.binding.streams import NamedStream
from sase.engine.sources.discovered import Discovered
from sase.errors import BindingError
from sase.planning.traversal import attributes_read

if TYPE_CHECKING:
    from sase.engine.results.matches import Matches
    from sase.engine.scripts.input_rows import InputRows
    from sase.engine.scripts.plan import ScriptPlan, StatementPlan

# Inputs by name, None for the one that has none.
Sources: TypeAlias = Mapping[str | None, Discovered]


class _BoundScript(NamedTuple):
    """The query of each statement behind those that it reads, what these read, and the inputs."""

    queries: dict[str, CompiledQuery]
    streams: dict[str | None, NamedStream]
    sources: Sources


@dataclass(frozen=True, eq=False)
class CompiledScript:
    """The statements of a script, and the inputs that they are bound to."""

    graph: StatementGraph
    sources: Sources
    params: Mapping[str, object] | None
    recipe: str
    lateness: object = None

    @cached_property
    def bound(self) -> _BoundScript:
        """The statements bound to what they read; what files hold is inferred by all of them."""
        found: dict[str, CompiledQuery] = {}
        sources = dict(self.sources)
        streams = {name: NamedStream(name, each.schema) for name, each in sources.items()}
        for query in self.graph.order:
            known = self._query(query, sources, streams)
            if self._infer(known, query, sources, streams):
                known = self._query(query, sources, streams)
            found[query.name] = known
            if query.is_stream:
                streams[query.name] = self.graph.stream_of(query, known.bound, streams)
        return _BoundScript(found, streams, sources)

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
            known = compile_query(query.text, source, params=self.params, plan=self.recipe)
        except BindingError as problem:
            raise self.graph.in_script(problem) from None
        return replace(known, query=query.written)

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
            InputPlan(name, each.schema, self._lateness(name), each.names.on_bad_row)
            for name, each in self.bound.sources.items()
        )
        return ScriptPlan(inputs, tuple(map(self._statement, self.graph.order)))

    def _statement(self, statement: NamedQuery) -> StatementPlan:
        from sase.engine.scripts.plan import CompositeType, StatementPlan

        known, composite = self.bound.queries[statement.name], None
        streams = tuple(self.bound.streams[name] for name in statement.sources)
        if statement.is_stream and self.graph.readers(statement.name):
            name = known.bound.type_name or statement.name
            composite = CompositeType(name, self.bound.streams[statement.name].schema.time)
        plan = known.plan(known.optimized()).engine
        return StatementPlan(statement.name, plan, streams, composite)

    def _lateness(self, name: str | None) -> int | None:
        given = self.lateness
        if isinstance(given, Mapping):
            given = given.get(name)
        return None if given is None else lateness_in(given, self.bound.sources[name].schema)

    def found(self, events: Sources) -> dict[str, Matches]:
        """The matches of every statement in events that are all there is."""
        from sase.engine.results.matches import Matches
        from sase.engine.scripts.pipeline import ScriptPipeline

        read = {name: self._rows(name, events[name]) for name in self.graph.inputs}
        in_pieces = [name for name, each in read.items() if each.come_in_pieces]
        whole = [name for name in self.sources if name not in in_pieces]
        pipeline = ScriptPipeline(self.plan, streaming=bool(in_pieces), whole=whole)
        parts: dict[str, list[Any]] = {each.name: [] for each in self.graph.statements}

        def keep(found: Mapping[str, Matches]) -> None:
            for name, matches in found.items():
                some = [part for part in parts[name] if len(part)]
                more = [part for part in matches.parts if len(part) or not some]
                parts[name] = some + more

        for found in pipeline.search(read):
            keep(found)
        keep(pipeline.finish())
        return {
            name: Matches.of(some, pipeline.statements[name].matcher.report())
            for name, some in parts.items()
        }

    def _rows(self, name: str | None, given: Discovered) -> InputRows:
        """What the statements read of an input."""
        from sase.engine.scripts.input_rows import InputRows

        assert given.events is not None, "a schema has no events"
        plans = [each.plan for each in self.plan.statements if name in each.sources]
        schema = self.bound.sources[name].schema
        named = frozenset(schema.roles).union(*(plan.attributes for plan in plans))
        given.fit_types(named)
        return InputRows(
            schema,
            given.events,
            named,
            any(plan.scan.columns is None for plan in plans),
            given.names.on_bad_row,
        )
