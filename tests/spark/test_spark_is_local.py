"""Spark finds what the local engine finds, as a multiset of rows with all their values.

Spark takes about half a second for a case, so there are few; `test_tasks` has many more, of what
workers do, and `test_columns` of how rows are placed.
"""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, given, settings
from pyspark.sql import SparkSession

from tests.spark.cases import Case, cases
from tests.spark.routes import check

MANY = settings(
    max_examples=max(settings().max_examples // 2, 1),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
taken: Counter[str] = Counter()


@MANY
@given(case=cases())
def test_spark_is_the_local_engine(spark: SparkSession, case: Case) -> None:
    taken[check(spark, case)] += 1
