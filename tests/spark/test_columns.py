"""Spark SQL and the engine agree on a value: many values in one job."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import partial
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type

import sase
from sase.errors import DataError
from sase.spark.reading.columns import (
    has_key,
    is_bad_time,
    is_bad_value,
    key_hash,
    microseconds,
    rank,
    raw_time,
    slack_of,
)

RANDOM = Random(7)
EPOCH, DAY = datetime(1970, 1, 1), timedelta(days=1)
MICROSECOND = timedelta(microseconds=1)
ZONES = ["UTC", "Europe/Berlin", "America/St_Johns"]


def of_column(
    spark: SparkSession, values: Sequence[Any], kind: pa.DataType, *made: Column
) -> list[tuple[Any, ...]]:
    """The results of expressions for the values of a column `v`."""
    return of_columns(spark, {"v": (kind, values)}, *made)


def of_columns(
    spark: SparkSession, columns: Mapping[str, tuple[pa.DataType, Sequence[Any]]], *made: Column
) -> list[tuple[Any, ...]]:
    """The results of expressions, in one job; missing values of short columns are NULL."""
    count = max(len(values) for _, values in columns.values())
    arrays = {
        name: pa.array([*values, *[None] * (count - len(values))], kind)
        for name, (kind, values) in columns.items()
    }
    table = pa.table({**arrays, "n": range(count)})
    schema = from_arrow_schema(table.schema, prefer_timestamp_ntz=True)
    rows = spark.createDataFrame(table, schema).select("n", *made).toArrow().sort_by("n")
    return [tuple(row.values()) for row in rows.drop_columns(["n"]).to_pylist()]


def moments(count: int) -> list[datetime]:
    """Of all centuries, some of them in the hour that summer time leaves out."""
    first = datetime(1, 1, 1)
    span = (datetime(9999, 12, 31) - first) // MICROSECOND
    others = [datetime(2024, 3, 31, 2, 30), datetime(1969, 12, 31, 23, 59, 59, 999999), EPOCH]
    return [first + RANDOM.randrange(span) * MICROSECOND for _ in range(count)] + others


# ---------------------------------------------------------------- time


@pytest.mark.parametrize("zone", ZONES)
def test_timestamps_are_counted_in_microseconds(spark: SparkSession, zone: str) -> None:
    spark.conf.set("spark.sql.session.timeZone", zone)
    some = moments(500)
    expected = [((each - EPOCH) // MICROSECOND,) for each in some]
    kinds = {
        "v": (pa.timestamp("us"), some),
        "w": (pa.timestamp("us", "UTC"), [each.replace(tzinfo=UTC) for each in some]),
    }
    made = [
        made(sf.col(name), from_arrow_type(kind, prefer_timestamp_ntz=True)).alias(
            f"{name}{number}"
        )
        for name, (kind, _) in kinds.items()
        for number, made in enumerate((partial(raw_time, unit="us"), microseconds))
    ]
    assert of_columns(spark, kinds, *made) == [each * 4 for each in expected]


def test_dates_are_days_or_their_first_microsecond(spark: SparkSession) -> None:
    days = [each.date() for each in moments(300)]
    made = [raw_time(sf.col("v"), st.DateType(), unit).alias(unit) for unit in ("d", "us")]
    found = of_column(spark, days, pa.date32(), *made)
    numbers = [(each - EPOCH.date()).days for each in days]
    assert found == [(each, each * 86_400_000_000) for each in numbers]


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_seconds_as_floats_are_off_by_no_more_than_the_slack(
    spark: SparkSession, kind: pa.DataType
) -> None:
    sizes = [10.0 ** RANDOM.randrange(-9, 13) for _ in range(800)]
    values = [RANDOM.uniform(-1, 1) * size for size in sizes]
    values += [0.0, -0.0, 0.5, 1e-6, 9.2e12, -9.2e12, 2.0**43]
    values = pa.array(values, kind).to_pylist()
    of_spark = from_arrow_type(kind)
    bad, raw = is_bad_time(sf.col("v"), of_spark), raw_time(sf.col("v"), of_spark, None)
    for value, (is_bad, time) in zip(
        values, of_column(spark, values, kind, bad.alias("bad"), raw.alias("raw")), strict=True
    ):
        exact = round(Fraction(value) * 10**6)
        assert not is_bad
        assert abs(time - exact) <= slack_of(of_spark), value


def is_refused(table: pa.Table, query: str = "EVENT A a") -> bool:
    """Whether the engine says that a row is bad."""
    try:
        sase.match(query, table, type=None, types=["A"])
    except DataError:
        return True
    return False


def test_a_float_is_a_bad_time_where_the_engine_says_so(spark: SparkSession) -> None:
    nan, inf = float("nan"), float("inf")
    limit = 2.0**63 / 1e6
    near = [limit + step * 2.0**-9 for step in range(-6, 7)]
    values = [None, nan, inf, -inf, 1e300, -1e300, *near, *(-each for each in near), 1.0]
    bad = is_bad_time(sf.col("v"), st.DoubleType())
    found = [each for (each,) in of_column(spark, values, pa.float64(), bad.alias("bad"))]
    assert found == [is_refused(pa.table({"ts": pa.array([v], pa.float64())})) for v in values]


# ---------------------------------------------------------------- values


def test_a_decimal_is_bad_where_the_engine_says_so(spark: SparkSession) -> None:
    edge = 10**18
    numbers = [0, 1, -1, edge - 1, edge, 1 - edge, -edge, edge + 1, 10**19, 123, 10**36]
    columns, made = {}, []
    for scale in (0, 2, 18, 25):
        name, values = f"v{scale}", [None, *(Decimal(each).scaleb(-scale) for each in numbers)]
        columns[name] = pa.decimal128(38, scale), values
        bad = is_bad_value(sf.col(name), st.DecimalType(38, scale))
        assert bad is not None
        made.append(bad.alias(name))
    rows = of_columns(spark, columns, *made)
    for found, (kind, values) in zip(zip(*rows, strict=True), columns.values(), strict=True):
        tables = [pa.table({"ts": [1], "v": pa.array([value], kind)}) for value in values]
        assert [*found] == [is_refused(table, "EVENT A a WHERE a.v = 1") for table in tables]
        assert True in found and False in found


# ---------------------------------------------------------------- keys

NUMBERS: dict[pa.DataType, list[Any]] = {
    pa.int64(): [0, 1, -1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 7, None],
    pa.int8(): [0, 1, -1, 7, None],
    pa.float64(): [0.0, -0.0, 1.0, -1.0, 0.5, 2.0**53, -(2.0**63), float("inf"), 7.0, None],
    pa.float32(): [0.0, -0.0, 1.0, -1.0, 0.5, 2.0**53, float("-inf"), 7.0, None],
    pa.decimal128(18, 0): [Decimal(each) for each in (0, 1, -1, 2**53, 2**53 + 1, 7)] + [None],
    pa.decimal128(10, 2): [Decimal(each) for each in ("0.00", "1.00", "-1.00", "0.50", "7")],
}
DAYS = [date(2024, 3, 31), date(1969, 7, 21), date(2024, 11, 3)]
NOONS = [datetime(2024, 3, 31), datetime(2024, 3, 31, 2, 30), datetime(1969, 7, 21), None]
TIMES: dict[pa.DataType, list[Any]] = {
    pa.date32(): [*DAYS, None],
    pa.timestamp("us"): NOONS,
    pa.timestamp("us", "UTC"): [each and each.replace(tzinfo=UTC) for each in NOONS],
}


def _as_key(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    return value


@pytest.mark.parametrize(
    ("kinds", "zone"),
    [pytest.param(NUMBERS, "UTC", id="numbers"), *((TIMES, zone) for zone in ZONES)],
)
def test_keys_that_are_equal_are_placed_alike(
    spark: SparkSession, kinds: dict[pa.DataType, list[Any]], zone: str
) -> None:
    spark.conf.set("spark.sql.session.timeZone", zone)
    hashes = defaultdict(set)
    columns = {f"v{number}": each for number, each in enumerate(kinds.items())}
    places = [
        key_hash([(sf.col(name), from_arrow_type(kind, prefer_timestamp_ntz=True), True)])
        for name, (kind, _) in columns.items()
    ]
    made = [place.alias(name) for name, place in zip(columns, places, strict=True)]
    rows = of_columns(spark, columns, *made)
    for found, values in zip(zip(*rows, strict=True), kinds.values(), strict=True):
        for value, place in zip(values, found, strict=False):  # of a short column
            hashes[_as_key(value)].add(place)
    assert all(len(found) == 1 for found in hashes.values()), dict(hashes)
    # Nearly all that differ are placed apart: 2⁵³ + 1 is not, beside 2⁵³.
    assert len({next(iter(found)) for found in hashes.values()}) >= len(hashes) - 2


def test_keys_of_one_kind_are_placed_by_their_value(spark: SparkSession) -> None:
    floats = [0.0, -0.0, 1.0, 1.5, None]
    columns = {
        "texts": (pa.string(), ["x", "X", "é", "e\u0301", "", " ", None]),
        "numbers": (pa.int32(), [0, 1, 2, None]),
        "doubles": (pa.float64(), floats),
        "singles": (pa.float32(), floats),
    }
    made = [
        key_hash([(sf.col(name), from_arrow_type(kind), False)]).alias(name)
        for name, (kind, _) in columns.items()
    ]
    rows = of_columns(spark, columns, *made)
    found = dict(zip(columns, zip(*rows, strict=True), strict=True))
    for name, (kind, values) in columns.items():
        assert len({*found[name][: len(values)]}) == len({*values}), name
        assert not pa.types.is_floating(kind) or found[name][0] == found[name][1]


def test_nan_is_no_key(spark: SparkSession) -> None:
    values = [float("nan"), None, 0.0, float("inf")]
    there = has_key(sf.col("v"), st.DoubleType()).alias("there")
    found = of_column(spark, values, pa.float64(), there)
    assert found == [(False,), (False,), (True,), (True,)]


# ---------------------------------------------------------------- slices


def test_rank_is_bisection(spark: SparkSession) -> None:
    most = 2**63 - 1
    several = [
        sorted({RANDOM.randint(-most, most) for _ in range(count)}) for count in (0, 1, 2, 7, 200)
    ]
    values = [
        -most - 1,
        most,
        0,
        *(each - less for some in several for each in some for less in (0, 1)),
    ]
    values += [RANDOM.randint(-most, most) for _ in range(200)]
    made = [rank(sf.col("v"), bounds).alias(f"of_{len(bounds)}") for bounds in several]
    found = of_column(spark, values, pa.int64(), *made)
    assert found == [tuple(bisect_right(some, value) for some in several) for value in values]
