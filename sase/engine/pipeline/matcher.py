"""The matcher: events are pushed as they come, and it returns the matches that they complete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from threading import Lock
from typing import Any, Concatenate, NoReturn, ParamSpec, TypeVar

import numpy as np
import pyarrow as pa

from sase.binding.bound import EventValues
from sase.engine.blocks.key_texts import SharedTexts
from sase.engine.blocks.shared_conditions import ConditionsOf
from sase.engine.columns import Events, opened
from sase.engine.columns.arrays import Numbers
from sase.engine.columns.arrow.input import Inputs
from sase.engine.columns.arrow.python_rows import foreign_table, is_of_spark
from sase.engine.columns.arrow.slice import taken
from sase.engine.columns.decode.timestamps import raw_moment, shown_moment
from sase.engine.operators.transformation import Results
from sase.engine.pipeline.checkpoint import checkpoint
from sase.engine.pipeline.fused.open import open_pipeline
from sase.engine.pipeline.limits import RunGuard, memory_check_of
from sase.engine.pipeline.pipeline import Counted, Pipeline
from sase.engine.pipeline.reorder_buffer import Arrived
from sase.engine.pipeline.shared_rows import SharedRows
from sase.engine.pipeline.stream_state import BEGINNING
from sase.engine.report import Report
from sase.engine.resources import Check, no_check
from sase.engine.results.arrow_columns import result_type
from sase.engine.results.batch import MatchBatch
from sase.engine.results.matches import Matches
from sase.engine.results.repr import matcher_line
from sase.engine.results.row_history import HistorySegment, RowHistory
from sase.errors import BudgetError, DataError, PlanError, SaseError
from sase.planning.engine_plan import EnginePlan

# ---------------------------------------------------------------- reader


def read_through(
    pipeline: Pipeline,
    events: object,
    push: Callable[[pa.RecordBatch], Matches],
    finish: Callable[[], Matches],
) -> pa.RecordBatchReader:
    """The matches in the batches of a reader; each batch is pushed when its matches are read."""
    reader = _reader(events)
    schema = result_schema(pipeline, reader.schema)

    def batches() -> Iterator[pa.RecordBatch]:
        while (batch := _next(reader, pipeline.reorder_buffer.arrived)) is not None:
            yield from _parts(pipeline, push(batch), schema)
        yield from _parts(pipeline, finish(), schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _reader(events: object) -> pa.RecordBatchReader:
    if isinstance(events, pa.RecordBatchReader):
        return events
    if isinstance(events, pa.Table):
        return events.to_reader()
    foreign = foreign_table(events)
    if hasattr(events, "__arrow_c_stream__") and not is_of_spark(events):
        try:
            return pa.RecordBatchReader.from_stream(events)
        except pa.ArrowException as problem:
            raise DataError(f"Arrow cannot read these events: {problem}") from problem
    what, remedy = f"of type {type(events).__name__}", "push its parts, or make a reader of them"
    if foreign is not None:
        what, remedy = foreign.what, foreign.remedy
    raise DataError(
        f"a stream of matches is made of a pyarrow RecordBatchReader, and this is {what}: {remedy}"
    )


def _next(reader: pa.RecordBatchReader, row: int) -> pa.RecordBatch | None:
    try:
        return reader.read_next_batch()
    except StopIteration:
        return None
    except (OSError, pa.ArrowException) as problem:
        raise DataError(f"the events cannot be read beyond row {row}: {problem}") from problem


def _parts(pipeline: Pipeline, matches: Matches, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The matches of a push as one batch, so that none wait when the next batch is read."""
    if not len(matches):
        return
    table = matches.to_arrow()
    try:
        table = table.cast(schema)
    except pa.ArrowInvalid as problem:
        raise DataError(
            f"results do not fit the types that all results of this stream have: {problem}"
        ) from problem
    parts = table.combine_chunks().to_batches()
    for number, part in enumerate(parts, 1):
        pipeline.state.is_undelivered = number < len(parts)  # more than Arrow holds in one batch
        yield part


def result_schema(pipeline: Pipeline, value: object) -> pa.Schema:
    """The schema of the results of all pushes, before there are any; `value` are empty events."""
    inputs = opened(value)
    history = RowHistory((HistorySegment.of(0, inputs, pipeline.load_again(inputs)),))
    for column in pipeline.shape.columns or ():
        if isinstance(column.value, EventValues):
            continue  # of the type of the column
        if result_type(column.value, None) is None:
            raise PlanError(
                f"the type of the result `{column.name}` is not known before there is one, and a"
                " stream has one for all: compile the query with the schema of the reader"
            )
    return MatchBatch(pipeline.shape, history).table().schema


# ---------------------------------------------------------------- matcher

_Taken = ParamSpec("_Taken")
_Given = TypeVar("_Given")
_Method = Callable[Concatenate["Matcher", _Taken], _Given]

# Errors that may interrupt a call, beside interrupts.
ENDS = (BudgetError, MemoryError)


