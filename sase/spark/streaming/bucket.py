"""Process one bucket in a micro-batch: restore its state, push rows, advance time, save it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from struct import Struct

import pyarrow as pa

from sase.engine.pipeline.checkpoint import restored
from sase.engine.pipeline.matcher import Matcher
from sase.engine.pipeline.timers import due
from sase.engine.plan import EnginePlan
from sase.engine.results.batch import MatchBatch
from sase.engine.results.matches import Matches
from sase.errors import SnapshotError
from sase.spark.row_layout import RowLayout
from sase.spark.streaming.packing import from_bytes, to_bytes
from sase.spark.streaming.timing import Ticks
from sase.spark.ties import Ties

# The lateness of a plan of which the time is moved by the watermark alone.
UNBOUNDED = 2**63 - 1
# In front of a snapshot: the number of buckets, the timer that is set, 0 if none is, and the size.
_HEAD = Struct("<qqq")
# What is saved of stacks has room for more, and other values of a bucket are like each other.
_ZSTD = pa.Codec("zstd", compression_level=1)
# The most bytes of results in one value, about.
MOST_BYTES = 1 << 26


@dataclass(frozen=True)
class Bucket:
    """The search of a bucket, one of so many.

    `lateness` is by how much rows may be late in raw units; None where the watermark alone says it.
    """

    plan: EnginePlan
    shape: RowLayout
    output: pa.Schema
    ticks: Ticks
    buckets: int
    lateness: int | None = None

    def open(self, state: bytes | None, watermark: int) -> OpenedBucket:
        """The bucket as a micro-batch finds it, at a watermark in milliseconds."""
        if state is None:
            return OpenedBucket(self, Matcher(self.plan), watermark, 0)
        buckets, timer, size = _HEAD.unpack_from(state)
        if buckets != self.buckets:
            raise SnapshotError(
                f"the state of this stream is in {buckets} buckets, and the query was started with"
                f" {self.buckets}: start it with  buckets={buckets}  , or without its checkpoint"
            )
        snapshot = _ZSTD.decompress(state[_HEAD.size :], size, asbytes=True)
        return OpenedBucket(self, Matcher.of(restored(self.plan, snapshot)), watermark, timer)


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
            Ties(self._bucket.plan, shape).check(
                _sorted(table, shape.order(self._bucket.plan.schema))
            )
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
        saved = self._matcher.snapshot()
        head = _HEAD.pack(self._bucket.buckets, self.timer, len(saved))
        return head + bytes(_ZSTD.compress(saved))

    def _shown(self, matches: Matches) -> Iterator[bytes]:
        held: list[pa.Table] = []
        size = 0
        for part in matches.parts:
            assert isinstance(part, MatchBatch)
            for piece in part.pieces():
                if not len(piece):
                    continue
                table = piece.table().cast(self._bucket.output)
                self.found += table.num_rows
                held.append(table)
                size += table.nbytes
                if size >= MOST_BYTES:
                    yield to_bytes(pa.concat_tables(held))
                    held, size = [], 0
        if held:
            yield to_bytes(pa.concat_tables(held))


def _sorted(table: pa.Table, names: Sequence[str]) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in names])
