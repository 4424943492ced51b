"""Columns with names that PySpark takes for paths: they are found as all others are."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import sase
from sase import spark as on_spark
from tests.spark.cases import multiset

pytestmark = pytest.mark.slow
NAMES = ["a.b", "`q`", "a.b`c d", "*", "ts.x"]
# By key, in slices of time, in one task, as a set, without overlaps, the first ones.
WAYS: list[tuple[str, dict[str, Any]]] = [
    ("EVENT SEQ(A a, B b) WHERE [{0}] WITHIN 5", {}),
    ("EVENT SEQ(A a, B b) WHERE a.{0} = b.{0} WITHIN 5 RETURN a.{0} AS {0}, b.id", {}),
    ("EVENT SEQ(A a, B b) WHERE [id] WITHIN 5", {"strategy": "slice", "slices": 2}),
    ("EVENT SEQ(A a, B b) WHERE [{0}] WITHIN 5", {"output": "non_overlap", "seq": "id"}),
    ("EVENT SEQ(A a, B b) WHERE [{0}] WITHIN 5 RETURN a.{0} AS {0} LIMIT 1", {"seq": "id"}),
    ("EVENT SEQ(A a, B b) WHERE [{0}] WITHIN 5", {"output": "compressed"}),
]


@pytest.mark.heavy
@pytest.mark.parametrize("name", NAMES)
def test_names_with_points_and_backticks(spark: SparkSession, name: str) -> None:
    table = pa.table({"ts": [1, 2, 3, 4], "type": [*"ABAB"], "id": [1, 2, 3, 4], name: [*"xxyy"]})
    df = spark.createDataFrame(table.to_pandas())
    quoted = "`" + name.replace("`", "``") + "`"
    for text, options in WAYS:
        query = text.format(quoted)
        there = on_spark.match(query, df, **options).toArrow().to_pylist()
        plain = {key: value for key, value in options.items() if key in ("output", "seq")}
        here = sase.match(query, table, **plain)
        if options.get("output") == "compressed":
            assert sum(int(row["count"]) for row in there) == here.count()
        else:
            assert multiset(there) == multiset(here.to_arrow().to_pylist())
    assert on_spark.match(WAYS[0][0].format(quoted), df, output="count") == 2
    flat = on_spark.match(WAYS[0][0].format(quoted), df, output="flat").columns
    assert f"a_{name}" in flat
