"""A script: several queries, some of which read matches of others, and its matcher."""

# long because: a script and its matcher are read together.

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NoReturn, Unpack

from sase.api.checks import (
    bound,
    check_bounds,
    check_events,
    check_query,
    guard_of,
    guard_of_calls,
    limits_of,
)
from sase.api.compiled_script import CompiledScript
from sase.api.plan import DEFAULT_PLAN
from sase.api.script_inputs import Sources, check_units, discovered, open_inputs
from sase.base.texts import did_you_mean
from sase.binding.input_options import InputKeywords, check_name, takes_input_options
from sase.binding.script.script import StatementGraph
from sase.binding.script.statements import ByStatement, numbered, with_statements, without_statement
from sase.cached_property import cached_property
from sase.engine.pipeline.limits import RunGuard, check_of, working
from sase.errors import PlanError, SaseError

if TYPE_CHECKING:
    from sase.api.script_explain import ScriptExplanation
    from sase.diagnostics.why_not.why_not import WhyNot
    from sase.engine.report import Report
    from sase.engine.results.matches import Matches
    from sase.engine.scripts.pipeline import Found, ScriptPipeline


class Script:
    """Queries separated by `;`, some of which read matches of others.

    `schema` describes the input without a name, and `streams` the inputs with names. Each of them
    is a `sase.Schema`, a schema of Arrow, or sample events. Without both, the script is compiled
    for the events of each run. The other keywords are those of `sase.compile`. If a keyword differs
    by input, it is a dict of input name → value.

    A statement that names something that the events lack is set aside with a `StatementWarning`,
    and so are the statements that read it. The others run. If the script is `strict`, this is an
    error.

    Examples:
        >>> events = [{"ts": 1, "type": "A", "v": 3}, {"ts": 2, "type": "A", "v": 5}]
        >>> script = sase.Script(
        ...     "CREATE STREAM rises AS EVENT SEQ(A a, A b) RETURN Rise(b.v - a.v AS v);"
        ...     "CREATE STREAM steep AS FROM rises EVENT Rise r WHERE r.v > 1",
        ...     events,
        ... )
        >>> {name: len(matches) for name, matches in script.run(events).items()}
        {'rises': 1, 'steep': 1}
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
        """The statements that do not run because the schema lacks something, with the reason."""
        return {} if self._sources is None else self._compiled.reasons

    @property
    def inputs(self) -> tuple[str | None, ...]:
        """The names of the inputs that are read; None is the input without a name."""
        return self._graph.inputs

    def run(
        self,
        events: object = None,
        *,
        streams: Mapping[str, object] | None = None,
        max_matches: int | None = None,
        threads: int | None = None,
        timeout: object = None,
        max_memory: object = None,
    ) -> dict[str, Matches]:
        """Return the matches of every statement in complete events, by its name.

        `events` are the input without a name, and `streams` the inputs with names. They are
        searched once for all statements, before this method returns. The statements are dealt to
        `threads`; without a number to as many as pay. A script of one statement is
        searched on the first use of its matches, as by `sase.match`. `max_matches` applies to each
        statement. `timeout` and `max_memory` are those of `sase.match`, for all statements
        together.
        """
        check_events(events, streams)
        check_bounds(threads, max_matches)
        guard = guard_of(limits_of(timeout, max_memory), perf_counter_ns)
        with working(guard):
            script, given = self._for(events, streams)
            for each in given.values():
                bound(each, guard)
        if self._sources is None:
            script.warn(stacklevel=3)
        return script.results(given, guard, max_matches, threads)

    def explain(
        self,
        events: object = None,
        *,
        streams: Mapping[str, object] | None = None,
        analyze: bool = False,
        **rest: Any,
    ) -> ScriptExplanation:
        """Return the plan of each statement by its name, as `sase.explain` does.

        With events, the plans have estimates for the events that each statement reads. With
        `analyze`, each statement runs by itself over these, and the measurements are added. The
        rest are keywords of `sase.explain`.
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
        """Explain why a statement finds no match, or few matches, as `sase.why` does.

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
        """The script compiled for these events, or as it was before, and the discovered events."""
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
        """Return a matcher, to which the events of each input are pushed as they arrive.

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
        """Return the matcher from a `ScriptMatcher.snapshot`; it continues from that state.

        With a key, the snapshot must be signed with it. A `SnapshotError` is raised if it is not a
        snapshot of this script, or is damaged. The limits are those of `open`.
        """
        from sase.engine.scripts.checkpoint import script_restored

        guard = guard_of_calls(timeout, max_memory)
        pipeline = script_restored(self._compiled.plan, snapshot, key, guard)
        return ScriptMatcher(self._compiled, pipeline, guard)

    @cached_property
    def _compiled(self) -> CompiledScript:
        """The script compiled for its schemas; without schemas, for any events."""
        sources = self._sources
        if sources is None:
            sources = open_inputs(self._options, self.inputs)
        script = CompiledScript(self._graph, sources, self._params, self._recipe, self._lateness)
        return script.settled(strict=self._strict)

    def __repr__(self) -> str:
        return f"<script of {', '.join(self.statements)}>"


