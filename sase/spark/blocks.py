"""The rows of a part in blocks for the matcher: none too small, and none that parts a moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from sase.errors import SaseError

# Rows of a block: enough that what a push costs by itself does not count.
BLOCK = 1 << 17


def gathered(batches: Iterable[pa.RecordBatch], enough: int | None = None) -> Iterator[pa.Table]:
    """Batches together until there are enough rows, those of a block unless it is said."""
    enough = BLOCK if enough is None else enough
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            count += batch.num_rows
        if count >= enough:
            yield pa.Table.from_batches(waiting)
            waiting, count = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def whole_moments(tables: Iterable[pa.Table], time: str, slack: int) -> Iterator[pa.Table]:
    """Rows in the order of time so that those of a time come together.

    Then each can be sorted by itself where the times are equal, or differ by no more than the
    `slack` by which floats in a time column may be off.
    """
    waiting: pa.Table | None = None
    for rows in tables:
        if waiting is not None:
            rows = pa.concat_tables([waiting, rows])
        times = _times(rows.column(time))
        begun = 0 if waiting is None else waiting.num_rows
        if 0 < begun < len(times) and times[begun:].min() < times[:begun].max():
            raise SaseError(
                f"the rows of a task are not in the order of `{time}`: something between the"
                " events and  sase.spark  has moved them"
            )
        # NaN is not waited with: the row is bad, and is said to be so when it is pushed.
        ready = np.flatnonzero(~(times >= times.max() - _tolerance(times, slack)))
        end = int(ready[-1]) + 1 if len(ready) else 0
        if end:
            yield rows.slice(0, end)
        waiting = rows.slice(end)
    if waiting is not None and waiting.num_rows:
        yield waiting


def _tolerance(times: np.ndarray[Any, Any], slack: int) -> float | int:
    return 2 * slack / 1e6 if times.dtype.kind == "f" else 0


def _times(column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    """Times as numbers; what has none is the least."""
    if pa.types.is_floating(column.type):
        return np.asarray(column.cast(pa.float64()).fill_null(-np.inf).to_numpy())
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    return np.asarray(column.cast(pa.int64()).fill_null(-(2**63)).to_numpy())
