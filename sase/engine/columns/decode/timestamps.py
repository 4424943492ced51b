"""Convert points in time given by a caller to raw units of the time column, and back."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from math import isfinite, isnan
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sase.binding.types import UNKNOWN, DataType, Kind
from sase.binding.values.folding import INT64_MAX
from sase.engine.columns.arrow.data_types import nanoseconds
from sase.engine.columns.decode.strings import is_unicode
from sase.errors import DataError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Digits of a second beyond a datetime's microseconds.
_BEYOND_MICROSECONDS = re.compile(r"[.,]\d{6}(\d{1,3})")
MOMENTS = (
    "a datetime or date, a datetime64 of numpy, a Timestamp of pandas, a scalar of pyarrow, or text"
    " such as '2026-01-31T23:59:59Z'"
)


def raw_moment(given: object, time: DataType, column: str) -> int:
    """Return a moment in raw units: clipped to 64 bits, rounded down to a unit.

    An integer is in raw units; a float is in seconds, if the column has float seconds.
    """
    value = given
    if isinstance(given, pa.Scalar) and not pa.types.is_temporal(given.type):
        value = given.as_py()
    raw: int | None = None
    if isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64):
        raw = int(value)
    elif time.kind is Kind.FLOAT and isinstance(value, float | np.floating):
        raw = _microseconds(float(value))
    elif time.resolution is not None and (found := _nanoseconds(value)) is not None:
        raw = found // nanoseconds(time.resolution)
    if raw is None:
        _refuse(given, time, column)
    return min(max(raw, -INT64_MAX - 1), INT64_MAX)


def shown_moment(raw: int, time: DataType) -> str:
    """Format a time of the column, without a zone."""
    if time.kind is Kind.FLOAT:
        return f"{raw / 10**6} s"
    if time.resolution is None:
        return str(raw)
    unit = "D" if time.resolution == "d" else time.resolution
    return str(np.int64(raw).view(f"datetime64[{unit}]"))


def _microseconds(seconds: float) -> int | None:
    """Convert seconds like event times: the exact value, rounded half to even."""
    if isfinite(seconds):
        return round(Fraction(seconds) * 10**6)
    if isnan(seconds):
        return None
    return INT64_MAX if seconds > 0 else -INT64_MAX - 1


def _nanoseconds(value: object) -> int | None:
    """Return the nanoseconds of a moment since 1970; None for other values."""
    match value:
        case pa.Scalar():
            return _of_arrow(value)
        case np.datetime64():
            return _of_numpy(value)
        case datetime():
            return _of_datetime(value)
        case date():
            return (value.toordinal() - _EPOCH.toordinal()) * nanoseconds("d")
        case str():
            return _of_text(value)
    return None


def _of_arrow(given: pa.Scalar) -> int | None:
    if not given.is_valid:
        return None
    if pa.types.is_timestamp(given.type):
        return int(given.value) * nanoseconds(given.type.unit)
    if pa.types.is_date(given.type):
        return int(given.value) * nanoseconds("d" if pa.types.is_date32(given.type) else "ms")
    return None


def _of_numpy(given: np.datetime64) -> int | None:
    if np.isnat(given):
        return None
    unit, count = np.datetime_data(given.dtype)
    if count != 1 or unit not in ("s", "ms", "us", "ns"):
        given, unit = given.astype("datetime64[s]"), "s"
    return int(given.astype(np.int64)) * nanoseconds(unit)


def _of_datetime(given: datetime) -> int | None:
    if given != given:  # pandas' NaT
        return None
    moment = given if given.tzinfo is not None else given.replace(tzinfo=UTC)
    whole = (moment - _EPOCH) // timedelta(microseconds=1) * 1000
    return whole + getattr(given, "nanosecond", 0)  # a Timestamp of pandas has them


def _of_text(value: str) -> int | None:
    try:
        moment = datetime.fromisoformat(value.strip())
    except ValueError:
        return None
    more = _BEYOND_MICROSECONDS.search(value)
    return (_of_datetime(moment) or 0) + (int(more[1].ljust(3, "0")) if more else 0)


def _refuse(value: object, time: DataType, column: str) -> NoReturn:
    if time.kind is Kind.FLOAT:
        what = "holds seconds as floats: give a float, or microseconds as an integer"
    elif time.resolution is not None:
        what = f"holds times: give {MOMENTS}; or its raw units as an integer"
    elif time == UNKNOWN:
        what = (
            "is not known to hold times: compile the query with the schema of the events, or give"
            " raw units as an integer"
        )
    else:
        what = "counts in integers: give one"
    raise DataError(f"{value!r} is no time of this stream: its column `{column}` {what}")


# ---------------------------------------------------------------- moments as text

ZONED, LOCAL = pa.timestamp("us", "UTC"), pa.timestamp("us")
# The types tried for text, in order; nanoseconds only if it has that many digits.
_FORMS = (LOCAL, ZONED, pa.timestamp("ns"), pa.timestamp("ns", "UTC"))


def in_microseconds(kind: pa.DataType, values: pa.ChunkedArray | None = None) -> pa.DataType:
    """Return a timestamp type in microseconds, unless some of the values are finer.

    Without values, nanoseconds are kept; other types are returned unchanged.
    """
    if not pa.types.is_timestamp(kind):
        return kind
    known = pa.timestamp("us", kind.tz)
    if kind.unit == "ns" and (values is None or not _all_are(values, known)):
        return kind
    return known


def moments_among(sample: pa.Table, times: Collection[str]) -> dict[str, pa.DataType]:
    """Return the types of the string columns in which all values of the sample are moments.

    For columns that may be the time, half of the values are enough: the others are bad rows.
    """
    found = {}
    for name, column in zip(sample.column_names, sample.columns, strict=True):
        values = pc.unique(_as_texts(column)).drop_null()
        kind = next((kind for kind in _FORMS if len(values) and _all_are(values, kind)), None)
        if kind is None and name in times:
            single = [values.slice(at, 1) for at in range(len(values))]
            counts = {kind: sum(_all_are(v, kind) for v in single) for kind in _FORMS}
            most = max(_FORMS, key=counts.__getitem__)
            kind = most if 2 * counts[most] >= len(values) else None
        if kind is not None:
            found[name] = kind
    return found


def with_moments(
    table: pa.Table, moments: Mapping[str, pa.DataType], path: str, first: int = 0
) -> pa.Table:
    """Parse text columns as moments; the table begins at row `first` of the file."""
    for name, kind in moments.items():
        index = table.schema.get_field_index(name)
        if index >= 0:
            column = _parsed(table.column(index), kind, name, path, first)
            table = table.set_column(index, pa.field(name, kind), column)
    return table


def _parsed(
    column: pa.ChunkedArray, kind: pa.DataType, name: str, path: str, first: int
) -> pa.ChunkedArray:
    """Parse a text column; raise an error for the first value that is not a moment."""
    texts = _as_texts(column)
    try:
        return pc.cast(texts, kind)
    except pa.ArrowException as problem:
        reasons = ((row, v, why_none(v, kind)) for row, v in enumerate(texts.to_pylist(), first))
        row, value, why = next(found for found in reasons if found[2] is not None)
        message = f"{path}, row {row} (from 0): `{name}` is {value!r}: {why}"
        raise DataError(message, row, name, value) from problem


def judged_moments(
    texts: pa.ChunkedArray, kind: pa.DataType
) -> tuple[pa.ChunkedArray, dict[str, list[str]]]:
    """Parse texts; others than moments are NULL, and returned by the reason."""
    reasons: dict[str, list[str]] = {}
    for text in _other_than(pc.unique(texts).drop_null(), kind):
        reasons.setdefault(why_none(text, kind) or "", []).append(text)
    if reasons:
        odd = pa.array([text for found in reasons.values() for text in found], pa.string())
        texts = pc.if_else(pc.is_in(texts, value_set=odd), None, texts)
    return pc.cast(texts, kind), reasons


def _other_than(values: pa.Array, kind: pa.DataType) -> list[str]:
    """The values that are no moments: by halves, since they are few among many."""
    if not len(values) or _all_are(values, kind):
        return []
    if len(values) == 1:
        return [values[0].as_py()]
    half = len(values) // 2
    return [*_other_than(values[:half], kind), *_other_than(values[half:], kind)]


def kind_of_texts(time: DataType) -> pa.DataType:
    """Return the type into which texts are parsed that are times of a known type."""
    unit = "ns" if time.resolution == "ns" else "us"
    return pa.timestamp(unit, "UTC" if time.zoned else None)


def why_none(value: object, kind: pa.DataType) -> str | None:
    """Return why a value is not a moment of the column's type, or None if it is."""
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
    """Cast to text, so that a number in JSON lines is not taken for a moment."""
    return column if pa.types.is_string(column.type) else column.cast(pa.string())


def _all_are(values: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> bool:
    try:
        pc.cast(values, kind)
    except pa.ArrowException:
        return False
    return True
