"""All matches as a set, by tasks: the collapsed form and the number that one process gives."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import sase
from sase import spark as on_spark
from sase.errors import PlanError
from sase.lang.parser import parse_query
from sase.lang.printer import to_text
from sase.planning.replay import set_declined
from tests.spark.by_hand import ByHand, tasks_of
from tests.spark.cases import Case, cases, multiset
from tests.spark.known import events, frame

ONE = settings().max_examples
MANY = settings(max_examples=max(ONE // 2, 1), suppress_health_check=[HealthCheck.too_slow])


@MANY
@given(cases(), st.integers(0, 2**32))
def test_tasks_together_know_the_set_that_one_process_knows(case: Case, seed: int) -> None:
    case = replace(case, manner=replace(case.manner, output="structs"))
    if not isinstance(case.local, sase.Matches) or case.on_bad_row == "quarantine":
        return
    by_hand = ByHand(case, Random(seed))
    if set_declined(by_hand.known.basic):
        assert parse_query(case.query).limit is not None
        return
    assert by_hand.count()[1] == len(case.local)
    assert collapsed(by_hand.compressed()[1]) == known(case)


def known(case: Case) -> Counter[str]:
    """The answers of one process on all matches, with the events that RETURN hides."""
    text = to_text(replace(parse_query(case.query), output=None))
    found = sase.match(text, case.events, output="compressed", **case.keywords)
    table = found.to_arrow().drop_columns(["rows"])
    return collapsed([{**row, "count": str(row["count"])} for row in table.to_pylist()])


def collapsed(rows: list[dict[str, Any]]) -> Counter[str]:
    """Rows of the collapsed form; the order of simultaneous events in a list is open."""
    return multiset(
        {**row, "events": {name: sorted(map(repr, each)) for name, each in row["events"].items()}}
        for row in rows
    )


# ---------------------------------------------------------------- on Spark itself

SERIES = "EVENT SEQ(A+ a[], C c) WHERE [id] AND c.v > 2 WITHIN 60"
OF_SETS = "EVENT SEQ(SET(A a, B+ b[]), C c) WHERE [id] WITHIN 40"
OF_BRANCHES = "EVENT SEQ(A+ a[], (B b OR C+ c[])) WHERE [id] WITHIN 40"
OF_GROUPS = "EVENT (SEQ(A a, B b))+ g[] WITHIN 16"
LISTED = "EVENT SEQ(A a, B+ b[], C c) WHERE b[i].v >= a.v AND avg(b[].v) > c.v WITHIN 15"


TABLE = events(400)


def set_of(query: str) -> tuple[int, Counter[str]]:
    """How many matches one process counts, and the collapsed form."""
    local = sase.match(query, TABLE, seq="seq", output="compressed")
    rows = local.to_arrow().drop_columns(["rows"]).to_pylist()
    return local.count(), collapsed([{**row, "count": str(row["count"])} for row in rows])


@pytest.mark.parametrize(
    ("query", "strategy"),
    [
        (SERIES, "key"),
        (LISTED, "slice"),
        (OF_SETS, "key"),
        (OF_GROUPS, "slice"),
        (OF_BRANCHES, "slice"),
    ],
)
def test_tasks_know_the_set(query: str, strategy: str) -> None:
    count, wanted = set_of(query)
    assert count > 300
    for tasks in tasks_of(query, TABLE, strategy, seq="seq"):
        assert tasks.count()[1] == count
        assert collapsed(tasks.compressed()[1]) == wanted


def test_spark_knows_the_set(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "events.parquet")
    pyarrow.parquet.write_table(TABLE, path, row_group_size=100)
    df = spark.read.parquet(path)
    replay = on_spark.replay(SERIES, df, seq="seq", strategy="files", slices=3)
    count, wanted = set_of(SERIES)
    assert replay.count() == count > len(TABLE)
    assert collapsed(replay.compressed.toArrow().to_pylist()) == wanted


def test_counts_of_any_size(spark: SparkSession) -> None:
    df = frame(spark, pa.table({"ts": range(200), "type": ["A"] * 200})).coalesce(1)
    replay = on_spark.replay("EVENT A+ a[] WITHIN 1000", df, strategy="one_task")
    assert replay.count() == 2**200 - 1
    last = replay.compressed.orderBy("ts_end", ascending=False).select("count").first()
    assert last is not None
    assert last[0] == str(2**199)


def test_the_first_matches_are_no_set(spark: SparkSession) -> None:
    df = frame(spark, events(10))
    with pytest.raises(PlanError, match="LIMIT takes the first of all matches"):
        on_spark.match(f"{SERIES} LIMIT 3", df, seq="seq", output="compressed")
    assert on_spark.match(f"{SERIES} LIMIT 3", df, seq="seq", output="count") == 0
