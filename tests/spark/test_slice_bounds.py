"""Where time is cut."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import sase
from sase import spark as on_spark
from sase.errors import SaseError
from tests.spark.cases import multiset
from tests.spark.known import COUNTED, events, frame, local, rows_of


def test_a_window_in_events_counts_no_bad_rows(spark: SparkSession) -> None:
    good = events(200)
    times = range(max(good["ts"].to_pylist()))
    wrong = [
        {"ts": ts, "type": "A", "seq": 10**6 + n, "id": 1, "v": 1} | {place: None}
        for place in ("type", "seq")
        for ts in times
        for n in range(3)
    ]
    df = frame(spark, pa.concat_tables([good, pa.Table.from_pylist(wrong, good.schema)]))
    found = on_spark.match(
        COUNTED, df, seq="seq", on_bad_row="quarantine", slices=[*range(50, 56), *range(107, 112)]
    )
    assert multiset(rows_of(found)) == local(COUNTED, good)


def test_a_day_is_a_bound_of_timestamps(spark: SparkSession) -> None:
    hours = [datetime(2024, 3, 1) + timedelta(hours=n) for n in range(100)]
    table = pa.table(
        {"ts": hours, "v": [n % 7 for n in range(100)], "type": ["A", "B"] * 50},
    )
    query = "EVENT SEQ(A a, B b) WHERE a.v = b.v WITHIN 30 hours"
    df = frame(spark, table)
    found = rows_of(on_spark.match(query, df, slices=[date(2024, 3, 2), date(2024, 3, 4)]))
    assert multiset(found) == multiset(sase.match(query, table).to_pylist()) != multiset([])


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([(datetime(2024, 3, 3), "A")], "ts timestamp_ntz, type string")


@pytest.mark.parametrize(
    "moments",
    [
        ["2024-03-02", "2024-03-04T12:00:00Z"],
        [datetime(2024, 3, 2), datetime(2024, 3, 4, 14, tzinfo=timezone(timedelta(hours=2)))],
        np.array(["2024-03-02", "2024-03-04T12"], "datetime64[h]"),
        (pa.scalar(date(2024, 3, 2)), 1_709_553_600_000_000),
    ],
)
def test_bounds_are_any_kind_of_moments(df: DataFrame, moments: Any) -> None:
    replay = on_spark.replay("EVENT SEQ(A a, A b) WITHIN 1 day", df, slices=moments)
    assert replay.cut.slices is not None
    assert replay.cut.slices.bounds == (1_709_337_600_000_000, 1_709_553_600_000_000)


@pytest.mark.parametrize("wrong", [["soon"], [True], [None], "2024-03-02", 1.5])
def test_what_is_no_bound_is_said(df: DataFrame, wrong: Any) -> None:
    with pytest.raises(SaseError, match=r"is no time of this stream|give the number of slices"):
        on_spark.replay("EVENT SEQ(A a, A b) WITHIN 1 day", df, slices=wrong)
