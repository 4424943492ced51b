"""Negative groups on Spark: what one thread finds, however the events are cut."""

from __future__ import annotations

import warnings
from pathlib import Path

import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from sase import spark as on_spark
from sase.errors import ReplayWarning
from tests.spark.cases import multiset
from tests.spark.known import frame
from tests.spark.test_branches import TABLE, on_one_thread

TIGHT = "EVENT SEQ(A a, !(SEQ(B b, C c)), D d) WHERE [id] WITHIN 40"
RELATED = "EVENT SEQ(A a, !(SEQ(B b, !(C x), B c)), D d) WHERE b.v < c.v AND x.v > a.v WITHIN 12"
STARTING = "EVENT SEQ(!(SEQ(B b, C c)), A+ a[], D d) WHERE a[i].v > 1 WITHIN 9"
ENDING = "EVENT SEQ(A a, !(SEQ(B b, C c))) WHERE [id] WITHIN 15"
BRANCHES = "EVENT SEQ(A a, (B b OR C c), !(A n OR SEQ(B e, C f)), D d) WITHIN 15"


@pytest.mark.parametrize(
    ("query", "strategy"),
    [
        *((TIGHT, each) for each in ("key", "slice", "key_and_slice", "files")),
        *((RELATED, each) for each in ("slice", "files")),
        (STARTING, "slice"),
        *((ENDING, each) for each in ("key", "slice", "files")),
        (BRANCHES, "slice"),
    ],
)
def test_spark_finds_what_one_thread_finds(
    spark: SparkSession, query: str, strategy: str, tmp_path: Path
) -> None:
    pyarrow.parquet.write_table(TABLE, tmp_path / "events.parquet", row_group_size=10)
    df = spark.read.parquet(str(tmp_path)) if strategy == "files" else frame(spark, TABLE)
    slices = 4 if "slice" in strategy else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReplayWarning)
        found = on_spark.replay(
            query, df, seq="seq", strategy=strategy, output="structs", slices=slices
        )
        wanted = on_one_thread(query, output="all")
        assert multiset(found.matches.toArrow().to_pylist()) == multiset(wanted) != multiset([])
