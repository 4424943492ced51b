"""A script: queries on a session of Spark Connect; it starts the server.

A process has either such a session or a classic one: `test_connect.py` runs this one.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from pyspark.sql import SparkSession

from sase import spark as on_spark
from sase.errors import DataError, ReplayWarning
from sase.spark.parquet import is_parquet
from sase.spark.result_schema import batches_of, in_order
from sase.spark.tasks.errors import translated_errors
from tests.spark.cases import multiset
from tests.spark.known import BY_KEY, BY_SLICE, QUICK, REPLAYS, events, frame, local, rows_of


def main() -> None:
    """Run all replays, and the other outputs of a replay."""
    os.environ["PYSPARK_PYTHON"] = sys.executable  # or the server takes the first on the PATH
    builder = SparkSession.builder.remote("local[2]")
    for name, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        **QUICK,
        "spark.sql.session.timeZone": "UTC",
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    assert "connect" in type(spark).__module__
    warnings.simplefilter("ignore", ReplayWarning)
    outcome: dict[str, Any] = {}
    for name, known in REPLAYS.items():
        found = known.found(frame(spark, events()))
        outcome[name] = multiset(rows_of(found)) == known.wanted()
    outcome["bad rows"] = bad_rows(spark)
    outcome["metrics"] = metrics(spark)
    outcome["several DataFrames"] = several(spark)
    outcome["explanation"] = explanation(spark)
    outcome["table function"] = table_function(spark)
    outcome["batches"] = batches(spark)
    outcome["errors"] = errors(spark)
    outcome["files"] = files(spark)
    print(json.dumps(outcome))
    spark.stop()


def explanation(spark: SparkSession) -> bool:
    """Spark's plan, and the counters of tasks."""
    found = on_spark.explain(BY_KEY, frame(spark, events()), seq="seq", analyze=True)
    results = {each.total for each in found.counters if each.counter == "results"}
    return "MapInArrow" in found.spark_plan and results == {local(BY_KEY).total()}


def table_function(spark: SparkSession) -> bool:
    """Results in SQL."""
    frame(spark, events()).createOrReplaceTempView("events")
    on_spark.register(spark)
    found = spark.sql(f"SELECT * FROM sase_match(TABLE(events), '{BY_KEY}', seq => 'seq')")
    return multiset(rows_of(found)) == local(BY_KEY)


def batches(spark: SparkSession) -> bool:
    """Results as they are written to a file."""
    found = on_spark.match(BY_KEY, frame(spark, events()), seq="seq")
    rows = [row for batch in batches_of(in_order(found)) for row in batch.to_pylist()]
    return multiset(rows) == local(BY_KEY)


def errors(spark: SparkSession) -> bool:
    """A bad row is an error of ours."""
    row = {"ts": None, "type": "A", "seq": 1, "id": 9, "v": 1}
    df = frame(spark, pa.Table.from_pylist([row], events().schema))
    try:
        with translated_errors():
            on_spark.match(BY_KEY, df, seq="seq").collect()
    except DataError as problem:
        return str(problem).startswith("a row is bad, {'ts': None")
    return False


def files(spark: SparkSession) -> bool:
    """Files that tasks read by themselves."""
    with TemporaryDirectory() as folder:
        pyarrow.parquet.write_table(events(), f"{folder}/events.parquet", row_group_size=500)
        df = spark.read.parquet(folder)
        found = on_spark.match(BY_SLICE, df, seq="seq", strategy="files", slices=3)
        is_same = multiset(rows_of(found)) == local(BY_SLICE)
        return is_same and not is_parquet(df.filter("ts > 0"))


def bad_rows(spark: SparkSession) -> bool:
    """Those in quarantine, and the results of the others."""
    good = events(500)
    wrong = {"ts": None, "type": "A", "seq": 1, "id": 9, "v": 1}
    df = frame(spark, pa.concat_tables([good, pa.Table.from_pylist([wrong], good.schema)]))
    found = on_spark.replay(BY_KEY, df, seq="seq", on_bad_row="quarantine")
    (bad,) = rows_of(found.bad_rows)
    is_named = bad["sase_column"] == "ts" and wrong.items() <= bad.items()
    return is_named and multiset(rows_of(found.matches)) == local(BY_KEY, good)


def metrics(spark: SparkSession) -> bool:
    """The counters of tasks."""
    found = on_spark.replay(BY_KEY, frame(spark, events()), seq="seq", strategy="key")
    rows = [row for row in rows_of(found.metrics()) if row["operator"] == "Task"]
    results = sum(row["value"] for row in rows if row["counter"] == "results")
    return bool(results == local(BY_KEY).total())


def several(spark: SparkSession) -> bool:
    """A DataFrame for each type."""
    every = events()
    tables = {
        name: every.filter(pa.compute.equal(every["type"], name)).drop_columns(["type"])
        for name in "ABCD"
    }
    frames = {name: frame(spark, table) for name, table in tables.items()}
    found = on_spark.match(BY_KEY, frames, seq="seq")
    return multiset(rows_of(found)) == local(BY_KEY, tables)


if __name__ == "__main__":
    main()
