"""The layout of rows that are sent to tasks, and the blocks in which tasks search them.

Rows are plain, or have a struct of columns for each event type, because a column may have different
types by event type. Time and `seq`, or both times, are then columns beside the structs, so that
rows can be sorted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sase.binding import Schema
from sase.errors import DataError, SaseError

# The names of the added columns.
PART, TIME, SEQ = "#part", "#time", "#seq"
# The rows of a block; with this many, the fixed cost of a push is negligible.
BLOCK = 1 << 17


def packed(number: int) -> str:
    """The name of the struct with the columns of a DataFrame."""
    return f"#{number}"


@dataclass(frozen=True)
class RowLayout:
    """The types with columns in a struct each; none for a single DataFrame."""

    types: tuple[str, ...] = ()

    def order(self, schema: Schema) -> tuple[str, ...]:
        """The sort columns of rows."""
        second = schema.seq or schema.until
        first = (TIME, SEQ) if self.types else (schema.time, second or "")
        return first if second is not None else first[:1]

    def events(self, rows: pa.Table) -> pa.Table | dict[str, pa.Table]:
        """The events in the form that the engine reads."""
        if not self.types:
            return rows
        found = {}
        for number, name in enumerate(self.types):
            if (index := rows.schema.get_field_index(packed(number))) >= 0:
                column = rows.column(index)
                present = column.filter(column.is_valid()).combine_chunks()
                found[name] = pa.Table.from_struct_array(present)
        return found

    def shown(self, rows: pa.Table) -> Iterator[dict[str, Any]]:
        """Rows as messages show them."""
        for row in rows.to_pylist():
            if not self.types:
                yield row
                continue
            for number, name in enumerate(self.types):
                if (event := row.get(packed(number))) is not None:
                    yield {"type": name, **event}

    @contextmanager
    def showing(self, rows: pa.Table) -> Iterator[None]:
        """Add the bad row to an error, because its number within a push means nothing to a user."""
        try:
            yield
        except DataError as problem:
            if problem.row is None:
                raise
            reason = re.sub(r"^row [^:]*: ", "", problem.message)
            message = f"a row is bad, {self._row(rows, problem.row)}: {reason}"
            raise DataError(message, None, problem.column, problem.value) from None

    def _row(self, rows: pa.Table, number: int) -> str:
        """The row with a number of the engine, which counts the rows type by type."""
        events = self.events(rows)
        for name, table in events.items() if isinstance(events, dict) else [("", events)]:
            if number < table.num_rows:
                return f"{name}{table.slice(number, 1).to_pylist()[0]}"
            number -= table.num_rows
        raise IndexError(number)


# ---------------------------------------------------------------- blocks


def gathered(batches: Iterable[pa.RecordBatch], enough: int | None = None) -> Iterator[pa.Table]:
    """Gather batches into tables of enough rows, by default those of a block."""
    enough = BLOCK if enough is None else enough
    pending: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        if batch.num_rows:
            pending.append(batch)
            count += batch.num_rows
        if count >= enough:
            yield pa.Table.from_batches(pending)
            pending, count = [], 0
    if pending:
        yield pa.Table.from_batches(pending)


def whole_moments(tables: Iterable[pa.Table], time: str, slack: int) -> Iterator[pa.Table]:
    """Cut rows in the order of time between times that differ by more than `slack`."""
    pending: pa.Table | None = None
    for rows in tables:
        if pending is not None:
            rows = pa.concat_tables([pending, rows])
        times = _times(rows.column(time))
        carried = 0 if pending is None else pending.num_rows
        if 0 < carried < len(times) and times[carried:].min() < times[:carried].max():
            raise SaseError(
                f"the rows of a task are not in the order of `{time}`: something between the"
                " events and  sase.spark  has moved them"
            )
        # NaN is passed at once, because the row is bad and the push reports it.
        tolerance = 2 * slack / 1e6 if times.dtype.kind == "f" else 0
        ready = np.flatnonzero(~(times >= times.max() - tolerance))
        end = int(ready[-1]) + 1 if len(ready) else 0
        if end:
            yield rows.slice(0, end)
        pending = rows.slice(end)
    if pending is not None and pending.num_rows:
        yield pending


def _times(column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    """Times as numbers; a missing time is the least number."""
    if pa.types.is_floating(column.type):
        return np.asarray(column.cast(pa.float64()).fill_null(-np.inf).to_numpy())
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    return np.asarray(column.cast(pa.int64()).fill_null(-(2**63)).to_numpy())


def to_bytes(table: pa.Table | pa.RecordBatch) -> bytes:
    """Rows as bytes in one value."""
    sink, options = pa.BufferOutputStream(), pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write(table)
    return bytes(sink.getvalue())


def from_bytes(data: bytes) -> pa.Table:
    """The table that `to_bytes` wrote."""
    return pa.ipc.open_stream(data).read_all()
