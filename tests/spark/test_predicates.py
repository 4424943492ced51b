"""Conditions on one event that Spark decides before rows move: never stricter than the engine."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

import sase
import sase.spark
from sase.planning.plan.traversal import conditions_on
from sase.spark.reading.columns import all_of
from sase.spark.reading.predicates import as_column
from sase.spark.reading.source import FrameSource

NAN, INFINITY = float("nan"), float("inf")
ROWS = [
    (1, "A", 3, 2.5, "x", True),
    (2, "A", None, None, None, None),
    (3, "A", -(2**63), NAN, "é", False),
    (4, "A", 2**53 + 1, INFINITY, "", True),
    (5, "A", 2**63 - 1, -0.0, "xy", False),
    (6, "B", 4, 9007199254740992.0, "x", None),
    (7, "A", 0, 1e308, "\U0001f600", True),
]
# Those that Spark decides, which are then decided alike; and those that it leaves to the engine.
DECIDED = [
    "a.i > 3",
    "3 <= a.i",
    "a.i != 9007199254740993",
    "a.i BETWEEN 0 AND 4",
    "a.i IN (3, 0, NULL)",
    "a.i IS NULL",
    "a.i IS NOT NULL",
    "a.s = 'x'",
    "a.s < 'y'",
    "a.s IS NULL",
    "a.f < 2.6",
    "a.f >= 9007199254740992",
    "a.i = 3 OR a.s = 'xy'",
    "NOT (a.i > 3 AND a.s = 'x')",
    "a.ts > 3",
]
LEFT = [
    "a.f IS NULL",
    "a.i > 2.5",
    "a.f < 9007199254740993",
    "a.i + 1 > 3",
    "a.i NOT IN (3, 0)",
    "a.s LIKE 'x%'",
    "length(a.s) = 2",
    "a.b",
    "a.i = 3 OR a.s LIKE 'x%'",
]
# One of each way in which a filter of rows could take too many: NULL, NaN, a part that is left.
REPLAYED = [
    "a.i IN (3, 0, NULL)",
    "a.f >= 9007199254740992",
    "NOT (a.i > 3 AND a.s = 'x')",
    "a.i = 3 OR a.s LIKE 'x%'",
    "a.f IS NULL",
]


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(
        ROWS, "ts long, type string, i long, f double, s string, b boolean"
    )


def decided(condition: str, events: DataFrame) -> Column | None:
    """The decision of Spark on a row; None if it leaves all to the engine."""
    source = FrameSource.of(events)
    plan = sase.spark.replay(f"EVENT A a WHERE {condition}", events, strategy="one_task").plan
    (frame,) = source.frames
    made = [as_column(each, frame) for each in conditions_on(plan.operators, 0)]
    known = [each for each in made if each is not None]
    return all_of(known) if known else None


def found(condition: str) -> list[int]:
    """The times of the events that the engine finds."""
    names = ["ts", "type", "i", "f", "s", "b"]
    rows: list[dict[str, Any]] = [dict(zip(names, row, strict=True)) for row in ROWS]
    matches = sase.match(f"EVENT A a WHERE {condition}", pa.Table.from_pylist(rows))
    return sorted(match["a"]["ts"] for match in matches)


def test_what_spark_decides_is_what_the_engine_decides(events: DataFrame) -> None:
    """All conditions in one job; a row of which one is NULL is not kept."""
    made = {each: decided(each, events) for each in DECIDED}
    columns = [column.alias(name) for name, column in made.items() if column is not None]
    assert len(columns) == len(DECIDED)
    rows = events.filter(events.type == "A").select("ts", *columns).toArrow().to_pylist()
    for condition in DECIDED:
        kept, expected = sorted(row["ts"] for row in rows if row[condition]), found(condition)
        # NaN is greater than all to Spark, and NULL to the engine, which looks again.
        is_laxer = "a.f >=" in condition
        assert ({*kept} >= {*expected}) if is_laxer else kept == expected, condition


@pytest.mark.parametrize("condition", LEFT)
def test_what_spark_might_decide_otherwise_is_left_to_the_engine(
    condition: str, events: DataFrame
) -> None:
    assert decided(condition, events) is None


def test_the_matches_are_the_same(events: DataFrame) -> None:
    """A replay for each of some conditions, all of them in one job."""
    replays = [
        sase.spark.match(f"EVENT A a WHERE {each}", events, strategy="one_task").select(
            sf.lit(each).alias("condition"), sf.col("a.ts")
        )
        for each in REPLAYED
    ]
    matches = reduce(DataFrame.union, replays).collect()
    for condition in REPLAYED:
        times = sorted(row.ts for row in matches if row.condition == condition)
        assert times == found(condition), condition


def test_conditions_on_negative_events_leave_the_others_alone(spark: SparkSession) -> None:
    rows = [(1, "A", 1), (2, "C", 1), (3, "B", 1), (4, "A", 1), (5, "C", 9), (6, "B", 1)]
    events = spark.createDataFrame(rows, "ts long, type string, v long")
    query = "EVENT SEQ(A a, !(C c), B b) WHERE c.v > 5 AND a.v = 1 WITHIN 10"
    matches = sase.spark.match(query, events, slices=2)
    assert sorted((row.a.ts, row.b.ts) for row in matches.collect()) == [(1, 3)]


def test_seconds_as_floats_are_microseconds_to_conditions(spark: SparkSession) -> None:
    events = spark.createDataFrame([(1.0, "A"), (3.0, "A")], "ts double, type string")
    matches = sase.spark.match("EVENT A a WHERE a.ts > 2000000", events, strategy="one_task")
    assert [row.a.ts for row in matches.collect()] == [3_000_000]
