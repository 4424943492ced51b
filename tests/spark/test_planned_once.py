"""A replay binds a query once and plans it once, where it is started: tasks are given the plan."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from sase.spark import explain, replay
from tests.planned import EVENTS, KEYED, SAMPLED, counted


@pytest.mark.parametrize("query", [KEYED, SAMPLED])
def test_a_replay_binds_and_plans_once(query: str, spark: SparkSession) -> None:
    """Tasks are processes of their own, which are not counted here."""
    with counted() as calls:
        replay(query, spark.createDataFrame(EVENTS)).matches.schema  # noqa: B018 - it is planned
    assert calls.times(query) == ([1], [1])


def test_a_replayed_set_is_bound_once(spark: SparkSession) -> None:
    with counted() as calls:
        replay(KEYED, spark.createDataFrame(EVENTS), output="count").count()
    assert calls.times(KEYED)[0] == [1]


@pytest.mark.parametrize("query", [KEYED, SAMPLED])
def test_an_explanation_binds_and_plans_once(query: str, spark: SparkSession) -> None:
    frame = spark.createDataFrame(EVENTS)
    with counted() as calls:
        explain(query, frame)
    assert calls.times(query) == ([1], [1])
