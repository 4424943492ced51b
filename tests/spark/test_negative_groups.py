"""Negative groups on Spark: the matches of one thread, however the events are cut."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.by_hand import check_tasks
from tests.spark.test_branches import TABLE, check_replay

TIGHT = "EVENT SEQ(A a, !(SEQ(B b, C c)), D d) WHERE [id] WITHIN 40"
RELATED = "EVENT SEQ(A a, !(SEQ(B b, !(C x), B c)), D d) WHERE b.v < c.v AND x.v > a.v WITHIN 12"
STARTING = "EVENT SEQ(!(SEQ(B b, C c)), A+ a[], D d) WHERE a[i].v > 1 WITHIN 9"
ENDING = "EVENT SEQ(A a, !(SEQ(B b, C c))) WHERE [id] WITHIN 15"
BRANCHES = "EVENT SEQ(A a, (B b OR C c), !(A n OR SEQ(B e, C f)), D d) WITHIN 15"


@pytest.mark.parametrize(
    ("query", "strategy"),
    [
        *((TIGHT, each) for each in ("key", "slice", "key_and_slice")),
        (RELATED, "slice"),
        (STARTING, "slice"),
        *((ENDING, each) for each in ("key", "slice")),
        (BRANCHES, "slice"),
    ],
)
def test_tasks_find_what_one_thread_finds(query: str, strategy: str) -> None:
    check_tasks(query, TABLE, strategy, seq="seq")


@pytest.mark.parametrize(
    ("query", "strategy"),
    [
        (RELATED, "files"),
        *(pytest.param(each, "files", marks=pytest.mark.heavy) for each in (TIGHT, ENDING)),
        pytest.param(BRANCHES, "slice", marks=pytest.mark.heavy),
    ],
)
def test_spark_finds_what_one_thread_finds(
    spark: SparkSession, query: str, strategy: str, tmp_path: Path
) -> None:
    check_replay(spark, tmp_path, query, strategy)
