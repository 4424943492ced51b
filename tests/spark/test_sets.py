"""Sets and earliest_maximal on Spark: what one thread finds, however the events are cut."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

import sase
from sase import spark as on_spark
from sase.errors import PlanError, ReplayWarning
from sase.spark.result_order import heads_of, order_of
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

# Each with how it is cut, and a limit.
MORE = [
    *((RISING, each, "") for each in ("key", "slice")),
    *((each, "key", "") for each in (GREEDY, NEXT, ENDLESS, BRANCHES, RETURNED)),
    *((each, "one_task", "") for each in (SOMETIMES, EVENTS)),
    (RISING, "files", ""),
    (WAITING, "key", " LIMIT 9"),
    (ORDERS, "slice", " LIMIT 30"),
]


@pytest.mark.parametrize(
    ("query", "strategy", "output", "limit"),
    [
        (RISING, "key_and_slice", "structs", ""),
        (GREEDY, "slice", "structs", ""),
        (WAITING, "slice", "structs", " LIMIT 9"),
        (WAITING, "key", "non_overlap", ""),
        (BRANCHES, "slice", "structs", ""),
        *(pytest.param(*each, "structs", limit, marks=pytest.mark.heavy) for *each, limit in MORE),
    ],
)
def test_spark_finds_what_one_thread_finds(
    spark: SparkSession, query: str, strategy: str, output: str, limit: str, tmp_path: Path
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReplayWarning)
        check_replay(spark, tmp_path, f"{query}{limit}", strategy, output)


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
    # Behind stands in which part a match was found, and where: that decides nothing here.
    known = [(key[:-2], place) for place, key in enumerate(keys)]
    assert [place for _, place in sorted(known)] == [*range(len(rows))]
    assert len({tuple(key) for key, _ in known}) == len(rows) > 30
