"""Spark finds the matches of the local engine, as a multiset of rows with all their values.

Spark takes about half a second for a case, so there are few; `test_tasks` has many more, of the
work of workers, and `test_columns` of how rows are placed."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from pyspark.sql import SparkSession

from sase.errors import BindingError
from sase.spark.replay import replay
from tests.spark.cases import Case, cases
from tests.spark.routes import check

ONE, REPEATABLE = settings().max_examples, settings().derandomize
MANY = settings(
    max_examples=max(ONE // (3 if REPEATABLE else 2), 1),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
taken: Counter[str] = Counter()


@pytest.mark.heavy
@MANY
@given(case=cases())
def test_spark_is_the_local_engine(spark: SparkSession, case: Case) -> None:
    taken[check(spark, case)] += 1


def test_flat_columns_that_clash_are_refused(spark: SparkSession) -> None:
    """One of them could not be named."""
    events = spark.createDataFrame([(1, "A", 1, 2)], "ts long, type string, z long, y_z long")
    query = "EVENT SEQ(A x_y, A x) WITHIN 10"
    with pytest.raises(BindingError, match="column-clash"):
        replay(query, events, output="flat")
    assert replay(query, events).matches.columns[:2] == ["x_y", "x"]
