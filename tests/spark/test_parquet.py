"""Which DataFrames are Parquet files as they are, by the plan that PySpark prints."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import DataFrame, SparkSession

import sase
from sase import spark as on_spark
from sase.planning.replay import ReplayStrategy
from sase.spark.parquet import is_parquet

# More columns than Spark prints of a relation.
COLUMNS = [f"c{number}" for number in range(40)]


@pytest.fixture(scope="module")
def df(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    path: Path = tmp_path_factory.mktemp("parquet") / "day=1"
    path.mkdir()
    table = pa.table({"ts": [1, 2], **dict.fromkeys(COLUMNS, [3, 4])})
    pyarrow.parquet.write_table(table, path / "events.parquet")
    return spark.read.parquet(str(path.parent))


def test_files_are_known_under_any_name(spark: SparkSession, df: DataFrame) -> None:
    read = spark.read.schema(df.schema).parquet(df.inputFiles()[0])
    for each in (df, df.alias("x"), df.alias("x").alias("y"), read):
        assert is_parquet(each)


def test_all_else_is_not_just_files(spark: SparkSession, df: DataFrame, tmp_path: Path) -> None:
    df.write.json(str(tmp_path / "json"))
    others = [
        df.filter("ts > 1"), df.select("ts"), df.limit(1), df.union(df), df.sample(0.5),
        df.withColumnRenamed("ts", "time"), df.withColumn("] parquet", df.ts),
        spark.range(3), spark.read.json(str(tmp_path / "json")),
    ]  # fmt: skip
    for each in others:
        assert not is_parquet(each)


def test_single_events_are_read_from_files_without_a_window(
    spark: SparkSession, tmp_path: Path
) -> None:
    events = pa.table({
        "ts": [*range(100)], "type": [*"AB"] * 50, "k": [n % 7 or None for n in range(100)],
    })  # fmt: skip
    pyarrow.parquet.write_table(events, tmp_path / "events.parquet", row_group_size=10)
    df = spark.read.parquet(str(tmp_path / "events.parquet"))
    query = "EVENT SEQ(A a) WHERE [k] AND a.k IS NOT NULL RETURN a.ts AS at, a.k AS k"
    replay = on_spark.replay(query, df, strategy="files", slices=3)
    assert replay.cut.choice.strategy is ReplayStrategy.FILES and replay.cut.parts == 3
    found = sorted((row.at, row.k) for row in replay.matches.collect())
    local = [(each["at"], each["k"]) for each in sase.match(query, events).to_pylist()]
    assert found == sorted(local) and len(local) == 42
    assert replay.count() == len(local)
