"""Process a bucket in a micro-batch: restore its state, push rows, advance time, save it.

A stateful Python operator receives rows through pandas, which does not keep all types. So each task
packs its rows into one value for each bucket.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from struct import Struct
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql import types as st
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from sase.api.checks import guard_of
from sase.binding import Schema
from sase.binding.values.folding import INT64_MAX
from sase.engine.pipeline.limits import CALL, UNLIMITED, Limits
from sase.engine.results.matches import Matches
from sase.engine.scripts.lone_statement import LoneStatement
from sase.engine.scripts.pipeline import ScriptPipeline
from sase.errors import SnapshotError
from sase.spark.reading.row_layout import PART, from_bytes, gathered, to_bytes
from sase.spark.tasks.search import QuerySearch, ScriptSearch, pieces

if TYPE_CHECKING:
    import pandas as pd

# The header of a snapshot: the number of buckets, the timer (0 for none), and the size.
_HEAD = Struct("<qqq")
# Saved stacks have unused space, and other values of a bucket are similar, so they compress well.
_ZSTD = pa.Codec("zstd", compression_level=1)
# The approximate limit of bytes of results in one value.
MOST_BYTES = 1 << 26
# The greatest number of rows that are packed together; they are held in memory.
MOST_ROWS = 1 << 18
BUCKET, BYTES = "bucket", "bytes"
PACKED = f"{BUCKET} INT, {BYTES} BINARY"
_PACKED = pa.schema([(BUCKET, pa.int32()), (BYTES, pa.binary())])
MILLISECOND = 1_000_000
# The unit of Spark's timestamps.
MICROSECOND = 1_000


class InputClock(NamedTuple):
    """The time unit of an input, and the `delay` of its rows; None if it has a watermark."""

    name: str | None
    ticks: Ticks
    delay: int | None = None

    @classmethod
    def of(cls, name: str | None, schema: Schema, lateness: int | None) -> InputClock:
        """The clock of an input with this lateness in raw units."""
        ticks = Ticks.of(schema)
        return cls(name, ticks, None if lateness is None else ticks.delay(lateness))

    @property
    def lateness(self) -> int | None:
        """The greatest lateness of rows, in raw units."""
        return None if self.delay is None else self.ticks.reach(self.delay)


@dataclass(frozen=True)
class Bucket:
    """The search of one of `buckets`, in rows of inputs with a clock each."""

    search: QuerySearch | ScriptSearch
    clocks: tuple[InputClock, ...]
    buckets: int
    # The limits of each push.
    limits: Limits = UNLIMITED

    def open(self, state: bytes | None, watermark: int) -> OpenedBucket:
        """The bucket at the start of a micro-batch, with the watermark in milliseconds."""
        timer, snapshot = (0, None) if state is None else saved_in(state, self.buckets)
        return OpenedBucket(self, snapshot, watermark, timer)


def saved_in(state: bytes, buckets: int) -> tuple[int, bytes]:
    """Read the timer and the snapshot from the state of a bucket."""
    if len(state) < _HEAD.size:
        raise SnapshotError(f"the state of this stream is damaged: it has {len(state)} bytes")
    before, timer, size = _HEAD.unpack_from(state)
    if before != buckets:
        raise SnapshotError(
            f"the state of this stream is in {before} buckets, and the query was started with"
            f" {buckets}: start it with  buckets={before}  , or without its checkpoint"
        )
    try:
        return timer, _ZSTD.decompress(state[_HEAD.size :], size, asbytes=True)
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError) as problem:
        raise SnapshotError(f"the state of this stream is damaged: {problem}") from problem


def state_of(snapshot: bytes, timer: int, buckets: int) -> bytes:
    """The state of a bucket; `saved_in` reads it."""
    return _HEAD.pack(buckets, timer, len(snapshot)) + bytes(_ZSTD.compress(snapshot))


class OpenedBucket:
    """A bucket during a micro-batch."""

    def __init__(self, bucket: Bucket, snapshot: bytes | None, watermark: int, timer: int) -> None:
        self._bucket, self._watermark, self.timer = bucket, watermark, timer
        self._search: Any = bucket.search  # a search accepts only pipelines that it opened
        guard = guard_of(bucket.limits, perf_counter_ns, CALL)
        self._opened: LoneStatement | ScriptPipeline = self._search.opened(guard, snapshot)
        self.rows = self.late = self.found = 0

    def results(self, packed: Sequence[bytes]) -> Iterator[bytes]:
        """Push packed rows, advance to the watermark, and return the results as bytes."""
        opened, clocks = self._opened, {each.name: each for each in self._bucket.clocks}
        for clock in clocks.values():
            time = clock.ticks.raw(self._watermark)
            if time is not None:
                yield from self._shown(opened.advance(time, (clock.name,)))
        if not packed:
            return
        tables = [from_bytes(each) for each in packed]
        table = pa.concat_tables(tables, promote_options="default")
        self.rows += table.num_rows
        for name, found in self._search.pushed(opened, table):
            yield from self._shown(found)
            buffer, lateness = opened.inputs[name].reorder_buffer, clocks[name].lateness
            self.late += buffer.late.table().num_rows
            buffer.late.clear()
            if lateness is not None and buffer.latest is not None:
                yield from self._shown(opened.advance(buffer.latest - lateness, (name,)))

    def state(self) -> bytes:
        """The state for the next micro-batch; `timer` is the latest time for it."""
        waits = [Ticks.of(schema).milliseconds(raw) for schema, raw in self._opened.due()]
        # Matches that are already due wait for the next move of the watermark.
        self.timer = max(min(waits), self._watermark + 1) if waits else 0
        return state_of(self._search.snapshot(self._opened), self.timer, self._bucket.buckets)

    def _shown(self, matches: Mapping[str, Matches]) -> Iterator[bytes]:
        tables: list[pa.Table] = []
        size = 0
        for name, piece in pieces(matches):
            table = self._search.table(name, piece)
            self.found += table.num_rows
            tables.append(table)
            size += table.nbytes
            if size >= MOST_BYTES:
                yield to_bytes(pa.concat_tables(tables))
                tables, size = [], 0
        if tables:
            yield to_bytes(pa.concat_tables(tables))


COUNTS = ("rows", "late", "found", "state_bytes")
# A row for each value of results, and a row of counts.
RESULTS = st.StructType(
    [
        st.StructField(BYTES, st.BinaryType()),
        *(st.StructField(name, st.LongType()) for name in COUNTS),
    ]
)
_STATE = st.StructType([st.StructField("matcher", st.BinaryType())])


class BucketProcessor(StatefulProcessor):
    """Runs a bucket in each micro-batch with rows for it, or with its timer."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name the state."""
        self._handle = handle
        self._state = handle.getValueState("matcher", _STATE)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        """Process the rows of a bucket."""
        packed = [data for frame in rows for data in frame[BYTES]]
        return self._run(packed, timerValues)

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Any]:
        """Process a bucket when the watermark has reached its timer."""
        return self._run([], timerValues)

    def close(self) -> None:
        """Release nothing; Spark owns the state."""

    def _run(self, packed: list[bytes], timer_values: Any) -> Iterator[pd.DataFrame]:
        saved = self._state.get()
        state = None if saved is None else bytes(saved[0])
        opened = self._bucket.open(state, timer_values.getCurrentWatermarkInMs())
        before = opened.timer
        for data in opened.results(packed):
            yield _frame(data, 0, 0, 0, 0)
        state_after = opened.state()
        self._state.update((state_after,))
        self._set_timer(before, opened)
        size = len(state_after) - (0 if state is None else len(state))
        yield _frame(None, opened.rows, opened.late, opened.found, size)

    def _set_timer(self, before: int, opened: OpenedBucket) -> None:
        if opened.timer == before:
            return
        if before in self._handle.listTimers():  # otherwise this timer has just fired
            self._handle.deleteTimer(before)
        if opened.timer:
            self._handle.registerTimer(opened.timer)


