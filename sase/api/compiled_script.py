"""The statements of a script, each bound to what it reads, with the plan that runs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from sase.api.compiled_query import CompiledQuery, compile_query
from sase.binding.input_options import InputOptions
from sase.binding.lateness import lateness_in
from sase.binding.script import NamedQuery, StatementGraph
from sase.binding.streams import composite_schema
from sase.engine.sources.discovered import Discovered
from sase.errors import BindingError

if TYPE_CHECKING:
    from sase.engine.results.matches import Matches
    from sase.engine.scripts.plan import ScriptPlan, StatementPlan

# Inputs by name, None for the one that has none.
Sources: TypeAlias = Mapping[str | None, Discovered]


@dataclass(frozen=True, eq=False)
class CompiledScript:
    """The statements of a script, and the inputs that they are bound to."""

    graph: StatementGraph
    sources: Sources
    params: Mapping[str, object] | None
    recipe: str
    lateness: object = None

    @cached_property
    def queries(self) -> dict[str, CompiledQuery]:
        """The query of each statement, behind those that it reads."""
        found: dict[str, CompiledQuery] = {}
        streams: dict[str | None, Discovered] = dict(self.sources)
        for statement in self.graph.order:
            known = found[statement.name] = self._query(statement, streams)
            if statement.is_stream:
                time = known.schema.time
                schema = composite_schema(known.bound, statement.name, known.schema, time)
                streams[statement.name] = Discovered(schema, InputOptions())
        return found

    def _query(self, statement: NamedQuery, streams: Sources) -> CompiledQuery:
        (source,) = statement.sources
        try:
            known = compile_query(
                statement.text, streams[source], params=self.params, plan=self.recipe
            )
        except BindingError as problem:
            raise self.graph.in_script(problem) from None
        return replace(known, query=statement.written)

    @cached_property
    def plan(self) -> ScriptPlan:
        """The plan of the script for the engine."""
        from sase.engine.scripts.plan import InputPlan, ScriptPlan

        inputs = tuple(
            InputPlan(name, each.schema, self._lateness(name), each.names.on_bad_row)
            for name, each in self.sources.items()
            if name in self.graph.inputs
        )
        return ScriptPlan(inputs, tuple(map(self._statement, self.graph.order)))

    def _statement(self, statement: NamedQuery) -> StatementPlan:
        from sase.engine.scripts.plan import CompositeType, StatementPlan

        known, composite = self.queries[statement.name], None
        if statement.is_stream and self.graph.readers(statement.name):
            name = known.bound.type_name or statement.name
            composite = CompositeType(name, known.schema.time)
        plan = known.plan(known.optimized()).engine
        return StatementPlan(statement.name, plan, statement.sources, composite)

    def _lateness(self, name: str | None) -> int | None:
        given = self.lateness
        if isinstance(given, Mapping):
            given = given.get(name)
        return None if given is None else lateness_in(given, self.sources[name].schema)

    def found(self, events: Sources) -> dict[str, Matches]:
        """The matches of every statement in events that are all there is."""
        from sase.engine.results.matches import Matches
        from sase.engine.scripts.pipeline import ScriptPipeline

        pipeline = ScriptPipeline(self.plan, streaming=False)
        parts: dict[str, list[Any]] = {each.name: [] for each in self.graph.statements}

        def keep(found: Mapping[str, Matches]) -> None:
            for name, matches in found.items():
                parts[name] += matches.parts

        for name in self.graph.inputs:
            for found in pipeline.search(name, events[name].events):
                keep(found)
        keep(pipeline.finish())
        return {
            name: Matches.of(some, pipeline.statements[name].matcher.report())
            for name, some in parts.items()
        }