class ScriptMatcher:
    """Finds the matches of the statements of a script in events that are pushed as they arrive.

    `push`, `advance` and `finish` return the matches by the names of the statements, without
    statements that found none. Only one thread at a time may call the matcher.

    Examples:
        >>> events = [{"ts": 1, "type": "A"}, {"ts": 2, "type": "B"}]
        >>> matcher = sase.Script("EVENT SEQ(A a, B b); EVENT B b", events).open()
        >>> {name: len(matches) for name, matches in matcher.push(None, events).items()}
        {'query_1': 1, 'query_2': 1}
        >>> matcher.finish()
        {}
    """

    def __init__(
        self, script: CompiledScript, pipeline: ScriptPipeline, guard: RunGuard | None = None
    ) -> None:
        self._compiled, self._is_free, self._pipeline = script, Lock(), pipeline
        self._guard = guard
        self._ended_by: str | None = None

    @classmethod
    def opened(cls, script: CompiledScript, guard: RunGuard | None) -> ScriptMatcher:
        """Return a new matcher; a guard ends calls that exceed its limits."""
        from sase.engine.scripts.pipeline import ScriptPipeline

        return cls(script, ScriptPipeline(script.plan, check=check_of(guard)), guard)

    @property
    def statements(self) -> tuple[str, ...]:
        """The names of the statements, in the order of the text."""
        return tuple(each.name for each in self._compiled.graph.statements)

    @property
    def set_aside(self) -> dict[str, str]:
        """The statements that do not run because the events lack something, with the reason."""
        return self._compiled.reasons

    @property
    def inputs(self) -> tuple[str | None, ...]:
        """The names of the inputs; None is the input without a name."""
        return tuple(self._pipeline.inputs)

    def push(self, name: str | None, batch: object) -> dict[str, Matches]:
        """Return the matches that new rows of an input complete; None is the input without a name.

        Late rows are added to `late`.
        """
        return self._called(lambda: self._pipeline.push(self._input(name), batch))

    def advance(self, to: object, name: str | None = None) -> dict[str, Matches]:
        """Return the matches that are known once the time `to` is reached, in all inputs or in one.

        Rows that arrive later with an earlier time are late. Times are given as for
        `Matcher.advance`. A number counts units of the input, so inputs with different units are
        advanced one by one, by name.
        """
        inputs = self.inputs if name is None else (self._input(name),)
        if isinstance(to, int) and not isinstance(to, bool):
            check_units({each: self._pipeline.inputs[each].plan.schema for each in inputs}, to)
        return self._called(lambda: self._pipeline.advance(to, inputs))

    def finish(self) -> dict[str, Matches]:
        """Return the matches that are known once all inputs end."""
        return self._called(self._pipeline.finish)

    def snapshot(self, *, key: bytes | None = None) -> bytes:
        """Return the state, from which `Script.restore` makes a matcher that continues.

        With a key, the snapshot is signed, and `restore` with this key accepts no other.
        """
        from sase.engine.scripts.checkpoint import script_checkpoint

        with self._alone():
            return script_checkpoint(self._pipeline, key)

    # ------------------------------------------------------------ other statements

    @property
    def script(self) -> Script:
        """The script that runs now; its `restore` accepts the snapshots."""
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

        They may read the inputs, each other, and the running statements, which keep their state.
        They do not read earlier events.
        """
        check_query(text)
        with self._alone():
            before, pipeline = self.statements, self._pipeline
            self._run(with_statements(self._compiled.graph, text, pipeline.numbered))
            pipeline.numbered = max(pipeline.numbered, numbered(self._compiled.graph))
            return self.statements[len(before) :]

    def remove(self, name: str) -> None:
        """Stop a statement that no other one reads; its incomplete matches are dropped."""
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

    # ------------------------------------------------------------ late rows, bad rows, reports

    @property
    def late(self) -> dict[str | None, Any]:
        """The late rows of each input as a pyarrow Table, with their numbers in `#row`."""
        return {
            name: each.reorder_buffer.late.table() for name, each in self._pipeline.inputs.items()
        }

    def take_late(self) -> dict[str | None, Any]:
        """Return `late` and clear it; without this call, all late rows are kept for ever."""
        late = self.late
        for each in self._pipeline.inputs.values():
            each.reorder_buffer.late.clear()
        return late

    def take_quarantined(self) -> dict[str | None, Any]:
        """Return the bad rows of each input since the last call, each as a pyarrow Table.

        A row is bad by its time, type or number, or by a column that a statement on this input
        alone names; it is listed once for each such column. The bad rows of a statement on several
        streams are under its name, if there are any. A value is None if bad rows are errors.
        """
        return self._pipeline.take_bad()

    @property
    def input_reports(self) -> dict[str | None, Report]:
        """The numbers of rows of each input that were read, late, or bad for all statements."""
        return {name: each.report() for name, each in self._pipeline.inputs.items()}

    @property
    def reports(self) -> dict[str, Report]:
        """The report of each statement on the events that it searched so far."""
        found = ((name, self._pipeline.report(name)) for name in self.statements)
        return ByStatement(found, self._compiled.reasons)

    # ------------------------------------------------------------ calls

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Refuse a call while another one runs, or after a call that was interrupted."""
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
        """The number of pushed rows."""
        return sum(each.reorder_buffer.arrived for each in self._pipeline.inputs.values())

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
            "a matcher is not pickled or copied: keep its  snapshot()  ; the  restore(…)  of its"
            " script makes a matcher of it that continues"
        )

    def __repr__(self) -> str:
        return f"<matcher of {', '.join(self.statements)}: {self._rows:,} rows>"


def _there_are(names: list[str]) -> str:
    return f"there are {', '.join(names)}" if names else "push(None, …)  is for the only one"
