"""LIMIT: the first results, however events are cut, or an error where it is not said which."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import sase
from sase import spark as on_spark
from sase.errors import DataError
from sase.spark.tasks.errors import translated_errors
from sase.spark.tasks.limit import PartitionHead, TiedResults
from sase.spark.tasks.result_order import HEAD, heads_of
from tests.drawing.queries import Query
from tests.spark.by_hand import ByHand, check_tasks, tasks_of
from tests.spark.cases import Case, Manner, Row, cases, expected, in_order, multiset
from tests.spark.known import frame, rows_of
from tests.spark.routes import check
from tests.spark.tied import SETTING, A, B, both_ways, few_rows, patterns, rows_of_keys

ONE, REPEATABLE = settings().max_examples, settings().derandomize
MANY = settings(
    max_examples=max(ONE // (6 if REPEATABLE else 2), 1),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
FEW = settings(MANY, max_examples=max(ONE // 25, 1))


def cut_at(case: Case, limit: int, repeats: int) -> Case:
    """The case with a limit, and a `seq` that repeats."""
    example = replace(case.example, query=replace(case.example.query, limit=f"LIMIT {limit}"))
    return replace(
        case, example=in_order(example, repeats), manner=replace(case.manner, output="structs")
    )


limited = st.builds(cut_at, cases(), st.integers(1, 12), st.sampled_from([1, 2, 3, 101]))


@MANY
@given(limited, st.integers(0, 2**32))
def test_the_first_results_are_taken_or_it_is_not_said_which(case: Case, seed: int) -> None:
    if not isinstance(case.local, sase.Matches) or case.on_bad_row == "quarantine":
        return
    for cut in range(3):
        found = ByHand(case, Random(seed + cut)).decided()
        assert found is None or multiset(found) == expected(case)


@FEW
@given(st.builds(cut_at, cases(), st.integers(1, 12), st.just(101)))
def test_spark_takes_the_first_results(spark: SparkSession, case: Case) -> None:
    check(spark, case)


# ---------------------------------------------------------------- many ties


tied_queries = st.builds(
    lambda components, limit: Query.of(
        components, tests=("[id]",), window="2", limit=f"LIMIT {limit}"
    ),
    patterns,
    st.integers(1, 6),
)


@MANY
@given(tied_queries, few_rows, st.integers(0, 2**32))
@example(
    Query.of((A, B), tests=("[id]",), window="9", limit="LIMIT 2"),
    rows_of_keys(
        *((0, "A", 3, 0), (0, "A", 2, 1), (1, "B", 3, 0), (1, "A", 1, 1), (2, "A", 1, 0)),
        *((3, "B", 1, 0), (3, "B", 2, 0)),
    ),
    0,
)
def test_what_is_refused_depends_on_the_order(query: Query, rows: list[Row], seed: int) -> None:
    """Within a key no two events are equal here, so keys that come the other way round tell."""
    apart = [*{(row["ts"], row["sq"], row["id"]): row for row in rows}.values()]
    case, other = both_ways(query, apart, Manner())
    one = expected(case)
    for cut in range(6):
        found = ByHand(case, Random(seed + cut)).decided()
        if found is None:
            assert one != expected(other)
        else:
            assert multiset(found) == one == expected(other)


@MANY
@given(tied_queries, few_rows, st.integers(1, 4))
@example(
    Query.of((A, B), tests=("[id]",), window="9", limit="LIMIT 1"),
    rows_of_keys(*((0, "A", 1, 0), (0, "A", 2, 1), (1, "A", 1, 0), (2, "B", 1, 0), (2, "B", 2, 0))),
    1,
)
def test_it_does_not_matter_how_results_come(query: Query, rows: list[Row], size: int) -> None:
    """Their first ones are taken, and of those behind them one that could be before the last."""
    limit = int(query.limit.split()[1])
    table = pa.Table.from_pylist(sorted(rows, key=SETTING.key), schema=SETTING.schema())
    matcher = sase.compile(replace(query, limit="").text, table, seq="sq").open()
    found = [part for made in (matcher.push(table), matcher.finish()) for part in made.parts]
    heads = [head for part in found for head in map(tuple, heads_of(part).tolist())]
    taken, behind = heads[:limit], heads[limit:]
    group = [head for head in heads if len(taken) == limit and head[:HEAD] == taken[-1][:HEAD]]
    doubts = [
        head
        for head in behind
        if head in group and (len({*taken} & {*group}) > 1 or head != taken[-1])
    ]
    first, outcome, shown = PartitionHead(limit), [], []
    for part in found:
        places = [*range(0, len(part), size), len(part)]
        for begin, end in pairwise(places):
            for leading in first.of(part.between(begin, end)):
                (shown if leading.is_beyond else outcome).extend(map(tuple, leading.heads.tolist()))
    assert outcome == taken
    assert shown == doubts[:1]


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=12).map(sorted),
    st.integers(1, 4),
)
def test_a_group_is_that_of_all_results_seen(heads: list[tuple[int, int]], size: int) -> None:
    """Of three numbers by which results are ordered one changes here, and then the last event."""
    results = np.array([[0, head, 0, event] for head, event in heads], np.int64)
    whole, parts, follows = TiedResults(), TiedResults(), list[int]()
    for begin in range(0, len(results), size):
        follows += parts.follows(results[begin : begin + size]).tolist()
        parts.add(results[begin : begin + size])
    whole.add(results)
    group = {event for head, event in heads if head == heads[-1][0]}
    assert whole.has_several == parts.has_several == (len(group) > 1)
    assert follows == [0, *(int(one == other) for one, other in pairwise(heads))]


# ---------------------------------------------------------------- events that are equal


def row(ts: int, kind: str, seq: int, key: int) -> Row:
    return {"ts": ts, "type": kind, "seq": seq, "id": key}


PAIR = "EVENT SEQ(A a, B b) WHERE [id] WITHIN 9 LIMIT"
ABSENT = "EVENT SEQ(A a, B b, !(C c)) WHERE [id] WITHIN 9 LIMIT"
SERIES = "EVENT SEQ(A+ a[], B b) WHERE [id] WITHIN 9 LIMIT"
# Two keys with matches that end at the same time, with the same `seq`; one has more than the other.
STARTS = [row(1, "A", 1, 1), row(1, "A", 2, 2), row(2, "A", 3, 1)]
EQUAL = [*STARTS, row(3, "B", 4, 1), row(3, "B", 4, 2)]
# Matches of a key before, and the same of another behind.
AROUND = [row(0, "A", 0, 7), row(1, "B", 0, 7), *EQUAL, row(4, "B", 0, 7)]


@pytest.mark.parametrize(
    ("query", "limit", "strategy", "is_decided"),
    [
        (PAIR, 1, "key", True),
        (PAIR, 2, "key", False),
        (PAIR, 3, "slice", False),
        (PAIR, 4, "slice", True),
        (SERIES, 2, "one_task", False),
        (SERIES, 4, "key", False),
        (SERIES, 5, "one_task", True),
        # A match that is known at another time has an order.
        (ABSENT, 2, "key", True),
        (ABSENT, 3, "slice", False),
        (ABSENT, 4, "slice", True),
    ],
)
def test_of_results_that_end_at_equal_events(
    query: str, limit: int, strategy: str, *, is_decided: bool
) -> None:
    table = pa.Table.from_pylist(AROUND)
    if is_decided:
        check_tasks(f"{query} {limit}", table, strategy, seq="seq")
        return
    for tasks in tasks_of(f"{query} {limit}", table, strategy, seq="seq"):
        with pytest.raises(DataError, match="which of these is first") as caught:
            tasks.found()
        assert "'seq': 4, 'id'" in str(caught.value)


def test_equal_events_within_a_key_are_an_error(spark: SparkSession) -> None:
    table = pa.Table.from_pylist([row(1, "A", 1, 1), row(1, "A", 1, 1), row(3, "B", 4, 1)])
    with pytest.raises(DataError, match="it matters which comes before"), translated_errors():
        on_spark.match(f"{PAIR} 1", frame(spark, table), seq="seq").collect()


def test_a_count_does_not_depend_on_the_order(spark: SparkSession) -> None:
    replay = on_spark.replay(f"{PAIR} 2", frame(spark, pa.Table.from_pylist(AROUND)), seq="seq")
    assert replay.count() == 2
    results = [each for each in rows_of(replay.metrics()) if each["counter"] == "results"]
    assert 2 <= sum(each["value"] for each in results) <= 5


def test_several_matches_of_one_series_in_a_key() -> None:
    """Results are put in order by all their events, which lines hold component by component."""
    query = "EVENT A+ a[] WHERE skip_till_next_match { [id] } WITHIN 4 LIMIT 2"
    table = pa.Table.from_pylist([{"ts": ts, "type": "A", "id": 1} for ts in (1, 2)])
    assert len(sase.match(query, table, seq="ts")) == 2
    check_tasks(query, table, "key", seq="ts")


@pytest.mark.parametrize("strategy", ["key", "slice"])
def test_results_that_do_not_overlap(strategy: str) -> None:
    table = pa.Table.from_pylist(AROUND)
    assert len(sase.match(f"{PAIR} 3", table, seq="seq", output="non_overlap")) == 3
    check_tasks(f"{PAIR} 3", table, strategy, "non_overlap", seq="seq")
    for tasks in tasks_of(f"{PAIR} 2", table, strategy, "non_overlap", seq="seq"):
        with pytest.raises(DataError, match="which of these is first"):
            tasks.found()


def test_spark_takes_the_first_that_do_not_overlap(spark: SparkSession) -> None:
    table = pa.Table.from_pylist(AROUND)
    options: dict[str, Any] = {"seq": "seq", "strategy": "slice", "output": "non_overlap"}
    found = on_spark.match(f"{PAIR} 3", frame(spark, table), **options)
    wanted = sase.match(f"{PAIR} 3", table, seq="seq", output="non_overlap").to_pylist()
    assert multiset(rows_of(found)) == multiset(wanted)


def test_in_sql(spark: SparkSession) -> None:
    on_spark.register(spark)
    frame(spark, pa.Table.from_pylist(AROUND)).createOrReplaceTempView("around")
    call = "SELECT * FROM sase_match(TABLE(around), '{} {}', seq => 'seq')"
    assert spark.sql(call.format(PAIR, 4)).count() == 4
    with pytest.raises(DataError, match="which of these is first"), translated_errors():
        spark.sql(call.format(PAIR, 2)).collect()