def _alone(method: _Method[_Taken, _Given]) -> _Method[_Taken, _Given]:
    """Serialize calls: refuse a call while another one works, as kernels write to shared state."""

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
    """Serialize calls, enforce limits, and close the matcher if a call is interrupted."""

    # In one function, not in two: each adds to a small push the time of a few hundred events.
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

    Row numbers in the results of `push`, `advance` and `finish` count from the first row pushed. A
    `guard` ends calls that exceed its limits, and `check` ends the run to which the calls belong.
    `key_texts` and `conditions` are those of all matchers of a stream.

    Examples:
        >>> events = [{"ts": 1, "type": "A", "id": 7}, {"ts": 2, "type": "B", "id": 7}]
        >>> matcher = sase.compile("EVENT SEQ(A a, B b) WHERE [id] WITHIN 10", events).open()
        >>> for event in events:
        ...     print(len(matcher.push([event])))
        0
        1
        >>> len(matcher.finish())
        0
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
        """A matcher that continues with a pipeline; a guard checks its calls."""
        if guard is not None:
            guard.unbounded = pipeline.plan.unbounded
        matcher = cls.__new__(cls)
        matcher.pipeline, matcher.is_free, matcher.guard = pipeline, Lock(), guard
        return matcher

    @_working
    def push(self, batch: object) -> Matches:
        """Return the matches that become certain with these rows: no earlier row can come any more.

        Late rows are in `late` (docs/semantics.md, Late rows).
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
        """Push rows with row numbers that are not consecutive."""
        return self._push(self.pipeline.open_input(inputs), rows)

    @_working
    def push_ordered(self, events: object) -> Matches:
        """Push rows of which none comes before a row of an earlier push, so none has to wait."""
        pipeline = self.pipeline
        inputs, loaded, rows = self._good(pipeline.open_input(events), None)
        return self._matches(pipeline.ingest([Arrived(inputs, loaded, pipeline.at.events, rows)]))

    @_working
    def take(self, pieces: Iterable[tuple[Inputs, Numbers | None]], floor: int | None) -> Matches:
        """Push rows in order with their numbers, advance to `floor`, and return the matches.

        No row before the `floor` will come; without a `floor` no row at all.
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
        """Push those of `count` rows, loaded for several plans, that concern this plan."""
        pipeline, results = self.pipeline, list[Results]()
        pipeline.reorder_buffer.arrived += count
        for each in shared:
            results += pipeline.ingest_shared(each)
        return self._matches([*results, *self._passed(floor)])

    def _passed(self, floor: int | None) -> Iterator[Results]:
        """The results that become certain because no event before `floor`, or none, comes."""
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
        """Push the events of `count` rows, and return the matches that they complete."""
        buffer = self.pipeline.reorder_buffer
        return self._matches(self.pipeline.ingest(buffer.push(inputs, events, count, rows)))

    def _good(self, inputs: Inputs, rows: Numbers | None) -> tuple[Inputs, Events, Numbers | None]:
        """Remove bad rows, and return the others, their events and their numbers."""
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
        """Return the matches that become certain when time passes to a timestamp without an event.

        Rows before it that come later are late. An integer is in raw units, as times in results
        are. A float is in seconds where the column has floats. For timestamps and dates, values of
        Python, numpy, pandas and pyarrow or ISO text are allowed too: in UTC without a zone,
        rounded down.
        """
        pipeline = self.pipeline
        raw = raw_moment(to, pipeline.loader.time, pipeline.plan.schema.time)
        return self._matches(list(pipeline.ingest(pipeline.reorder_buffer.advance(raw))))

    @_working
    def finish(self) -> Matches:
        """Return the matches that become certain because no event will come."""
        pipeline = self.pipeline
        results = list(pipeline.ingest(pipeline.reorder_buffer.finish()))
        pipeline.state.is_finished = True
        return self._matches([*results, *pipeline.end()])

    def stream(self, reader: object) -> Any:
        """A pyarrow RecordBatchReader of the matches in a reader of events: a push for each batch.

        A batch of events is read when its matches are read. At the end of the events the matcher is
        finished.
        """
        self.pipeline.state.check_open()
        return read_through(self.pipeline, reader, self.push, self.finish)

    @_alone
    def snapshot(self, *, key: bytes | None = None) -> bytes:
        """The state, from which `Plan.restore` makes a matcher that continues here, in any process.

        With a key it is signed, and `restore` with that key takes no other state.
        """
        return checkpoint(self.pipeline, key)

    @property
    def rows(self) -> int:
        """The number of pushed rows, late ones included."""
        return self.pipeline.reorder_buffer.arrived

    @property
    def late(self) -> Any:
        """A pyarrow Table of the late rows, as given; `#row` has their numbers."""
        return self.pipeline.reorder_buffer.late.table()

    @_alone
    def take_late(self) -> Any:
        """Return `late` and empty it: otherwise all late rows are kept for ever."""
        late = self.late
        self.pipeline.reorder_buffer.late.clear()
        return late

    @property
    def counters(self) -> Counted:
        """The counters of each operator, from the first operator on."""
        return self.pipeline.counters

    def report(self) -> Report:
        """The report of all that was searched so far."""
        return self.pipeline.report()

    def news(self, *, is_end: bool = False) -> list[str]:
        """The warnings that no report of a push had; `is_end` if no more will come."""
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
            "a matcher is not pickled or copied: keep its  snapshot()  , and pickle its plan;"
            " the  restore(…)  of the plan makes a matcher of it that continues"
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
        """Make matches of results with their input, and drop the rest of the input."""
        pipeline, found = self.pipeline, tuple(results)  # computing them may add history
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
