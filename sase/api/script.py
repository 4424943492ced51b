"""A script, several queries of which some read what others find, and the matcher that runs it."""

# long because: a script and its matcher are read together.

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NoReturn, Unpack

from sase.api.checks import check_bounds, check_events, check_query
from sase.api.compiled_script import CompiledScript
from sase.api.limits import bound, guard_of, guard_of_calls, limits_of
from sase.api.plan import DEFAULT_PLAN
from sase.api.script_inputs import Sources, check_units, discovered, open_inputs
from sase.binding.input_options import InputKeywords, check_name, takes_input_options
from sase.binding.script import StatementGraph
from sase.binding.set_aside import ByStatement
from sase.binding.statement_text import numbered, with_statements, without_statement
from sase.cached_property import cached_property
from sase.engine.pipeline.limits import RunGuard, check_of, working
from sase.errors import PlanError, SaseError
from sase.nearest import did_you_mean

if TYPE_CHECKING:
    from sase.api.script_explain import ScriptExplanation
    from sase.diagnostics.why_not.why_not import WhyNot
    from sase.engine.report import Report
    from sase.engine.results.matches import Matches
    from sase.engine.scripts.pipeline import Found, ScriptPipeline


class Script:
    """Queries with `;` between them, of which some read what others find.

    `schema` describes the input that has no name, and `streams` those that have one: each is a
    `sase.Schema`, a schema of Arrow, or events like those that will come. Without either the script
    is compiled for the events that it is run over. The other keywords are those of `sase.compile`;
    where inputs differ a keyword is a dict of the name of an input → its own value.

    A statement that names what the events lack is set aside with a `StatementWarning`, and with it
    those that read it; the others run. Where that is to be an error, the script is `strict`.
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
        strict: bool = False,
        **options: Unpack[InputKeywords],
    ) -> None:
        check_query(script)
        self.text, self._params, self._recipe = script, params, plan
        self._lateness, self._options, self._strict = lateness, dict(options), strict
        self._sources: Sources | None = None
        if schema is not None or streams is not None:
            self._sources = discovered(self._options, schema, streams)
        self._graph = StatementGraph.of(script, self._sources)
        if self._sources is not None:
            self._graph = self._compiled.graph
            self._compiled.warn(stacklevel=4)

    @property
    def statements(self) -> tuple[str, ...]:
        """The names of the statements: of their streams, or query_1, query_2 and so on."""
        return tuple(each.name for each in self._graph.statements)

    @property
    def set_aside(self) -> dict[str, str]:
        """The statements that do not run, as the schema lacks what they name, with the reason."""
        return {} if self._sources is None else self._compiled.reasons

    @property
    def inputs(self) -> tuple[str | None, ...]:
        """The names of the inputs that are read; None is the one that has none."""
        return self._graph.inputs

    def run(
        self,
        events: object = None,
        *,
        streams: Mapping[str, object] | None = None,
        max_matches: int | None = None,
        timeout: object = None,
        max_memory: object = None,
    ) -> dict[str, Matches]:
        """The matches of every statement in events that are all there is, by its name.

        `events` are the input without a name, `streams` those that have one. They are searched
        once, for all statements, before this returns. `max_matches` are those of each statement;
        `timeout` and `max_memory` are those of `sase.match`, for all of them.
        """
        check_events(events, streams)
        check_bounds(None, max_matches)
        guard = guard_of(limits_of(timeout, max_memory), perf_counter_ns)
        with working(guard):
            script, given = self._for(events, streams)
            for each in given.values():
                bound(each, guard)
        if self._sources is None:
            script.warn(stacklevel=3)
        return script.found(given, guard, max_matches)

    def explain(
        self,
        events: object = None,
        *,
        streams: Mapping[str, object] | None = None,
        analyze: bool = False,
        **rest: Any,
    ) -> ScriptExplanation:
        """The plan of each statement by its name, as `sase.explain` has it.

        With events it says what is expected of what each statement reads, and with `analyze` what
        happened when it ran over that by itself. The rest are keywords of `sase.explain`.
        """
        from sase.api.script_explain import explain_script

        if events is None and streams is None:
            return explain_script(self._compiled, None, analyze=analyze, **rest)
        script, given = self._for(events, streams)
        return explain_script(script, given, analyze=analyze, **rest)

    def why(
        self,
        name: str,
        events: object = None,
        *,
        streams: Mapping[str, object] | None = None,
        **rest: Any,
    ) -> WhyNot:
        """Why a statement finds no match, or so few, in what it reads, as `sase.why` has it.

        The rest are keywords of `sase.why`.
        """
        from sase.api.why_not import why

        check_events(events, streams)
        script, given = self._for(events, streams)
        query = script.chosen(name)
        own = script.alone(given)[name]
        return why(query.written, own, params=self._params, plan=self._recipe, **rest)

    def _for(
        self, events: object, streams: Mapping[str, object] | None
    ) -> tuple[CompiledScript, Sources]:
        """The script compiled for events, or as it was before, and what is known of the events."""
        if self._sources is None:
            given = discovered(self._options, events, streams)
            graph = StatementGraph.of(self.text, given)
            script = CompiledScript(graph, given, self._params, self._recipe)
            return script.settled(strict=self._strict), given
        given = discovered(self._options, events, streams, self._sources)
        for name in self.inputs:
            if name not in given:
                what = "the input without a name" if name is None else f"`{name}`"
                raise PlanError(f"there are no events for {what}, which the script reads")
        return self._compiled, given

    def open(self, *, timeout: object = None, max_memory: object = None) -> ScriptMatcher:
        """A matcher, to which the events of each input are pushed as they come.

        The limits are those of `sase.Plan.open`, for all statements together.
        """
        guard = guard_of_calls(timeout, max_memory)
        return ScriptMatcher.opened(self._compiled, guard)

    def restore(
        self,
        snapshot: bytes,
        *,
        key: bytes | None = None,
        timeout: object = None,
        max_memory: object = None,
    ) -> ScriptMatcher:
        """The matcher of which `ScriptMatcher.snapshot` made this: it goes on as that would have.

        With a key the snapshot must be signed with it. What is no snapshot of this script, or was
        changed to what none of it can be, is a `SnapshotError`. The limits are those of `open`.
        """
        from sase.engine.scripts.checkpoint import script_restored

        guard = guard_of_calls(timeout, max_memory)
        pipeline = script_restored(self._compiled.plan, snapshot, key, guard)
        return ScriptMatcher(self._compiled, pipeline, guard)

    @cached_property
    def _compiled(self) -> CompiledScript:
        """The script, compiled for its schemas, or where there are none for any events."""
        sources = self._sources
        if sources is None:
            sources = open_inputs(self._options, self.inputs)
        script = CompiledScript(self._graph, sources, self._params, self._recipe, self._lateness)
        return script.settled(strict=self._strict)

    def __repr__(self) -> str:
        return f"<script of {', '.join(self.statements)}>"


class ScriptMatcher:
    """Finds the matches of the statements of a script in events that are pushed as they come.

    What `push`, `advance` and `finish` return are the matches by the name of their statement, of
    those statements alone that found some. One thread at a time may call it.
    """

    def __init__(
        self, script: CompiledScript, pipeline: ScriptPipeline, guard: RunGuard | None = None
    ) -> None:
        self._compiled, self._is_free, self._pipeline = script, Lock(), pipeline
        self._guard = guard
        self._ended_by: str | None = None

    @classmethod
    def opened(cls, script: CompiledScript, guard: RunGuard | None) -> ScriptMatcher:
        """A matcher that begins, whose calls a guard ends if they exceed its limits."""
        from sase.engine.scripts.pipeline import ScriptPipeline

        return cls(script, ScriptPipeline(script.plan, check=check_of(guard)), guard)

    @property
    def statements(self) -> tuple[str, ...]:
        """The names of the statements, in the order of the text."""
        return tuple(each.name for each in self._compiled.graph.statements)

    @property
    def set_aside(self) -> dict[str, str]:
        """The statements that do not run, as the events lack what they name, with the reason."""
        return self._compiled.reasons

    @property
    def inputs(self) -> tuple[str | None, ...]:
        """The names of the inputs; None is the one that has none."""
        return tuple(self._pipeline.inputs)

    def push(self, name: str | None, batch: object) -> dict[str, Matches]:
        """The matches that some more rows of an input complete; None is the one without a name.

        Rows that are late go to `late`.
        """
        return self._called(lambda: self._pipeline.push(self._input(name), batch))

    def advance(self, to: object, name: str | None = None) -> dict[str, Matches]:
        """The matches that become known when time passes without an event, in all inputs or one.

        Rows before it that come later are late. Times are given as to `Matcher.advance`; a number
        of units is that of each input, so where they count differently each is advanced by name.
        """
        inputs = self.inputs if name is None else (self._input(name),)
        if isinstance(to, int) and not isinstance(to, bool):
            check_units({each: self._pipeline.inputs[each].plan.schema for each in inputs}, to)
        return self._called(lambda: self._pipeline.advance(to, inputs))

    def finish(self) -> dict[str, Matches]:
        """The matches that become known because no event is to come in any input."""
        return self._called(self._pipeline.finish)

    def snapshot(self, *, key: bytes | None = None) -> bytes:
        """The state, from which `Script.restore` makes a matcher that goes on here, anywhere.

        With a key it is signed, so that `restore` with that key takes no other.
        """
        from sase.engine.scripts.checkpoint import script_checkpoint

        with self._alone():
            return script_checkpoint(self._pipeline, key)

    # ------------------------------------------------------------ other statements

    @property
    def script(self) -> Script:
        """The script that runs now, which `restore` its snapshots takes."""
        known = self._compiled
        return Script(
            known.graph.source.text,
            known.sources.get(None),
            streams={name: each for name, each in known.sources.items() if name is not None},
            params=known.params,
            plan=known.recipe,
            lateness=known.lateness,
        )

    def add(self, text: str) -> tuple[str, ...]:
        """Run more statements from now on, and return their names.

        They may read the inputs, each other, and the statements that run, whose state stays. What
        came before they do not know.
        """
        check_query(text)
        with self._alone():
            before, pipeline = self.statements, self._pipeline
            self._run(with_statements(self._compiled.graph, text, pipeline.numbered))
            pipeline.numbered = max(pipeline.numbered, numbered(self._compiled.graph))
            return self.statements[len(before) :]

    def remove(self, name: str) -> None:
        """Run a statement no more, which no other reads; what it waited for is not told."""
        check_name("name", name, may_be_none=False)
        with self._alone():
            graph = self._compiled.graph
            readers = ", ".join(each.name for each in graph.readers(graph.chosen(name).name))
            if readers:
                raise PlanError(f"`{name}` is read by {readers}: remove that first")
            if len(self.statements) == 1:
                raise PlanError(f"`{name}` is the only statement: a script has at least one")
            self._run(without_statement(graph, name))

    def _run(self, text: str) -> None:
        changed = self._compiled.with_text(text)
        self._pipeline.exchange(changed.plan)
        self._compiled = changed

    # ------------------------------------------------------------ what there is to say

    @property
    def late(self) -> dict[str | None, Any]:
        """Of each input a pyarrow Table of the late rows, with their numbers in `#row`."""
        return {name: each.buffer.late.table() for name, each in self._pipeline.inputs.items()}

    def take_late(self) -> dict[str | None, Any]:
        """What `late` is, which then begins anew: else all late rows are kept for ever."""
        late = self.late
        for each in self._pipeline.inputs.values():
            each.buffer.late.clear()
        return late

    def take_quarantined(self) -> dict[str | None, Any]:
        """Of each input a pyarrow Table of its bad rows, since this was asked for.

        They are bad by their time, type or number, or by a column that a statement over this input
        alone names, each once for a column. Those of a statement over several streams are by its
        name, if there are some. None where a bad row is an error.
        """
        return self._pipeline.take_bad()

    @property
    def input_reports(self) -> dict[str | None, Report]:
        """How many rows of each input were read, and how many of them were late, or bad for all."""
        return {name: each.report() for name, each in self._pipeline.inputs.items()}

    @property
    def reports(self) -> dict[str, Report]:
        """What there is to say of all that each statement searched so far."""
        found = ((name, self._pipeline.report(name)) for name in self.statements)
        return ByStatement(found, self._compiled.reasons)

    # ------------------------------------------------------------ calls

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Refuse a call while another one works, or behind one that ended in its midst."""
        if not self._is_free.acquire(blocking=False):
            raise SaseError("a call while another call to this matcher works: wait for its end")
        try:
            if self._ended_by is not None:
                raise SaseError(
                    f"this matcher was ended by a {self._ended_by} in the midst of a call, and some"
                    " of its statements know more than others: go on from its last snapshot with "
                    " script.restore(…)  , or open another one with  script.open()"
                )
            if self._pipeline.is_finished:
                raise SaseError("this matcher is finished: open another one with  script.open()")
            yield
        finally:
            self._is_free.release()

    def _called(self, call: Callable[[], Found]) -> dict[str, Matches]:
        with self._alone():
            if self._guard is not None:
                self._guard.note_rows(self._rows)
                self._guard.begin()
            try:
                with working(self._guard):
                    some = ((name, each) for name, each in call().items() if len(each))
                    return ByStatement(some, self._compiled.reasons)
            except BaseException as problem:
                if self._pipeline.is_in_midst:
                    self._ended_by = type(problem).__name__
                raise

    @property
    def _rows(self) -> int:
        """How many rows were pushed."""
        return sum(each.buffer.arrived for each in self._pipeline.inputs.values())

    def _input(self, name: str | None) -> str | None:
        known = self._pipeline.inputs
        if name in known:
            return name
        names = [each for each in known if each is not None]
        hint = did_you_mean(name or "", names) or (_there_are(names),)
        what = "input without a name" if name is None else f"input `{name}`"
        raise PlanError(f"the script reads no {what}: {hint[0]}")

    def __reduce__(self) -> NoReturn:
        raise SaseError(
            "a matcher is not pickled or copied: keep its  snapshot()  , of which the  restore(…)"
            "  of its script makes one that goes on"
        )

    def __repr__(self) -> str:
        return f"<matcher of {', '.join(self.statements)}: {self._rows:,} rows>"


def _there_are(names: list[str]) -> str:
    return f"there are {', '.join(names)}" if names else "push(None, …)  is for the only one"
