"""Process a bucket in a micro-batch: restore its state, push rows, advance time, save it.

A stateful operator of Python takes rows by way of pandas, which does not keep all types: so each
task packs its rows into one value for each bucket.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from struct import Struct
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql import types as st
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from sase.api.limits import guard_of
from sase.binding import Schema
from sase.binding.folding import INT64_MAX
from sase.engine.pipeline.checkpoint import restored
from sase.engine.pipeline.limits import CALL, UNLIMITED, Limits
from sase.engine.pipeline.matcher import Matcher
from sase.engine.pipeline.timers import due
from sase.engine.results.batch import MatchBatch
from sase.engine.results.matches import Matches
from sase.errors import SnapshotError
from sase.planning.plan import EnginePlan
from sase.spark.row_layout import PART, RowLayout, from_bytes, gathered, to_bytes
from sase.spark.ties import Ties

if TYPE_CHECKING:
    import pandas as pd

# The lateness of a plan of which the time is moved by the watermark alone.
UNBOUNDED = 2**63 - 1
# In front of a snapshot: the number of buckets, the timer that is set, 0 if none is, and the size.
_HEAD = Struct("<qqq")
# What is saved of stacks has room for more, and other values of a bucket are like each other.
_ZSTD = pa.Codec("zstd", compression_level=1)
# The most bytes of results in one value, about.
MOST_BYTES = 1 << 26
# Rows that are packed together at most: they are held in memory.
MOST_ROWS = 1 << 18
BUCKET, BYTES = "bucket", "bytes"
PACKED = f"{BUCKET} INT, {BYTES} BINARY"
_PACKED = pa.schema([(BUCKET, pa.int32()), (BYTES, pa.binary())])
MILLISECOND = 1_000_000
# What Spark counts in a timestamp.
MICROSECOND = 1_000


@dataclass(frozen=True)
class Bucket:
    """The search of one of `buckets`; rows may be late by `lateness`, or else by the watermark."""

    plan: EnginePlan
    shape: RowLayout
    output: pa.Schema
    ticks: Ticks
    buckets: int
    lateness: int | None = None
    # Of each push.
    limits: Limits = UNLIMITED

    def open(self, state: bytes | None, watermark: int) -> OpenedBucket:
        """The bucket as a micro-batch finds it, at a watermark in milliseconds."""
        guard = guard_of(self.limits, perf_counter_ns, CALL)
        if state is None:
            return OpenedBucket(self, Matcher(self.plan, guard=guard), watermark, 0)
        timer, snapshot = saved_in(state, self.buckets)
        pipeline = restored(self.plan, snapshot, guard=guard)
        return OpenedBucket(self, Matcher.of(pipeline, guard), watermark, timer)


def saved_in(state: bytes, buckets: int) -> tuple[int, bytes]:
    """The timer that is set, and the snapshot, of the state of a bucket."""
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
    """The state of a bucket, which `saved_in` reads."""
    return _HEAD.pack(buckets, timer, len(snapshot)) + bytes(_ZSTD.compress(snapshot))


class AnyOpenedBucket(Protocol):
    """A bucket of a query or of a script within a micro-batch."""

    timer: int
    rows: int
    late: int
    found: int

    def results(self, packed: Sequence[bytes]) -> Iterator[bytes]:
        """Push packed rows, advance to the watermark, and give the results as bytes."""

    def state(self) -> bytes:
        """The state that the next micro-batch goes on from; `timer` is when it must be at last."""


class AnyBucket(Protocol):
    """The search of one of the buckets, of a query or of a script."""

    def open(self, state: bytes | None, watermark: int) -> AnyOpenedBucket:
        """The bucket as a micro-batch finds it, at a watermark in milliseconds."""


class OpenedBucket:
    """A bucket within a micro-batch."""

    def __init__(self, bucket: Bucket, matcher: Matcher, watermark: int, timer: int) -> None:
        self._bucket, self._matcher, self._watermark = bucket, matcher, watermark
        self.timer = timer
        self.rows = self.late = self.found = 0

    def results(self, packed: Sequence[bytes]) -> Iterator[bytes]:
        """Push packed rows, advance to the watermark, and give the results as bytes."""
        matcher, ticks = self._matcher, self._bucket.ticks
        time = ticks.raw(self._watermark)
        if time is not None:
            yield from self._shown(matcher.advance(time))
        if not packed:
            return
        table = pa.concat_tables([from_bytes(each) for each in packed])
        self.rows += table.num_rows
        shape = self._bucket.shape
        if self._bucket.plan.counts_events:
            order = shape.order(self._bucket.plan.schema)
            Ties(self._bucket.plan, shape).check(table.sort_by([(n, "ascending") for n in order]))
        with shape.showing(table):
            pushed = matcher.push(shape.events(table))
        yield from self._shown(pushed)
        self.late += matcher.take_late().num_rows
        lateness, last = self._bucket.lateness, matcher.pipeline.reorder_buffer.latest
        if lateness is not None and last is not None:
            yield from self._shown(matcher.advance(last - lateness))

    def state(self) -> bytes:
        """The state that the next micro-batch goes on from; `timer` is when it must be at last."""
        first = due(self._matcher.pipeline)
        moment = None if first is None else self._bucket.ticks.milliseconds(first)
        # What is due already waits for the watermark to move at all.
        self.timer = 0 if moment is None else max(moment, self._watermark + 1)
        return state_of(self._matcher.snapshot(), self.timer, self._bucket.buckets)

    def _shown(self, matches: Matches) -> Iterator[bytes]:
        tables: list[pa.Table] = []
        size = 0
        for part in matches.parts:
            assert isinstance(part, MatchBatch)
            for piece in part.pieces():
                if not len(piece):
                    continue
                table = piece.table().cast(self._bucket.output)
                self.found += table.num_rows
                tables.append(table)
                size += table.nbytes
                if size >= MOST_BYTES:
                    yield to_bytes(pa.concat_tables(tables))
                    tables, size = [], 0
        if tables:
            yield to_bytes(pa.concat_tables(tables))


COUNTS = ("rows", "late", "found", "state_bytes")
# A row for each value of results, and one with the counts.
RESULTS = st.StructType(
    [
        st.StructField(BYTES, st.BinaryType()),
        *(st.StructField(name, st.LongType()) for name in COUNTS),
    ]
)
_STATE = st.StructType([st.StructField("matcher", st.BinaryType())])


class BucketProcessor(StatefulProcessor):
    """Runs a bucket in each micro-batch that has rows for it, or for which it waited."""

    def __init__(self, bucket: AnyBucket) -> None:
        self._bucket = bucket

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name the state."""
        self._handle = handle
        self._state = handle.getValueState("matcher", _STATE)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        """Rows for a bucket."""
        packed = [data for frame in rows for data in frame[BYTES]]
        return self._run(packed, timerValues)

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[Any]:
        """The watermark has come to what a bucket waits for."""
        return self._run([], timerValues)

    def close(self) -> None:
        """Release nothing: the state is Spark's."""

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

    def _set_timer(self, before: int, opened: AnyOpenedBucket) -> None:
        if opened.timer == before:
            return
        if before in self._handle.listTimers():  # else it was what has called us
            self._handle.deleteTimer(before)
        if opened.timer:
            self._handle.registerTimer(opened.timer)


