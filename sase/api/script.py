"""A script: several queries, of which some read what others find, run side by side."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

from sase.api.checks import check_query
from sase.api.compiled_script import CompiledScript, Sources
from sase.api.plan import DEFAULT_PLAN
from sase.binding import Schema
from sase.binding.input_options import InputKeywords, InputOptions, takes_input_options
from sase.binding.script import StatementGraph
from sase.engine.sources.discovered import Discovered
from sase.errors import PlanError

if TYPE_CHECKING:
    from sase.api.script_matcher import ScriptMatcher
    from sase.engine.results.matches import Matches


class Script:
    """Queries with `;` between them, of which some read what others find.

    `schema` describes the input that has no name, and `streams` those that have one: each is a
    `sase.Schema`, a schema of Arrow, or events like those that will come. Without either the script
    is compiled for the events that it is run over. The other keywords are those of `sase.compile`;
    where inputs differ a keyword is a dict of the name of an input → its own value.
    """

    @takes_input_options
    def __init__(
        self,
        script: str,
        schema: object = None,
        *,
        streams: Mapping[str, object] | None = None,
        params: Mapping[str, object] | None = None,
        plan: str = DEFAULT_PLAN,
        lateness: object = None,
        **options: Unpack[InputKeywords],
    ) -> None:
        check_query(script)
        self.text, self._params, self._recipe = script, params, plan
        self._lateness, self._options = lateness, dict(options)
        self._sources: Sources | None = None
        if schema is not None or streams is not None:
            self._sources = self._discovered(schema, streams)
        self._graph = StatementGraph.of(script, self._sources)
        if self._sources is not None:
            assert self._compiled.bound

    @property
    def statements(self) -> tuple[str, ...]:
        """The names of the statements: of their streams, or query_1, query_2 and so on."""
        return tuple(each.name for each in self._graph.statements)

    @property
    def inputs(self) -> tuple[str | None, ...]:
        """The names of the inputs that are read; None is the one that has none."""
        return self._graph.inputs

    def run(
        self, events: object = None, *, streams: Mapping[str, object] | None = None
    ) -> dict[str, Matches]:
        """The matches of every statement in events that are all there is, by its name.

        `events` are the input without a name, `streams` those that have one. They are searched
        once, for all statements, before this returns.
        """
        if events is None and streams is None:
            raise PlanError("there are no events: give them, or  streams={name: …}")
        if self._sources is None:
            given = self._discovered(events, streams)
            graph = StatementGraph.of(self.text, given)
            return CompiledScript(graph, given, self._params, self._recipe).found(given)
        given = self._discovered(events, streams, self._sources)
        for name in self.inputs:
            if name not in given:
                what = "the input without a name" if name is None else f"`{name}`"
                raise PlanError(f"there are no events for {what}, which the script reads")
        return self._compiled.found(given)

    def open(self) -> ScriptMatcher:
        """A matcher, to which the events of each input are pushed as they come."""
        from sase.api.script_matcher import ScriptMatcher

        return ScriptMatcher(self._compiled)

    def restore(self, snapshot: bytes, *, key: bytes | None = None) -> ScriptMatcher:
        """The matcher of which `ScriptMatcher.snapshot` made this: it goes on as that would have.

        With a key the snapshot must be signed with it. What is no snapshot of this script, or was
        changed to what none of it can be, is a `SnapshotError`.
        """
        from sase.api.script_matcher import ScriptMatcher
        from sase.engine.scripts.checkpoint import script_restored

        plan = self._compiled.plan
        return ScriptMatcher(self._compiled, script_restored(plan, snapshot, key))

    @cached_property
    def _compiled(self) -> CompiledScript:
        """The script, compiled for its schemas, or where there are none for any events."""
        sources = self._sources
        if sources is None:
            sources = {name: self._open(name) for name in self.inputs}
        return CompiledScript(self._graph, sources, self._params, self._recipe, self._lateness)

    def _open(self, name: str | None) -> Discovered:
        """An input of which no more is known than the keywords say."""
        names = InputOptions(**_of_input(self._options, name, self.inputs))
        if names.types is not None:
            raise PlanError("types=… say what a table has: give the script a schema, or events")
        columns = names.columns
        del columns["types"]
        columns |= {"time": names.earliest, "until": names.until}
        return Discovered(Schema(**columns), names)

    def _discovered(
        self,
        unnamed: object,
        streams: Mapping[str, object] | None,
        known: Sources | None = None,
    ) -> Sources:
        """What is known of inputs as a caller gives them; their schemas may be `known` already."""
        given: dict[str | None, object] = {} if unnamed is None else {None: unnamed}
        if streams is not None and not isinstance(streams, Mapping):
            raise PlanError(f"streams={streams!r}: give a dict of name → the events of an input")
        given.update(streams or {})
        known = known or {}
        return {
            name: Discovered.of(
                each,
                InputOptions(**_of_input(self._options, name, given)),
                known[name].schema if name in known else None,
            )
            for name, each in given.items()
            if not known or name in known
        }

    def __repr__(self) -> str:
        return f"<script of {', '.join(self.statements)}>"


def _of_input(
    options: Mapping[str, Any], name: str | None, inputs: Collection[str | None]
) -> dict[str, Any]:
    """The options of one input: where they differ, each is by the name of an input."""
    found = dict[str, Any]()
    for option, value in options.items():
        if not (isinstance(value, Mapping) and value and value.keys() <= {*inputs}):
            found[option] = value
        elif name in value:
            found[option] = value[name]
    return found
