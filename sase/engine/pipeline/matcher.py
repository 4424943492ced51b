"""The matcher: events are pushed to it as they come, and it returns the matches they complete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from threading import Lock
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeVar

import numpy as np

from sase.engine.blocks.key_texts import SharedTexts
from sase.engine.blocks.shared_conditions import ConditionsOf
from sase.engine.columns import Events
from sase.engine.columns.arrays import Numbers
from sase.engine.columns.input import Inputs
from sase.engine.columns.slice import taken
from sase.engine.columns.timestamps import raw_moment, shown_moment
from sase.engine.operators.transformation import Results
from sase.engine.pipeline.checkpoint import checkpoint
from sase.engine.pipeline.fused.open import open_pipeline
from sase.engine.pipeline.limits import RunGuard, memory_check_of
from sase.engine.pipeline.pipeline import Counted, Pipeline
from sase.engine.pipeline.reader import read_through
from sase.engine.pipeline.reorder_buffer import Arrived
from sase.engine.pipeline.shared_rows import SharedRows
from sase.engine.pipeline.stream_state import BEGINNING
from sase.engine.report import Report
from sase.engine.resources import Check, no_check
from sase.engine.results.batch import MatchBatch
from sase.engine.results.matches import Matches
from sase.engine.results.repr import matcher_line
from sase.errors import BudgetError, SaseError
from sase.planning.plan import EnginePlan

_Taken = ParamSpec("_Taken")
_Given = TypeVar("_Given")
_Method = Callable[Concatenate["Matcher", _Taken], _Given]

# What may end a call in its midst, beside interrupts.
ENDS = (BudgetError, MemoryError)


def _alone(method: _Method[_Taken, _Given]) -> _Method[_Taken, _Given]:
    """Refuse a call while another one works: kernels write to what both would use."""

    @wraps(method)
    def called(matcher: Matcher, /, *values: _Taken.args, **named: _Taken.kwargs) -> _Given:
        if not matcher.is_free.acquire(blocking=False):
            raise matcher.is_called(method.__name__)
        try:
            return method(matcher, *values, **named)
        finally:
            matcher.is_free.release()

    return called


def _working(method: _Method[_Taken, _Given]) -> _Method[_Taken, _Given]:
    """The same, and end a call that exceeds its limits; nothing goes on from the half of one."""

    # In one function, not in two: each takes a small push as long as a few hundred events.
    @wraps(method)
    def called(matcher: Matcher, /, *values: _Taken.args, **named: _Taken.kwargs) -> _Given:
        if not matcher.is_free.acquire(blocking=False):
            raise matcher.is_called(method.__name__)
        try:
            state, guard = matcher.pipeline.state, matcher.guard
            if state.is_finished or state.ended_by is not None:
                state.check_open()
            if guard is not None:
                guard.begin()
            try:
                if guard is None:
                    return method(matcher, *values, **named)
                with guard.working():
                    return method(matcher, *values, **named)
            except BaseException as problem:
                if isinstance(problem, ENDS) or not isinstance(problem, Exception):
                    state.ended_by = type(problem).__name__
                raise
        finally:
            matcher.is_free.release()

    return called


class Matcher:
    """Finds the matches of a plan in events that are pushed as they come, by one call at a time.

    Row numbers in what `push`, `advance` and `finish` return count from the first row pushed. A
    `guard` ends calls that exceed its limits, `check` the run that the calls are part of.
    `key_texts` and `conditions` are those of all matchers of a stream.
    """

    def __init__(
        self,
        plan: EnginePlan,
        *,
        streaming: bool = True,
        watch: Callable[[int], object] = lambda rows: None,
        clock: Callable[[], int] | None = None,
        check: Check = no_check,
        guard: RunGuard | None = None,
        key_texts: SharedTexts | None = None,
        conditions: ConditionsOf | None = None,
    ) -> None:
        if guard is not None:
            watch, check = guard.note_rows, guard.check
            guard.unbounded = plan.unbounded
        self.pipeline = open_pipeline(
            plan,
            streaming=streaming,
            watch=watch,
            clock=clock,
            check=check,
            key_texts=key_texts,
            conditions=conditions,
        )
        self.is_free, self.guard = Lock(), guard

    @classmethod
    def of(cls, pipeline: Pipeline, guard: RunGuard | None = None) -> Matcher:
        """The matcher that goes on with a pipeline, which a guard checks."""
        if guard is not None:
            guard.unbounded = pipeline.plan.unbounded
        matcher = cls.__new__(cls)
        matcher.pipeline, matcher.is_free, matcher.guard = pipeline, Lock(), guard
        return matcher

    @_working
    def push(self, batch: object) -> Matches:
        """The matches that some more rows complete: known as soon as nothing can come before them.

        Rows that are late go to `late` (docs/semantics.md, Late rows).
        """
        pipeline = self.pipeline
        if pipeline.pushed_path is not None:
            results = pipeline.pushed_path.push(batch)
            if results is not None:
                return self._matches(results)
        decoded = pipeline.loader.decoded(batch)
        if decoded is None:
            return self._push(pipeline.open_input(batch), None)
        return self._arrive(*decoded, len(decoded[1].ts), None)

    @_working
    def push_numbered(self, inputs: Inputs, rows: Numbers) -> Matches:
        """The same with row numbers, for rows that do not come as in the input."""
        return self._push(self.pipeline.open_input(inputs), rows)

    @_working
    def push_ordered(self, events: object) -> Matches:
        """The same for rows of which none comes before any of an earlier push: none has to wait."""
        pipeline = self.pipeline
        inputs, loaded, rows = self._good(pipeline.open_input(events), None)
        return self._matches(pipeline.ingest([Arrived(inputs, loaded, pipeline.at.events, rows)]))

    @_working
    def take(self, pieces: Iterable[tuple[Inputs, Numbers | None]], floor: int | None) -> Matches:
        """The matches that rows in order complete, with the numbers of these, and that time does.

        No row before the `floor` is to come; without one none at all.
        """
        pipeline, results = self.pipeline, list[Results]()
        buffer = pipeline.reorder_buffer
        for inputs, rows in pieces:
            count, opened = inputs.num_rows, pipeline.open_input(inputs)
            opened, loaded, rows = self._good(opened, rows)
            buffer.arrived += count
            results += pipeline.ingest([Arrived(opened, loaded, pipeline.at.events, rows)])
        return self._matches([*results, *self._passed(floor)])

    @_working
    def take_shared(self, shared: Iterable[SharedRows], count: int, floor: int | None) -> Matches:
        """The same of so many rows that were loaded for others, too: those that concern it."""
        pipeline, results = self.pipeline, list[Results]()
        pipeline.reorder_buffer.arrived += count
        for each in shared:
            results += pipeline.ingest_shared(each)
        return self._matches([*results, *self._passed(floor)])

    def _passed(self, floor: int | None) -> Iterator[Results]:
        """The results that are known as no event before a time is to come, or none at all."""
        pipeline = self.pipeline
        if floor is not None:
            yield from pipeline.ingest(pipeline.reorder_buffer.advance(floor))
        else:
            pipeline.state.is_finished = True
            yield from pipeline.end()

    def _push(self, inputs: Inputs, rows: Numbers | None) -> Matches:
        count = inputs.num_rows
        inputs, events, rows = self._good(inputs, rows)
        return self._arrive(inputs, events, count, rows)

    def _arrive(self, inputs: Inputs, events: Events, count: int, rows: Numbers | None) -> Matches:
        """The matches that events complete, which so many rows were."""
        buffer = self.pipeline.reorder_buffer
        return self._matches(self.pipeline.ingest(buffer.push(inputs, events, count, rows)))

    def _good(self, inputs: Inputs, rows: Numbers | None) -> tuple[Inputs, Events, Numbers | None]:
        """The rows without the bad ones, the events that they are, and the numbers of the rows."""
        pipeline = self.pipeline
        events, count = pipeline.load_input(inputs), inputs.num_rows
        if pipeline.quarantine is not None:
            first = pipeline.reorder_buffer.arrived
            numbers = np.arange(first, first + count) if rows is None else rows
            pipeline.quarantine.take(inputs, events.refused, numbers)
            if events.refused is not None:
                good = events.refused.others(count)
                inputs, rows = taken(inputs, good), numbers[good]
                events = pipeline.load_again(inputs)
        return inputs, events, rows

    @_working
    def advance(self, to: object) -> Matches:
        """The matches that become known when time passes without an event, up to a timestamp.

        Rows before it that come later are late. An integer is in raw units, as results have times,
        a float in seconds where the column has such. For timestamps and dates also what Python,
        numpy, pandas and pyarrow have for them, or ISO text: in UTC without a zone, rounded down.
        """
        pipeline = self.pipeline
        raw = raw_moment(to, pipeline.loader.time, pipeline.plan.schema.time)
        return self._matches(list(pipeline.ingest(pipeline.reorder_buffer.advance(raw))))

    @_working
    def finish(self) -> Matches:
        """The matches that become known because no event is to come."""
        pipeline = self.pipeline
        results = list(pipeline.ingest(pipeline.reorder_buffer.finish()))
        pipeline.state.is_finished = True
        return self._matches([*results, *pipeline.end()])

    def stream(self, reader: object) -> Any:
        """A pyarrow RecordBatchReader of the matches in one of events: a push for each batch.

        A batch of events is read when its matches are; at its end the matcher is finished.
        """
        self.pipeline.state.check_open()
        return read_through(self.pipeline, reader, self.push, self.finish)

    @_alone
    def snapshot(self, *, key: bytes | None = None) -> bytes:
        """The state, from which `Plan.restore` makes a matcher that goes on here, anywhere.

        With a key it is signed, so that `restore` with that key takes no other.
        """
        return checkpoint(self.pipeline, key)

    @property
    def rows(self) -> int:
        """How many rows were pushed, late ones included."""
        return self.pipeline.reorder_buffer.arrived

    @property
    def late(self) -> Any:
        """A pyarrow Table of the rows that were late, as given, and in `#row` their numbers."""
        return self.pipeline.reorder_buffer.late.table()

    @_alone
    def take_late(self) -> Any:
        """What `late` is, which then begins anew: else all late rows are kept for ever."""
        late = self.late
        self.pipeline.reorder_buffer.late.clear()
        return late

    @property
    def counters(self) -> Counted:
        """What each operator has counted, from the first on."""
        return self.pipeline.counters

    def report(self) -> Report:
        """What there is to say of all that was searched so far."""
        return self.pipeline.report()

    def news(self, *, is_end: bool = False) -> list[str]:
        """The warnings that the report of no push had: no more come if this `is_end`."""
        pipeline = self.pipeline
        of_types = pipeline.state.is_finished and not pipeline.is_done()
        return pipeline.warnings.news(of_types=of_types, is_end=is_end)

    @staticmethod
    def is_called(name: str) -> SaseError:
        """The error of a call while another one works."""
        return SaseError(
            f"{name}() while another call to this matcher works: let one thread at a time call it,"
            " or  plan.open()  one for each"
        )

    def __reduce__(self) -> NoReturn:
        raise SaseError(
            "a matcher is not pickled or copied: keep its  snapshot()  , of which the  restore(…)"
            "  of its plan, which can be pickled, makes one that goes on"
        )

    def __repr__(self) -> str:
        pipeline, state = self.pipeline, self.pipeline.state
        late = pipeline.reorder_buffer.late.count
        time = max(state.watermark, pipeline.reorder_buffer.floor)
        facts = [f"{late:,} of them late"] if late else []
        facts += [f"time {shown_moment(time, pipeline.loader.time)}"] if time > BEGINNING else []
        facts += ["finished"] if state.is_finished else []
        return matcher_line(pipeline.plan, self.rows, facts)

    def _matches(self, results: Iterable[Results]) -> Matches:
        """Results as matches, with the input that they were made of; the rest of it goes."""
        pipeline, found = self.pipeline, tuple(results)  # which may bring more history
        state = pipeline.state
        part = MatchBatch(pipeline.shape, state.history, found)
        warnings, is_end = pipeline.warnings, state.is_finished
        news = None if is_end else warnings.news(of_types=False, is_end=False)
        check = memory_check_of(self.guard)
        matches = Matches.of([part], pipeline.reporting(news=news), check)
        state.history = state.history.since(state.oldest)
        if pipeline.dictionary.texts.is_full:
            pipeline.recycle_texts()
        return matches
