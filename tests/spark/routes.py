"""How cases are run on Spark, and their expected results."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

import sase
from sase import spark as on_spark
from sase.errors import DataError, PlanError, QueryError, SaseError
from tests.spark.cases import ALL, Case, expected, multiset

# Adaptive execution that splits and joins whatever it may, that joins all it can, and none.
ADAPTIVE = {
    "hostile": {
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": "1b",
        "spark.sql.adaptive.coalescePartitions.minPartitionSize": "1b",
        "spark.sql.adaptive.skewJoin.skewedPartitionFactor": "1.01",
        "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "1b",
        "spark.sql.adaptive.rebalancePartitionsSmallPartitionFactor": "0.01",
    },
    "merging": {
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": "1g",
        "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
    },
    "plain": {"spark.sql.adaptive.enabled": "false"},
}
EVERY = sorted({name for settings in ADAPTIVE.values() for name in settings})


def set_up(spark: SparkSession, case: Case) -> None:
    """The settings of a case."""
    settings = ADAPTIVE[case.manner.conf]
    for name in EVERY:
        if name in settings:
            spark.conf.set(name, settings[name])
        else:
            spark.conf.unset(name)
    spark.conf.set("spark.sql.shuffle.partitions", str(case.manner.shuffles))
    spark.conf.set("spark.sql.session.timeZone", case.manner.zone)


def frames(spark: SparkSession, case: Case, folder: Path) -> DataFrame | dict[str, DataFrame]:
    """The events as DataFrames; where they are read from files, these are in the folder."""
    made = {}
    for number, (name, table) in enumerate(case.tables.items()):
        if case.manner.files:
            df = read(spark, table, case.example.setting.time, folder / str(number))
        else:
            schema = from_arrow_schema(table.schema, prefer_timestamp_ntz=True)
            df = spark.createDataFrame(table, schema)
            df = df.repartition(case.manner.partitions) if case.manner.partitions else df
        made[name] = df
    return made.get(ALL, made)


def read(spark: SparkSession, table: pa.Table, time: str, folder: Path) -> DataFrame:
    """The table from files, most of which are in the order of time, of row groups of three rows."""
    folder.mkdir()
    if len(table) % 5:
        table = table.sort_by(time)
    for place in range(0, max(len(table), 1), 8):
        path = folder / f"{place:03}.parquet"
        pyarrow.parquet.write_table(table.slice(place, 8), path, row_group_size=3)
    return spark.read.parquet(str(folder))


def replayed(spark: SparkSession, case: Case, folder: Path) -> on_spark.Replay:
    """The replay of a case: by the requested strategy, or else by the one that is chosen."""
    keywords = {
        **case.keywords,
        "slices": case.bounds(),
        "output": case.manner.output,
        "flat": case.manner.flat,
    }
    events, forced = frames(spark, case, folder), case.manner.strategy
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sase.errors.ReplayWarning)
        try:
            return on_spark.replay(case.query, events, strategy=forced, **keywords)
        except PlanError as error:
            if "cannot be taken here" not in str(error):
                raise
        return on_spark.replay(case.query, events, **keywords)


def check(spark: SparkSession, case: Case) -> str:
    """Spark agrees with the local engine; returns the strategy, or the reason of both to refuse."""
    set_up(spark, case)
    with tempfile.TemporaryDirectory() as folder:
        return _check(spark, case, Path(folder))


def _check(spark: SparkSession, case: Case, folder: Path) -> str:
    local = case.local
    if isinstance(local, DataError):
        with pytest.raises((SaseError, PySparkException)) as caught:
            replayed(spark, case, folder).matches.toArrow()
        assert "a row is bad" in str(caught.value) or isinstance(caught.value, SaseError), caught
        return "bad row"
    if isinstance(local, SaseError):
        with pytest.raises(type(local)):
            replayed(spark, case, folder)
        return "refused"
    try:
        replay = replayed(spark, case, folder)
    except QueryError as error:
        is_flat = case.manner.flat or case.manner.output == "flat"
        assert is_flat and "clash" in str(error), error
        return "clash"
    found = replay.matches.toArrow()
    assert multiset(found.to_pylist()) == expected(case)
    if case.on_bad_row == "quarantine":
        assert replay.bad_rows.count() == local.report.bad
    return str(replay.cut.choice.strategy)
