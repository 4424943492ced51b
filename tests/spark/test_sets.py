"""Sets and earliest_maximal on Spark: the matches of one thread, however the events are cut."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

import sase
from sase import spark as on_spark
from sase.errors import PlanError
from sase.spark.tasks.result_order import heads_of, order_of
from tests.spark.by_hand import check_tasks
from tests.spark.cases import multiset
from tests.spark.known import frame
from tests.spark.test_branches import TABLE, check_replay, on_one_thread

RISING = "EVENT SEQ(SET(A a, B+ b[]), D d) WHERE [id] AND b[i].v > b[i-1].v WITHIN 9"
ORDERS = "EVENT SET(A a, B b, C c) WITHIN 4"
NEXT = "EVENT SEQ(SET(A a, B? b), D d) WHERE skip_till_next_match { [id] } WITHIN 9"
GREEDY = "EVENT SEQ(SET(A a, B+ b[]), D d) WHERE earliest_maximal { [id] } WITHIN 9"
# All of its matches wait for their windows, some do, or none has one.
WAITING = "EVENT SEQ(A a, SET(B b, C+ c[])) WHERE earliest_maximal { [id] } WITHIN 9"
SOMETIMES = "EVENT SEQ(A a, SET(B b, C{1,2} c[])) WHERE earliest_maximal { [id] } WITHIN 9"
ENDLESS = "EVENT SEQ(A a, B+ b[]) WHERE earliest_maximal { [id] AND b[i].v > b[i-1].v }"
BRANCHES = "EVENT SEQ(A a, (SET(B b, C c) OR D d)) WHERE [id] WITHIN 7"
RETURNED = f"{GREEDY} HAVING b.len > 1 RETURN a.seq AS first, b.len AS n, d.ts - a.ts AS took"
# Each two events are two matches, of which the variables say which one comes first.
EITHER = "EVENT SET(ANY(A, B) x, ANY(A, B) y) WITHIN 4"
BESIDE = "EVENT SEQ(SET(ANY(A, B) x, ANY(A, B) y), (C c)+ g[]) WITHIN 6"
# Of two matches one is often the end of the other.
ENDING = "EVENT SEQ(A+ a[], B b) WITHIN 6"
EVENTS = "EVENT SEQ(A a, SET(B b, C+ c[])) WHERE earliest_maximal WITHIN 6 EVENTS"


@pytest.mark.parametrize(
    ("query", "strategy", "output", "limit"),
    [
        *((RISING, each, "all", "") for each in ("key", "slice", "key_and_slice")),
        *((each, "key", "all", "") for each in (GREEDY, NEXT, ENDLESS, BRANCHES, RETURNED)),
        *((each, "slice", "all", "") for each in (GREEDY, BRANCHES)),
        *((each, "one_task", "all", "") for each in (SOMETIMES, EVENTS)),
        *((WAITING, each, "all", " LIMIT 9") for each in ("key", "slice")),
        (WAITING, "key", "non_overlap", ""),
        (ORDERS, "slice", "all", " LIMIT 30"),
    ],
)
def test_tasks_find_what_one_thread_finds(
    query: str, strategy: str, output: str, limit: str
) -> None:
    check_tasks(f"{query}{limit}", TABLE, strategy, output, seq="seq")


@pytest.mark.heavy
@pytest.mark.parametrize("strategy", ["key_and_slice", "files"])
def test_spark_finds_what_one_thread_finds(
    spark: SparkSession, strategy: str, tmp_path: Path
) -> None:
    check_replay(spark, tmp_path, RISING, strategy)


@pytest.mark.parametrize("strategy", ["key", "slice"])
@pytest.mark.parametrize("query", [SOMETIMES, EVENTS])
def test_what_only_time_puts_in_order_is_not_cut(
    spark: SparkSession, query: str, strategy: str
) -> None:
    with pytest.raises(PlanError, match="cannot be taken here"):
        on_spark.replay(query, frame(spark, TABLE), seq="seq", strategy=strategy)


def test_in_sql(spark: SparkSession) -> None:
    frame(spark, TABLE).createOrReplaceTempView("events_of_sets")
    on_spark.register(spark)
    rows = spark.sql(f"SELECT * FROM sase_match(TABLE(events_of_sets), '{GREEDY}', seq => 'seq')")
    assert multiset(rows.toArrow().to_pylist()) == multiset(on_one_thread(GREEDY)) != multiset([])


@pytest.mark.parametrize("query", [EITHER, BESIDE, ENDING])
def test_matches_are_sorted_by_events_then_by_variables(query: str) -> None:
    plan = sase.compile(query, TABLE, seq="seq")
    matcher = plan.open()
    parts = [*matcher.push(TABLE.sort_by([("ts", "ascending"), ("seq", "ascending")])).parts]
    parts += matcher.finish().parts
    keys, rows = list[list[int]](), list[object]()
    for number, part in enumerate(parts):
        none = np.zeros(len(part), np.int64)
        keys += order_of(part, heads_of(part), none, number).to_pylist()
        rows += part.table().to_pylist()
    # The last entries are the part in which a match was found, and the place: they decide nothing
    # here.
    known = [(key[:-2], place) for place, key in enumerate(keys)]
    assert [place for _, place in sorted(known)] == [*range(len(rows))]
    assert len({tuple(key) for key, _ in known}) == len(rows) > 30
