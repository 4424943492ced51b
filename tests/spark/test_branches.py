"""Patterns with choices on Spark: by every strategy the matches of one thread, in its order."""

from __future__ import annotations

import warnings
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

import sase
from sase import spark as on_spark
from sase.errors import PlanError, ReplayWarning
from tests.spark.by_hand import check_tasks
from tests.spark.cases import multiset
from tests.spark.known import frame

DETOUR = "EVENT SEQ(A a, (B b OR C+ c[])? g, D d) WHERE [id] AND a.v <= d.v WITHIN 12"
# A condition on an event of one branch, with components that have the numbers of others in another.
FILTERED = "EVENT SEQ(A a, D d) OR SEQ(B b, C c) WHERE a.v = 1 AND c.v > 3 WITHIN 9"
NEGATED = "EVENT SEQ(A a, B b) OR SEQ(C c, !(D d), B b) WHERE [id] AND b.v > 2 WITHIN 9"
# Two branches give the same mapping, and others the same events.
SAME = "EVENT SEQ(ANY(A, B) a, ANY(B, C) b) OR SEQ(ANY(B, C) b, ANY(A, B) a) WITHIN 4"
# Of the same events the branch comes first that has its last ones bound to the variable written
# first, and LIMIT 254 takes the one match without the other.
SERIES_FIRST = (
    "EVENT SEQ(ANY(A, B)+ a[], ANY(A, B)+ b[]) OR SEQ(ANY(A, B)+ b[], ANY(A, B)+ a[]) WITHIN 2"
)
COUNTING = "EVENT SEQ(A a, (B b)?, C c) WITHIN 6 EVENTS"
RUNS = (
    "EVENT SEQ(A a, (B b OR C+ c[]), D d) WHERE skip_till_next_match(a, b, c, d) { [id] } WITHIN 20"
)
# A single event and a series that no key parts, though another branch has one.
INFERRED = "EVENT SEQ(A a, B b) OR C c WHERE a.id = b.id"
SERIES = "EVENT SEQ(A a, B b) OR C{2} c[] WHERE a.id = b.id AND c[i].v > c[i-1].v"
RETURNED = f"{DETOUR} RETURN a.seq AS first, b.v AS v, g.len AS detour, count(c[]) AS n"
HAVING = "EVENT SEQ(A a, (B b OR C c)) WHERE [id] HAVING c.v IS NULL"
QUERIES = {
    name: text
    for name, text in globals().items()
    if isinstance(text, str) and text.startswith("EVENT")
}
BY_TASKS = [
    *(("DETOUR", each, "all", "") for each in ("key", "slice", "key_and_slice")),
    *((name, "key", "all", "") for name in ("NEGATED", "RUNS", "RETURNED", "HAVING")),
    *(("SAME", "slice", *form) for form in (("all", ""), ("non_overlap", ""))),
    *((name, "slice", "all", " LIMIT 9") for name in ("SAME", "COUNTING", "NEGATED")),
    *((name, "key", "non_overlap", " LIMIT 5") for name in ("NEGATED", "DETOUR")),
    ("DETOUR", "key", "all", " LIMIT 9"),
    ("SERIES_FIRST", "slice", "all", " LIMIT 254"),
]
ON_SPARK = [
    *(("DETOUR", each) for each in ("key", "slice", "key_and_slice", "files")),
    *(("FILTERED", each) for each in ("slice", "files")),
    *((name, None) for name in ("INFERRED", "SERIES")),
]


def events(count: int = 120) -> pa.Table:
    random = Random(11)
    rows = [
        {
            "ts": place // 2,
            "seq": place,
            "type": random.choice("ABCD"),
            "id": random.choice([None, 1, 1, 2]),
            "v": random.randrange(6),
        }
        for place in range(count)
    ]
    return pa.Table.from_pylist(rows)


TABLE = events()


def on_one_thread(query: str, **options: Any) -> list[dict[str, Any]]:
    return sase.match(query, TABLE, seq="seq", threads=1, **options).to_pylist()


def check_replay(
    spark: SparkSession, folder: Path, query: str, strategy: str | None
) -> tuple[Any, list[dict[str, Any]]]:
    """Replay a query as one thread runs it, from files or a frame; return both results."""
    pyarrow.parquet.write_table(TABLE, folder / "events.parquet", row_group_size=10)
    df = spark.read.parquet(str(folder)) if strategy == "files" else frame(spark, TABLE)
    slices = 4 if strategy and "slice" in strategy else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReplayWarning)
        found = on_spark.replay(query, df, seq="seq", strategy=strategy, slices=slices)
    wanted = on_one_thread(query)
    assert multiset(found.matches.toArrow().to_pylist()) == multiset(wanted) != multiset([])
    return found, wanted


@pytest.mark.parametrize(("name", "strategy", "output", "limit"), BY_TASKS)
def test_tasks_find_what_one_thread_finds(
    name: str, strategy: str, output: str, limit: str
) -> None:
    check_tasks(f"{QUERIES[name]}{limit}", TABLE, strategy, output, seq="seq")


@pytest.mark.heavy
@pytest.mark.parametrize(("name", "strategy"), ON_SPARK)
def test_spark_finds_what_one_thread_finds(
    spark: SparkSession, name: str, strategy: str | None, tmp_path: Path
) -> None:
    found, wanted = check_replay(spark, tmp_path, QUERIES[name], strategy)
    assert strategy in (None, str(found.cut.choice.strategy))
    assert found.count() == len(wanted)


def test_events_of_other_keys_may_be_equal(spark: SparkSession) -> None:
    """Runs of every branch take the events of their key alone, so no order is missing."""
    rows = [
        {"ts": ts, "seq": 0, "type": kind, "id": key}
        for ts, kind in enumerate("ABCD")
        for key in range(4)
    ]
    df = frame(spark, pa.Table.from_pylist(rows))
    assert on_spark.replay(RUNS, df, seq="seq", strategy="one_task").count() == 4 * 2


@pytest.mark.parametrize("name", ["INFERRED", "SERIES"])
def test_no_key_parts_a_branch_without_one(spark: SparkSession, name: str) -> None:
    with pytest.raises(PlanError, match="no attribute on which all events of a match agree"):
        on_spark.replay(QUERIES[name], frame(spark, TABLE), seq="seq", strategy="key")
