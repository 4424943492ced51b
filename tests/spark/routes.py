"""How cases are run on Spark, and what must come out."""

from __future__ import annotations

import warnings

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


def frames(spark: SparkSession, case: Case) -> DataFrame | dict[str, DataFrame]:
    """The events as DataFrames."""
    made = {}
    for name, table in case.tables.items():
        schema = from_arrow_schema(table.schema, prefer_timestamp_ntz=True)
        df = spark.createDataFrame(table, schema)
        made[name] = df.repartition(case.manner.partitions) if case.manner.partitions else df
    return made.get(ALL, made)


def replayed(spark: SparkSession, case: Case) -> on_spark.Replay:
    """The replay of a case: by the strategy asked for, or else by the one that is chosen."""
    keywords = {**case.keywords, "slices": case.bounds(), "output": case.manner.output}
    events, forced = frames(spark, case), case.manner.strategy
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sase.errors.ReplayWarning)
        try:
            return on_spark.replay(case.query, events, strategy=forced, **keywords)
        except PlanError as error:
            if "cannot be taken here" not in str(error):
                raise
        return on_spark.replay(case.query, events, **keywords)


def check(spark: SparkSession, case: Case) -> str:
    """Spark says what the local engine says; this gives the strategy, or what both refuse."""
    set_up(spark, case)
    local = case.local
    if isinstance(local, DataError):
        with pytest.raises((SaseError, PySparkException)) as caught:
            replayed(spark, case).matches.toArrow()
        assert "a row is bad" in str(caught.value) or isinstance(caught.value, SaseError), caught
        return "bad row"
    if isinstance(local, SaseError):
        with pytest.raises(type(local)):
            replayed(spark, case)
        return "refused"
    try:
        replay = replayed(spark, case)
    except QueryError as error:
        assert case.manner.output == "flat" and "clash" in str(error), error
        return "clash"
    found = replay.matches.toArrow()
    assert multiset(found.to_pylist()) == expected(case, found.schema)
    if case.on_bad_row == "quarantine":
        assert replay.bad_rows.count() == local.report.bad
    return str(replay.cut.choice.strategy)
