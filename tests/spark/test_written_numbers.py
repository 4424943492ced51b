"""Numbers with a point on Spark: in filters before rows move, and in SQL."""

from __future__ import annotations

from decimal import Decimal
from functools import reduce

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from sase import spark as on_spark

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::sase.errors.ReplayWarning")]
PRICES = [Decimal(text) for text in ("0.10", "0.20", "0.30", "19.99")]
KINDS = {
    "money": pa.array(PRICES, pa.decimal128(10, 2)),
    "double": pa.array(list(map(float, PRICES)), pa.float64()),
    "single": pa.array(list(map(float, PRICES)), pa.float64()).cast(pa.float32()),
}
CONDITIONS = {
    "x.price = 19.99": [3],
    "x.price = :p": [3],
    "x.price BETWEEN 0.10 AND 0.30": [0, 1, 2],
    "x.price IN (0.1, 19.99)": [0, 3],
    "x.price < 0.30": [0, 1],
    "least(x.price, 0.2) = 0.20": [1, 2, 3],
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_price_equals_the_number_as_it_is_written(spark: SparkSession, kind: str) -> None:
    """A replay for each condition, all of them in one job."""
    events = pa.table({"ts": range(4), "type": ["A"] * 4, "price": KINDS[kind]})
    frame = spark.createDataFrame(events)
    found = []
    for condition in CONDITIONS:
        query = f"EVENT A x WHERE {condition} WITHIN 1 RETURN x.ts AS n"
        params = {"p": Decimal("19.99")} if ":p" in condition else None
        matches = on_spark.match(query, frame, params=params, strategy="one_task")
        found.append(matches.select(sf.lit(condition).alias("condition"), "n"))
    rows = [(row.condition, row.n) for row in reduce(DataFrame.union, found).collect()]
    assert sorted(rows) == sorted((name, n) for name in CONDITIONS for n in CONDITIONS[name])


def test_a_decimal_of_sql_is_a_parameter(spark: SparkSession) -> None:
    events = pa.table({"ts": range(4), "type": ["A"] * 4, "price": KINDS["money"]})
    spark.createDataFrame(events).createOrReplaceTempView("prices")
    on_spark.register(spark)
    query = "EVENT A x WHERE x.price = :p RETURN x.ts AS n"
    call = f"sase_match(TABLE(prices), '{query}', params => map('p', 19.99))"
    assert [row.n for row in spark.sql(f"SELECT n FROM {call}").collect()] == [3]
