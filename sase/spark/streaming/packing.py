"""Rows as bytes and back: what a stateful operator is given, and what it gives.

Python operators with state take rows by way of pandas, which does not keep all types, and by one
row at a time. So each task packs its rows, as Arrow has them, into one value for each bucket.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sase.spark.blocks import gathered
from sase.spark.row_layout import PART

# Rows that are packed together at most: they are held in memory.
MOST_ROWS = 1 << 18
BUCKET, BYTES = "bucket", "bytes"
PACKED = f"{BUCKET} INT, {BYTES} BINARY"
_PACKED = pa.schema([(BUCKET, pa.int32()), (BYTES, pa.binary())])
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")


def to_bytes(table: pa.Table) -> bytes:
    """A table as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_COMPRESSED) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def from_bytes(data: bytes) -> pa.Table:
    """The table that `to_bytes` wrote."""
    return pa.ipc.open_stream(data).read_all()


@dataclass(frozen=True)
class PackRows:
    """Packs the rows of a task by bucket."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """A row for each bucket, and more if there are many rows."""
        yield from map(_packed, gathered(batches, MOST_ROWS))


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


@dataclass(frozen=True)
class UnpackRows:
    """Unpacks results."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The results, as they were packed."""
        for batch in batches:
            for data in batch.column(0):
                yield from from_bytes(data.as_buffer()).to_batches()
