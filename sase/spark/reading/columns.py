"""Columns of DataFrames as expressions of Spark SQL: raw times, keys, and bad values.

Each expression agrees with the engine, so rows can be placed and filtered before the engine reads
them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from sase.base.paths import Path
from sase.binding.values.folding import INT64_MAX, INT64_MIN
from sase.engine.columns.decode.numbers import MOST_DIGITS

MICROSECONDS_OF_A_DAY = 86_400_000_000
INTEGERS = (st.ByteType, st.ShortType, st.IntegerType, st.LongType)
FLOATS = (st.FloatType, st.DoubleType)
_NUMBERS = (*INTEGERS, *FLOATS, st.DecimalType)
_TIMES = (st.DateType, st.TimestampType, st.TimestampNTZType)


def column(name: str) -> Column:
    """A column by its name, with any characters."""
    return sf.col(quoted(name))


def quoted(name: str) -> str:
    """A name in SQL syntax, with any characters."""
    return "`" + name.replace("`", "``") + "`"


def value_within(value: Column, path: Path) -> Column:
    """A value within a nested column; NULL where there is none."""
    for step in path.steps:
        # `get` counts from 0, and has NULL outside of the list.
        value = sf.get(value, sf.lit(step - 1)) if isinstance(step, int) else value.getField(step)
    if path.member is None:
        return value
    listed = sf.array_contains(value, sf.lit(json.loads(path.member)))
    return sf.when(value.isNotNull(), sf.coalesce(listed, sf.lit(False)))


def type_within(kind: st.DataType, path: Path) -> st.DataType | None:
    """The type of a value within a column of a type; None if there is none."""
    for step in path.steps:
        if isinstance(step, int) and isinstance(kind, st.ArrayType):
            kind = kind.elementType
        elif isinstance(step, str) and isinstance(kind, st.StructType) and step in kind.names:
            kind = kind[step].dataType
        else:
            return None
    if path.member is None:
        return kind
    return st.BooleanType() if isinstance(kind, st.ArrayType) else None


def any_of(conditions: Iterable[Column]) -> Column:
    """Whether one of the conditions holds."""
    return reduce(lambda left, right: left | right, conditions, sf.lit(False))


def all_of(conditions: Iterable[Column]) -> Column:
    """Whether all conditions hold."""
    return reduce(lambda left, right: left & right, conditions, sf.lit(True))


# ---------------------------------------------------------------- time


def raw_time(time: Column, kind: st.DataType, unit: str | None) -> Column:
    """The time in raw units (docs/semantics.md, Time), days if `unit` is "d"; NULL if it is bad."""
    if isinstance(kind, FLOATS):
        return sf.when(_has_time(time), sf.rint(_product(time)).cast("bigint"))
    if isinstance(kind, st.DateType) and unit == "d":
        return sf.unix_date(time).cast("bigint")
    return microseconds(time, kind) if isinstance(kind, _TIMES) else time.cast("bigint")


def microseconds(time: Column, kind: st.DataType) -> Column:
    """Dates and timestamps as microseconds since 1970; those without a zone as if in UTC."""
    if isinstance(kind, st.TimestampType):
        return sf.unix_micros(time)
    days = sf.unix_date(time.cast("date")).cast("bigint") * sf.lit(MICROSECONDS_OF_A_DAY)
    if isinstance(kind, st.DateType):
        return days
    # A cast to TIMESTAMP would depend on the time zone of the session and its clock changes.
    seconds = sf.hour(time) * 3600 + sf.minute(time) * 60
    within = sf.extract(sf.lit("SECOND"), time) * sf.lit(1_000_000)
    return days + seconds.cast("bigint") * sf.lit(1_000_000) + within.cast("bigint")


def slack_of(kind: st.DataType) -> int:
    """The most by which `raw_time` is off; the engine rounds to microseconds exactly."""
    return 2048 if isinstance(kind, FLOATS) else 0


def _product(seconds: Column) -> Column:
    return seconds.cast("double") * sf.lit(1e6)


def _has_time(seconds: Column) -> Column:
    """Whether seconds as floats are microseconds that fit into 64 bits; NaN does not."""
    return sf.abs(_product(seconds)) < sf.lit(2.0**63)


def is_bad_time(time: Column, kind: st.DataType) -> Column:
    """Whether a row has no valid time."""
    if isinstance(kind, FLOATS):
        return time.isNull() | ~_has_time(time)
    return time.isNull()


def is_bad_value(value: Column, kind: st.DataType) -> Column | None:
    """Whether the engine cannot read a value; None if it can read every value."""
    if not isinstance(kind, st.DecimalType) or kind.precision <= MOST_DIGITS:
        return None
    least = sf.lit(str(Decimal(10) ** (MOST_DIGITS - kind.scale))).cast(f"decimal(38,{kind.scale})")
    return sf.coalesce(sf.abs(value) >= least, sf.lit(False))


# ---------------------------------------------------------------- keys


def key_hash(keys: Sequence[tuple[Column, st.DataType, bool]]) -> Column:
    """A hash that is equal for rows that agree on all keys; `mixed` keys are compared by value."""
    return sf.xxhash64(*(_normal(value, kind, mixed=mixed) for value, kind, mixed in keys))


def _normal(value: Column, kind: st.DataType, *, mixed: bool) -> Column:
    """A key that is equal for equal values of different types; different numbers may collide."""
    if isinstance(kind, FLOATS) or (mixed and isinstance(kind, _NUMBERS)):
        real = value.cast("double")
        return sf.when(real == sf.lit(0.0), sf.lit(0.0)).otherwise(real)
    if isinstance(kind, INTEGERS):
        return value.cast("bigint")
    if mixed and isinstance(kind, _TIMES):
        return microseconds(value, kind)
    if isinstance(kind, st.StringType) and not kind.isUTF8BinaryCollation():
        return sf.collate(value, "UTF8_BINARY")
    return value


def has_key(value: Column, kind: st.DataType) -> Column:
    """Whether a row has a key; NaN counts as NULL."""
    if isinstance(kind, FLOATS):
        return value.isNotNull() & ~sf.isnan(value)
    return value.isNotNull()


# ---------------------------------------------------------------- slices


def rank(value: Column, bounds: Sequence[int]) -> Column:
    """Count the ascending bounds that are at most the value, by binary search."""
    return _rank(value, bounds, 0, len(bounds))


def _rank(value: Column, bounds: Sequence[int], first: int, last: int) -> Column:
    if first == last:
        return sf.lit(first)
    middle = (first + last) // 2
    below, above = _rank(value, bounds, first, middle), _rank(value, bounds, middle + 1, last)
    # Bounds minus a window may be out of the range of a number.
    if bounds[middle] > INT64_MAX:
        return below
    return sf.when(value < sf.lit(max(bounds[middle], INT64_MIN)), below).otherwise(above)
