"""Aggregates that users add, on Spark: their functions go to the tasks, which know none by name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import sase
from sase import spark as on_spark
from tests.spark.cases import multiset
from tests.spark.known import events, frame
from tests.user_aggregates import added_here

QUERY = (
    "EVENT SEQ(A a, B+ b[]) WHERE skip_till_next_match { [id] AND traced(b[..i].v) != 3"
    " AND reached(b[].(v, seq)) > 0 } WITHIN 20 RETURN a.seq AS s, traced(b[].v) AS t, b.len AS n"
)


@pytest.fixture(autouse=True)
def _added() -> Iterator[None]:
    with added_here():
        factor = 5  # which the function holds
        sase.aggregate("traced", 1, lambda state, v: (state * factor + v) % 17)
        sase.aggregate(
            "reached", (0, 0.0), lambda state, v, seq: (state[0] + v, state[1] + seq / (v + 1)),
            lambda state: state[1] - state[0], over=2, kinds=("integer", "float", "float"),
        )  # fmt: skip
        yield


@pytest.mark.heavy
@pytest.mark.parametrize("strategy", ["key", "key_and_slice"])
def test_tasks_find_what_one_process_finds(spark: SparkSession, strategy: str) -> None:
    table = events(600)
    found = on_spark.match(QUERY, frame(spark, table), seq="seq", strategy=strategy)
    known = sase.match(QUERY, table, seq="seq").to_arrow()
    assert multiset(found.toArrow().to_pylist()) == multiset(known.to_pylist())
    assert len(known) > 50


@pytest.mark.heavy
def test_sql_knows_those_that_were_added_before(spark: SparkSession) -> None:
    table = events(300)
    frame(spark, table).createOrReplaceTempView("of_users")
    on_spark.register(spark, "with_aggregates")
    found = spark.sql(
        f"SELECT * FROM with_aggregates(TABLE(of_users), query => '{QUERY}', seq => 'seq')"
    )
    known = sase.match(QUERY, table, seq="seq").to_pylist()
    assert multiset(found.toArrow().to_pylist()) == multiset(known)
    assert len(known) > 20