def _frame(data: bytes | None, *counts: int) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({BYTES: [data], **{n: [c] for n, c in zip(COUNTS, counts, strict=True)}})


def pack_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Pack the rows of a task by bucket: into a value for each, and more if there are many rows."""
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
        """The first raw time that is not before a watermark; None as long as there is none."""
        if watermark <= 0:  # at which Spark begins
            return None
        return min(-(-watermark * MILLISECOND // self.nanoseconds), INT64_MAX)

    def milliseconds(self, raw: int) -> int:
        """The first watermark that brings time to a raw time."""
        # The greatest that does not, and one more.
        return (raw - 1) * self.nanoseconds // MILLISECOND + 1

    def delay(self, raw: int) -> int:
        """A span of raw time in milliseconds, rounded up."""
        return -(-raw * self.nanoseconds // MILLISECOND)

    def reach(self, delay: int) -> int:
        """A lateness in raw units that no row exceeds within a delay of the rounded watermark."""
        return min(-(-(delay + 1) * MILLISECOND // self.nanoseconds), INT64_MAX)

    def timestamp(self, raw: Column) -> Column:
        """Raw time as a timestamp of Spark, which must have room for it."""
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
    " is beyond what the watermark of a stream counts: say with time_unit=... what the time column"
    " counts"
)
