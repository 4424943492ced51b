"""A list of dicts as a table of Arrow."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

import pyarrow as pa

from sase.errors import DataError

Row = Mapping[str, Any]
# What Arrow raises for values of which it makes no array; the last for half of a pair of UTF-16.
UNREADABLE = (pa.ArrowException, OverflowError, UnicodeEncodeError)


def table_of_rows(
    rows: Sequence[Row], type_name: str | None
) -> tuple[pa.RecordBatch, dict[str, DataError]]:
    """The columns that any row has, and why some could not be made; what a row lacks is NULL."""
    columns: dict[str, pa.Array] = {}
    unreadable: dict[str, DataError] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        try:
            columns[name] = array_of(values)
        except UNREADABLE as problem:
            unreadable[name] = _unreadable(name, values, type_name, problem)
    if not columns and rows:
        # A batch without columns has no rows, but these have.
        columns[""] = pa.nulls(len(rows))
    return pa.RecordBatch.from_pydict(columns), unreadable


def array_of(values: list[Any]) -> pa.Array:
    """The values as Arrow takes them, and dates beside moments as the moments they begin with."""
    types = set(map(type, values)) - {type(None)}
    if bool in types and float in types:  # of which Arrow would make 0.0 and 1.0
        raise pa.ArrowTypeError("there are booleans beside floats")
    # Arrow would cut the moments down to dates, or refuse the dates, whichever comes first.
    if date in types and any(issubclass(each, datetime) for each in types):
        if not all(issubclass(each, date) for each in types):  # numbers would become moments
            raise pa.ArrowTypeError("there are dates beside what is none")
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
    row = first_misfit(values)
    of = "" if type_name is None else f" of `{type_name}`"
    if isinstance(problem, OverflowError):
        why = "is beyond the integers of 64 bits: leave it out, or give a float"
    elif isinstance(problem, UnicodeEncodeError):
        why = "is no text in Unicode: replace the surrogates in it"
    else:
        why = "does not go with the values before it: give a column values of one type"
    message = f"row {row} (from 0){of}: `{name}` is {values[row]!r}, which {why}"
    return DataError(message, row, name, values[row])


def first_misfit(values: list[Any]) -> int:
    """The first row with which the values have no type in common."""
    return bisect_left(range(len(values)), True, key=lambda last: not fits(values[: last + 1]))


def fits(values: list[Any]) -> bool:
    """Whether Arrow makes an array of the values."""
    try:
        array_of(values)
    except UNREADABLE:
        return False
    return True
