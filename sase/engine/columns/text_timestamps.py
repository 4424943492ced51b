"""Moments that files hold as text, in the form of ISO 8601: found in samples, and parsed."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from sase.engine.columns.strings import is_unicode
from sase.errors import DataError

ZONED, LOCAL = pa.timestamp("us", "UTC"), pa.timestamp("us")


def moments_among(sample: pa.Table, times: Collection[str]) -> dict[str, pa.DataType]:
    """Return the columns of strings whose values in the sample are all moments, with their types.

    In columns that may be the time of events half of the values are enough: the others are in bad
    rows.
    """
    found = {}
    for name, column in zip(sample.column_names, sample.columns, strict=True):
        values = pc.unique(_as_texts(column)).drop_null()
        kinds = [kind for kind in (LOCAL, ZONED) if len(values) and _all_are(values, kind)]
        if not kinds and name in times:
            kinds = [kind for kind in (LOCAL, ZONED) if _most_are(values, kind)]
        if kinds:
            found[name] = kinds[0]
    return found


def with_moments(
    table: pa.Table, moments: Mapping[str, pa.DataType], path: str, first: int = 0
) -> pa.Table:
    """Parse the text of some columns as moments; the table begins at row `first` of the file."""
    for name, kind in moments.items():
        index = table.schema.get_field_index(name)
        if index >= 0:
            column = _parsed(table.column(index), kind, name, path, first)
            table = table.set_column(index, pa.field(name, kind), column)
    return table


def _parsed(
    column: pa.ChunkedArray, kind: pa.DataType, name: str, path: str, first: int
) -> pa.ChunkedArray:
    """Parse a column of text; raise an error for the first value that is no moment."""
    texts = _as_texts(column)
    try:
        return pc.cast(texts, kind)
    except pa.ArrowException as problem:
        reasons = ((row, v, why_none(v, kind)) for row, v in enumerate(texts.to_pylist(), first))
        row, value, why = next(found for found in reasons if found[2] is not None)
        message = f"{path}, row {row} (from 0): `{name}` is {value!r}: {why}"
        raise DataError(message, row, name, value) from problem


def why_none(value: object, kind: pa.DataType) -> str | None:
    """Say why a value is no text of a moment like the others of its column, if it is none."""
    if value is None:
        return None
    if isinstance(value, str) and is_unicode(value):
        values = pa.array([value])
        if _all_are(values, kind):
            return None
        if kind.tz is not None and _all_are(values, LOCAL):
            return "this moment has no zone, and others do: add its offset, such as Z or +01:00"
        if kind.tz is None and _all_are(values, ZONED):
            return "this moment has a zone, and others have none: leave it out, or give all one"
    return "this is no moment in the form of ISO 8601, such as 2026-01-31 12:00:00"


def _as_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Cast to text: a number among JSON lines must not pass for a moment."""
    return column if pa.types.is_string(column.type) else column.cast(pa.string())


def _all_are(values: pa.Array, kind: pa.DataType) -> bool:
    try:
        pc.cast(values, kind)
    except pa.ArrowException:
        return False
    return True


def _most_are(values: pa.Array, kind: pa.DataType) -> bool:
    return 2 * sum(_all_are(values.slice(at, 1), kind) for at in range(len(values))) >= len(values)