def _frame(data: bytes | None, *counts: int) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({BYTES: [data], **{n: [c] for n, c in zip(COUNTS, counts, strict=True)}})


def pack_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Pack the rows of a task by bucket, into a value for each; many rows need more values."""
    return map(_packed, gathered(batches, MOST_ROWS))


def _packed(rows: pa.Table) -> pa.RecordBatch:
    parts, rows = rows.column(PART).to_numpy(), rows.drop_columns([PART])
    order = np.argsort(parts, kind="stable")
    numbers, starts = np.unique(parts[order], return_index=True)
    sorted_rows = rows.take(order) if len(numbers) > 1 else rows
    ends = [*starts[1:], len(parts)]
    data = [
        to_bytes(sorted_rows.slice(start, end - start).combine_chunks())
        for start, end in zip(starts, ends, strict=True)
    ]
    return pa.record_batch([pa.array(numbers, pa.int32()), pa.array(data)], schema=_PACKED)


def unpack_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Unpack results."""
    for batch in batches:
        for data in batch.column(0):
            yield from from_bytes(data.as_buffer()).to_batches()


# ---------------------------------------------------------------- time


@dataclass(frozen=True, slots=True)
class Ticks:
    """The nanoseconds of a raw unit of time; an unknown unit counts as a millisecond."""

    nanoseconds: int = MILLISECOND

    @classmethod
    def of(cls, schema: Schema) -> Ticks:
        """The ticks of the time column of a schema."""
        return cls(schema.nanoseconds or MILLISECOND)

    def raw(self, watermark: int) -> int | None:
        """The first raw time at or after a watermark; None if there is no watermark yet."""
        if watermark <= 0:  # Spark begins with 0
            return None
        return min(-(-watermark * MILLISECOND // self.nanoseconds), INT64_MAX)

    def milliseconds(self, raw: int) -> int:
        """The first watermark that advances time to a raw time."""
        # The greatest watermark that does not, plus one.
        return (raw - 1) * self.nanoseconds // MILLISECOND + 1

    def delay(self, raw: int) -> int:
        """A span of raw time in milliseconds, rounded up."""
        return -(-raw * self.nanoseconds // MILLISECOND)

    def reach(self, delay: int) -> int:
        """The lateness in raw units that covers a delay after the watermark was rounded."""
        return min(-(-(delay + 1) * MILLISECOND // self.nanoseconds), INT64_MAX)

    def timestamp(self, raw: Column) -> Column:
        """Raw time as a timestamp of Spark; an error if it is out of range."""
        if self.nanoseconds <= MICROSECOND:
            share = sf.lit(MICROSECOND // self.nanoseconds)
            return sf.timestamp_micros(sf.call_function("div", raw - sf.pmod(raw, share), share))
        factor = self.nanoseconds // MICROSECOND
        most = INT64_MAX // factor
        message = sf.concat(sf.lit("the time "), raw.cast("string"), sf.lit(_BEYOND))
        fits = raw.between(sf.lit(-most), sf.lit(most)) | raw.isNull()
        micros = sf.when(fits, raw * sf.lit(factor)).otherwise(sf.raise_error(message))
        return sf.timestamp_micros(micros.cast("bigint"))


_BEYOND = (
    " is beyond the range of a stream's watermark: give the unit of the time column with"
    " time_unit=..."
)
