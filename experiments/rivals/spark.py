"""Spark SQL on this machine, the columns cached in memory."""

from __future__ import annotations

import pyarrow as pa
import pyspark
from pyspark.sql import DataFrame, SparkSession

from experiments.process_tree import cpu_seconds
from experiments.rivals import columns, sql
from experiments.rivals.protocol import Answer, Task, Way, serve
from experiments.rivals.trees import peak_of_tree

DIALECT = sql.Dialect(quotient="({} DIV {})", shifts="(VALUES (0), (1)) AS shift(d)")


def prepare(task: Task) -> Way:
    """A session with as many cores as threads."""
    spark = session(task.threads)
    frame = spark.createDataFrame(columns.table(task)).repartition(task.threads).cache()
    frame.count()
    frame.createOrReplaceTempView("events")
    text = sql.text(task, DIALECT)

    def run() -> pa.Table:
        found: DataFrame = spark.sql(text)
        return found.toArrow()

    def count(rows: pa.Table) -> Answer:
        return columns.answer(task, rows)

    return Way(run, count)


def session(threads: int) -> SparkSession:
    """One for this process, which tells nothing and listens to nobody else."""
    builder = SparkSession.builder.master(f"local[{threads}]").config("spark.ui.enabled", "false")
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "4g",
        "spark.driver.maxResultSize": "0",
        "spark.sql.shuffle.partitions": str(2 * threads),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("ERROR")
    return found


if __name__ == "__main__":
    serve(pyspark.__version__, prepare, cpu_seconds, peak_of_tree)
