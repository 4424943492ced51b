"""Values within nested columns on Spark are those of one process."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import sase
from sase import spark as on_spark
from tests.spark.by_hand import check_tasks
from tests.spark.cases import multiset
from tests.spark.known import frame

USER = pa.struct([("id", pa.int64()), ("name", pa.string())])
SCHEMA = pa.schema([
    ("ts", pa.int64()), ("type", pa.string()), ("user", USER), ("tags", pa.list_(pa.string())),
    ("items", pa.list_(pa.struct([("p", pa.int64())]))),
])  # fmt: skip
ROWS = [
    {
        "ts": n,
        "type": "AB"[n % 3 > 0],
        "user": None if n % 7 == 6 else {"id": n % 2, "name": None if n % 5 == 4 else f"n{n}"},
        "tags": None if n % 8 == 5 else ["a", None, "b"][: n % 4],
        "items": [{"p": n}, None][n % 2 :],
    }
    for n in range(40)
]
EVENTS = pa.Table.from_pylist(ROWS, schema=SCHEMA)
QUERIES = [
    "EVENT SEQ(A x, B y) WHERE [user.id] AND list_contains(y.tags, 'a') WITHIN 5"
    " RETURN x.user.name AS n, y.tags[2] AS t, y.items[1].p AS p, y.user AS u",
    "EVENT SEQ(A x, B y) WHERE x.items[1].p > 5 AND y.tags[1] = 'a' AND x.user.id = y.user.id"
    " WITHIN 5",
    "EVENT SEQ(A x, B+ y[]) WHERE skip_till_next_match {[user.id]} WITHIN 6 RETURN"
    " y[].user.name AS l, median(y[].items[1].p) AS m, y[2].tags AS t2, x.*",
    "EVENT SEQ(A x, !(B z), B y) WHERE [user.id] AND NOT list_contains(z.tags, 'b') WITHIN 4",
]  # fmt: skip


# The first query is for a frame of each type, and the third one for tasks alone.
@pytest.mark.parametrize("query", [QUERIES[1], QUERIES[3]])
def test_nested_values(spark: SparkSession, query: str) -> None:
    wanted = sase.match(query, EVENTS, seq="ts").to_arrow().to_pylist()
    assert wanted
    found = on_spark.match(query, frame(spark, EVENTS), seq="ts").toArrow()
    assert multiset(found.to_pylist()) == multiset(wanted)


def test_tasks_read_nested_values() -> None:
    check_tasks(QUERIES[2], EVENTS, "key", seq="ts")


def test_a_frame_for_each_type(spark: SparkSession) -> None:
    tables: dict[str, Any] = {
        name: EVENTS.filter(pa.compute.equal(EVENTS["type"], name)).drop_columns("type")
        for name in "AB"
    }
    wanted = sase.match(QUERIES[0], tables).to_arrow().to_pylist()
    assert wanted
    frames = {name: frame(spark, table) for name, table in tables.items()}
    found = on_spark.match(QUERIES[0], frames).toArrow()
    assert multiset(found.to_pylist()) == multiset(wanted)
