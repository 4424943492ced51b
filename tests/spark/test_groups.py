"""Repeated groups on Spark: the matches of one thread, however the events are cut."""

from __future__ import annotations

import warnings
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import sase
from sase import spark as on_spark
from sase.errors import PlanError, ReplayWarning, SaseError
from tests.drawing.examples import example
from tests.drawing.repeated_groups import APART
from tests.seeds import draw_numbers
from tests.spark.by_hand import ByHand, Written, check_tasks, tasks_of
from tests.spark.cases import ALL, Manner, flat, multiset
from tests.spark.known import frame
from tests.spark.test_branches import DETOUR, TABLE, check_replay, on_one_thread

SERIES = (
    "EVENT SEQ(A a, (SEQ(B b, C? c) OR D+ d[])+ g[]) WHERE skip_till_next_match { [id] } WITHIN 9"
)
PAIRS = "EVENT (SEQ(A a, B b))+ g[] WITHIN 5"
RETURNED = f"{PAIRS} HAVING g.len > 1 RETURN g.len AS n, g[1].a.seq AS first, sum(g[].b.v) AS v"
BRANCHES = "EVENT SEQ(A a, (B b)+ g[]) OR SEQ(A a, (B b OR D d)+ g[], C c) WHERE [id] WITHIN 12"
INSIDE = "EVENT (SEQ(A a, !(SEQ(B b, C c)), D d))+ g[] WHERE [id] AND b.v <= a.v WITHIN 12"
# Iterations of the same events by which matches differ, and their order.
SAME = "EVENT SEQ(A a, (D+ d[])+ g[]) WHERE [id] WITHIN 20"


@pytest.mark.parametrize(
    ("query", "strategy", "output", "limit"),
    [
        *((SERIES, each, "all", "") for each in ("key", "slice", "key_and_slice")),
        (PAIRS, "slice", "all", " LIMIT 9"),
        (RETURNED, "slice", "all", ""),
        (SAME, "key", "all", " LIMIT 40"),
        (SERIES, "key", "non_overlap", ""),
        (BRANCHES, "key", "all", ""),
        (BRANCHES, "slice", "all", " LIMIT 30"),
    ],
)
def test_tasks_find_what_one_thread_finds(
    query: str, strategy: str, output: str, limit: str
) -> None:
    check_tasks(f"{query}{limit}", TABLE, strategy, output, seq="seq")


@pytest.mark.parametrize(
    ("query", "strategy"),
    [(SERIES, "key_and_slice"), pytest.param(BRANCHES, "files", marks=pytest.mark.heavy)],
)
def test_spark_finds_what_one_thread_finds(
    spark: SparkSession, query: str, strategy: str, tmp_path: Path
) -> None:
    check_replay(spark, tmp_path, query, strategy)


@pytest.mark.parametrize("query", [DETOUR, SERIES])
def test_flat_columns(spark: SparkSession, query: str) -> None:
    """A variable that a match does not have is NULL, or an empty list."""
    lacking = dict.fromkeys(TABLE.column_names)
    rows = on_one_thread(query)
    wanted = [flat({n: lacking if v is None else v for n, v in row.items()}) for row in rows]
    df = frame(spark, TABLE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReplayWarning)
        found = on_spark.replay(query, df, seq="seq", strategy="key", output="flat")
        assert multiset(found.matches.toArrow().to_pylist()) == multiset(wanted) != multiset([])


@pytest.mark.parametrize("query", [DETOUR, SERIES, INSIDE])
def test_tasks_count_what_one_thread_finds(query: str) -> None:
    wanted = len(on_one_thread(query))
    assert [tasks.count()[1] for tasks in tasks_of(query, TABLE, "key", seq="seq")] == [wanted] * 2


@pytest.mark.random
def test_matches_apart_are_those_of_one_process() -> None:
    """Those of drawn queries, by strategies that may cut them, with and without a second step."""
    checked = found_some = 0
    for number in draw_numbers(200):  # of four queries one has matches
        if checked >= 8 and found_some >= 2:
            break
        drawn = example(number, APART)
        table = pa.Table.from_pylist([{**row, "seq": n} for n, row in enumerate(drawn.rows)])
        options = {"seq": "seq", "types": drawn.keywords["types"]}
        try:
            matches = sase.match(drawn.query.text, table, output="non_overlap", **options)
        except SaseError:  # it names an attribute that no event has
            continue
        local = matches.to_pylist()
        if checked >= 8 and not local:
            continue
        case = Written(drawn.query.text, {ALL: table}, options, Manner(output="non_overlap"))
        for seed, two_steps in enumerate((False, True, True)):
            try:
                _, found = ByHand(case, Random(seed), two_steps).found()
            except PlanError as problem:  # no type of a component declares an attribute in RETURN
                assert "is not known before there is one" in str(problem)
                break
            assert multiset(found) == multiset(local), drawn
        else:
            checked, found_some = checked + 1, found_some + (len(local) > 0)
    assert found_some >= 2
