"""Columns of types that hold integers or truth values, on Spark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import sase
import sase.spark

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("types", "first", "last", "key"),
    [([1, 2, 3, 1, 2], "`1`", "`2`", "WHERE [id] "), ([True, False] * 3, "true", "false", "")],
)
def test_types_that_are_no_texts(
    types: list[Any], first: str, last: str, key: str, spark: SparkSession
) -> None:
    rows = [(n, kind, n // 2 % 2) for n, kind in enumerate(types * 20)]
    table = pa.table(
        dict(zip(("ts", "type", "id"), map(list, zip(*rows, strict=True)), strict=True))
    )
    query = (
        f"EVENT SEQ({first} a, {last} b) {key}WITHIN 9 RETURN a.ts AS first, b.ts AS last, b.type"
    )
    expected = sase.match(query, table).to_arrow().to_pylist()
    assert expected
    found = sase.spark.match(query, spark.createDataFrame(table), slices=3 if not key else None)
    assert sorted(map(str, found.toArrow().to_pylist())) == sorted(map(str, expected))
