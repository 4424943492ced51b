"""Where time is cut."""

from __future__ import annotations

import warnings
from datetime import date

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from sase import spark as on_spark
from tests.spark.cases import multiset
from tests.spark.known import COUNTED, events, frame, local, rows_of


@pytest.mark.parametrize("place", ["type", "seq"])
def test_a_window_in_events_counts_no_bad_rows(spark: SparkSession, place: str) -> None:
    good = events(200)
    times = range(max(good["ts"].to_pylist()))
    wrong = [
        {"ts": ts, "type": "A", "seq": 10**6 + n, "id": 1, "v": 1} | {place: None}
        for ts in times
        for n in range(3)
    ]
    df = frame(spark, pa.concat_tables([good, pa.Table.from_pylist(wrong, good.schema)]))
    found = on_spark.match(
        COUNTED, df, seq="seq", on_bad_row="quarantine", slices=[*range(50, 56), *range(107, 112)]
    )
    assert multiset(rows_of(found)) == local(COUNTED, good)


def test_a_day_is_a_bound_of_timestamps(spark: SparkSession) -> None:
    df = spark.sql(
        "SELECT TIMESTAMP_NTZ '2024-03-01' + make_dt_interval(0, id) AS ts, id % 7 AS v,"
        " if(id % 2 = 0, 'A', 'B') AS type FROM range(100)"
    )
    query = "EVENT SEQ(A a, B b) WHERE a.v = b.v WITHIN 30 hours"
    found = rows_of(on_spark.match(query, df, slices=[date(2024, 3, 2), date(2024, 3, 4)]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert multiset(found) == multiset(rows_of(on_spark.match(query, df, strategy="one_task")))
    assert found
