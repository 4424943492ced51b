"""The matcher of a script: events of each input are pushed to it as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any, NoReturn

from sase.engine.scripts.checkpoint import script_checkpoint
from sase.engine.scripts.pipeline import Found, ScriptPipeline
from sase.errors import PlanError, SaseError
from sase.nearest import did_you_mean

if TYPE_CHECKING:
    from sase.api.compiled_script import CompiledScript
    from sase.engine.report import Report
    from sase.engine.results.matches import Matches


class ScriptMatcher:
    """Finds the matches of the statements of a script in events that are pushed as they come.

    What `push`, `advance` and `finish` return are the matches by the name of their statement, of
    those statements alone that found some. One thread at a time may call it.
    """

    def __init__(self, script: CompiledScript, pipeline: ScriptPipeline | None = None) -> None:
        self._compiled, self._is_free = script, Lock()
        self._pipeline = ScriptPipeline(script.plan) if pipeline is None else pipeline
        self._ended_by: str | None = None

    @property
    def statements(self) -> tuple[str, ...]:
        """The names of the statements, in the order of the text."""
        return tuple(each.name for each in self._compiled.graph.statements)

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

        Rows before it that come later are late. Times are given as to `Matcher.advance`.
        """
        inputs = self.inputs if name is None else (self._input(name),)
        return self._called(lambda: self._pipeline.advance(to, inputs))

    def finish(self) -> dict[str, Matches]:
        """The matches that become known because no event is to come in any input."""
        return self._called(self._pipeline.finish)

    def snapshot(self, *, key: bytes | None = None) -> bytes:
        """The state, from which `Script.restore` makes a matcher that goes on here, anywhere.

        With a key it is signed, so that `restore` with that key takes no other.
        """
        with self._alone():
            return script_checkpoint(self._pipeline, key)

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
        """Of each input a pyarrow Table of the rows that are bad for all, since this was asked for.

        Those are bad by their time, type or number; what is bad by another column is in the reports
        of the statements that name it. None where a bad row is an error.
        """
        return {name: each.take_bad() for name, each in self._pipeline.inputs.items()}

    @property
    def input_reports(self) -> dict[str | None, Report]:
        """How many rows of each input were read, and how many of them were late, or bad for all."""
        return {name: each.report() for name, each in self._pipeline.inputs.items()}

    @property
    def reports(self) -> dict[str, Report]:
        """What there is to say of all that each statement searched so far."""
        return {name: self._report(name) for name in self.statements}

    def _report(self, name: str) -> Report:
        """The report of a statement, with what was late or bad of the inputs that it reads."""
        statement = self._pipeline.statements[name]
        own, inputs = statement.matcher.report(), self._pipeline.inputs
        read = [inputs[each].report() for each in statement.plan.sources if each in inputs]
        late, bad = sum(each.late for each in read), sum(each.bad for each in read)
        return replace(own, late=own.late + late, bad=own.bad + bad)

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
            try:
                return _some(call())
            except BaseException as problem:
                if self._pipeline.is_in_midst:
                    self._ended_by = type(problem).__name__
                raise

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
        rows = sum(each.buffer.arrived for each in self._pipeline.inputs.values())
        return f"<matcher of {', '.join(self.statements)}: {rows:,} rows>"


def _there_are(names: list[str]) -> str:
    return f"there are {', '.join(names)}" if names else "push(None, …)  is for the only one"


def _some(found: Mapping[str, Matches]) -> dict[str, Matches]:
    return {name: matches for name, matches in found.items() if len(matches)}
