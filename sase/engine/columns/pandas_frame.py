"""Read a frame of pandas column by column that Arrow does not read as a whole."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sase.engine.columns.python_rows import UNREADABLE, Row, array_of, unreadable
from sase.errors import DataError, SchemaError


def is_of_pandas(given: object) -> bool:
    """Whether it is a frame of pandas, which need not be installed."""
    return type(given).__module__.partition(".")[0] == "pandas" and hasattr(given, "columns")


def table_of_frame(
    frame: Any, where: str, type_name: str | None
) -> tuple[pa.RecordBatch, dict[str, DataError], list[Row]]:
    """Return the columns that can be read, why others cannot, and by row the values of these.

    Objects are read as the values of dicts are; what pandas has for missing ones is NULL.
    """
    _check_names(frame, where)
    columns: dict[str, pa.Array] = {}
    problems: dict[str, DataError] = {}
    values: dict[str, list[Any]] = {}
    for name in map(str, frame.columns):
        try:
            read = pa.table(frame[[name]])
            columns[name] = pa.concat_arrays(read.column(0).chunks)
        except UNREADABLE as problem:
            found = _values(frame[name])
            try:
                columns[name] = array_of(found)
            except UNREADABLE:
                problems[name] = unreadable(name, found, type_name, problem)
                values[name] = found
    rows = [dict(zip(values, each, strict=True)) for each in zip(*values.values(), strict=True)]
    return pa.RecordBatch.from_pydict(columns), problems, list[Row](rows)


def _check_names(frame: Any, where: str) -> None:
    names = list(frame.columns)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SchemaError(f"{where}there are several columns `{twice}`: rename all but one")
    odd = next((name for name in names if not isinstance(name, str)), None)
    if odd is not None:
        raise SchemaError(f"{where}the column {odd!r} has no name as text: rename it")


def _values(column: Any) -> list[Any]:
    missing = column.isna().tolist()
    return [
        None if is_missing else value
        for value, is_missing in zip(column.tolist(), missing, strict=True)
    ]
