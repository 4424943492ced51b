"""A list of dicts as a table of Arrow."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

import pyarrow as pa

from sase.errors import DataError

Row = Mapping[str, Any]


def table_of_rows(
    rows: Sequence[Row], type_name: str | None
) -> tuple[pa.RecordBatch, dict[str, DataError]]:
    """The columns that any row has, and why some could not be made; what a row lacks is NULL."""
    columns: dict[str, pa.Array] = {}
    unreadable: dict[str, DataError] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        try:
            columns[name] = _array(values)
        except (pa.ArrowException, OverflowError) as problem:
            unreadable[name] = _unreadable(name, values, type_name, problem)
    if not columns and rows:
        # A batch without columns has no rows, but these have.
        columns[""] = pa.nulls(len(rows))
    return pa.RecordBatch.from_pydict(columns), unreadable


def _array(values: list[Any]) -> pa.Array:
    """The values as Arrow takes them, and dates beside moments as the moments they begin with."""
    # Arrow would cut the moments down to dates, or refuse the dates, whichever comes first.
    moments = any(isinstance(value, datetime) for value in values)
    if moments and any(type(value) is date for value in values):
        midnight = datetime.min.time()
        return pa.array(
            [datetime.combine(v, midnight) if type(v) is date else v for v in values],
            pa.timestamp("us"),
        )
    return pa.array(values)


def _unreadable(
    name: str, values: list[Any], type_name: str | None, problem: Exception
) -> DataError:
    """The error that names the first row with which the values have no type in common."""
    row = bisect_left(range(len(values)), True, key=lambda last: not _fits(values[: last + 1]))
    of = "" if type_name is None else f" of `{type_name}`"
    if isinstance(problem, OverflowError):
        why = "is beyond the integers of 64 bits: leave it out, or give a float"
    else:
        why = "does not go with the values before it: give a column values of one type"
    message = f"row {row} (from 0){of}: `{name}` is {values[row]!r}, which {why}"
    return DataError(message, row, name, values[row])


def _fits(values: list[Any]) -> bool:
    try:
        _array(values)
    except (pa.ArrowException, OverflowError):
        return False
    return True
