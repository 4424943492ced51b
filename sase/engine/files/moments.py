"""Moments that files hold as text, in the form of ISO 8601."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from sase.errors import DataError

ZONED, LOCAL = pa.timestamp("us", "UTC"), pa.timestamp("us")


def moments_among(sample: pa.Table) -> dict[str, pa.DataType]:
    """The columns of strings of which every value is a moment, and their types."""
    found = {}
    for name, column in zip(sample.column_names, sample.columns, strict=True):
        values = _distinct(column)
        if len(values):
            kind = next((kind for kind in (LOCAL, ZONED) if _all_are(values, kind)), None)
            if kind is not None:
                found[name] = kind
    return found


def parsed(column: pa.ChunkedArray, kind: pa.DataType, name: str, path: str) -> pa.ChunkedArray:
    """A column of text as moments; an error for the first value that is none."""
    try:
        return pc.cast(_decoded(column), kind)
    except pa.ArrowException as problem:
        for row, value in enumerate(_decoded(column).to_pylist()):
            if value is not None and not _all_are(pa.array([value]), kind):
                why = f"`{name}` is {value!r}: this is no timestamp, which the values before are"
                raise DataError(f"{path}: {why}", row, name, value) from problem
        raise


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column


def _distinct(column: pa.ChunkedArray) -> pa.Array:
    return pc.unique(_decoded(column)).drop_null()


def _all_are(values: pa.Array, kind: pa.DataType) -> bool:
    try:
        pc.cast(values, kind)
    except pa.ArrowException:
        return False
    return True
