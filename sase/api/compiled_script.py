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
from sase.binding.streams import NamedStream
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

    @property
    def queries(self) -> dict[str, CompiledQuery]:
        """The query of each statement, behind those that it reads."""
        return self._bound[0]

    @property
    def _streams(self) -> dict[str | None, NamedStream]:
        return self._bound[1]

    @cached_property
    def _bound(self) -> tuple[dict[str, CompiledQuery], dict[str | None, NamedStream]]:
        found: dict[str, CompiledQuery] = {}
        streams = {name: NamedStream(name, each.schema) for name, each in self.sources.items()}
        for statement in self.graph.order:
            known = found[statement.name] = self._query(statement, streams)
            if statement.is_stream:
                streams[statement.name] = self.graph.stream_of(statement, known.bound, streams)
        return found, streams

    def _query(
        self, statement: NamedQuery, streams: Mapping[str | None, NamedStream]
    ) -> CompiledQuery:
        source = self._source(statement, streams)
        try:
            known = compile_query(statement.text, source, params=self.params, plan=self.recipe)
        except BindingError as problem:
            raise self.graph.in_script(problem) from None
        return replace(known, query=statement.written)

    def _source(
        self, statement: NamedQuery, streams: Mapping[str | None, NamedStream]
    ) -> Discovered:
        """What a statement reads, which has a schema; the events of an input as they were given."""
        schema = self.graph.schema_read(statement, streams)
        given = [self.sources[name] for name in statement.sources if name in self.sources]
        if given and len(statement.sources) == 1:
            return given[0]
        quarantines = any(each.names.quarantines for each in given)
        return Discovered(schema, InputOptions(on_bad_row="quarantine" if quarantines else "error"))

    @cached_property
    def plan(self) -> ScriptPlan:
        """The plan of the script for the engine."""
        from sase.engine.scripts.plan import InputPlan, ScriptPlan

        inputs = tuple(
            InputPlan(name, each.schema, self._lateness(name), each.names.on_bad_row)
            for name, each in self.sources.items()
        )
        return ScriptPlan(inputs, tuple(map(self._statement, self.graph.order)))

    def _statement(self, statement: NamedQuery) -> StatementPlan:
        from sase.engine.scripts.plan import CompositeType, StatementPlan

        known, composite = self.queries[statement.name], None
        streams = tuple(self._streams[name] for name in statement.sources)
        if statement.is_stream and self.graph.readers(statement.name):
            name = known.bound.type_name or statement.name
            composite = CompositeType(name, self._streams[statement.name].schema.time)
        plan = known.plan(known.optimized()).engine
        return StatementPlan(statement.name, plan, streams, composite)

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
                some = [part for part in parts[name] if len(part)]
                more = [part for part in matches.parts if len(part) or not some]
                parts[name] = some + more

        for name in self.graph.inputs:
            for found in pipeline.search(name, events[name].events):
                keep(found)
        keep(pipeline.finish())
        return {
            name: Matches.of(some, pipeline.statements[name].matcher.report())
            for name, some in parts.items()
        }
