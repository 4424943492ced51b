"""Some queries on a stream of a few thousand events, for tests that need a session of their own."""

from __future__ import annotations

from collections import Counter
from os import pathsep
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

import sase
from sase import spark as on_spark
from tests.spark.cases import Row, multiset

ROOT = Path(__file__).parents[2]
# Queries are small here and each is run once: to compile code for them takes longer than they do.
QUICK = {
    "spark.driver.memory": "2g",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "2",
    # Nor are the texts of all plans written in detail.
    "spark.sql.ui.explainMode": "simple",
    # Nor is it worth while to optimize the code of Spark itself, or to check its classes again.
    # There is room for all of its code, and for the objects of some tests before memory is cleaned.
    "spark.driver.extraJavaOptions": (
        "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
        " -XX:+UseSerialGC -Xms768m -Xmn400m"
        " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
    ),
    "spark.executorEnv.PYTHONPATH": f"{ROOT}{pathsep}{ROOT / 'tests' / 'spark' / 'preload'}",
}

BY_KEY = "EVENT SEQ(A a, !(B x), C c) WHERE [id] AND a.v < c.v WITHIN 60"
BY_SLICE = "EVENT SEQ(A a, B b, !(C x)) WHERE a.v = b.v AND x.v > b.v WITHIN 12"
COUNTED = "EVENT SEQ(A a, B b) WHERE a.v < b.v WITHIN 9 EVENTS"
FIRST = "EVENT SEQ(A a, B b, C c) WHERE [id] WITHIN 40 LIMIT 7"
ALONE = "EVENT SEQ(A a, B b) WHERE a.v = 3 AND b.v = 7"


class Known(NamedTuple):
    """A query, the strategy by which it is replayed, and the form of its results."""

    query: str
    strategy: str | None
    output: str = "structs"

    def found(self, df: DataFrame, **options: Any) -> DataFrame:
        """The results on Spark."""
        said = {"seq": "seq", "strategy": self.strategy, "output": self.output, **options}
        return on_spark.match(self.query, df, **said)

    def wanted(self, table: pa.Table | None = None) -> Counter[str]:
        """The results in one process."""
        return local(self.query, table, output="all" if self.output == "structs" else self.output)


REPLAYS = {
    "by key": Known(BY_KEY, "key"),
    "by slice": Known(BY_SLICE, "slice"),
    "by key and slice": Known(BY_KEY, "key_and_slice"),
    "a window in events": Known(COUNTED, "slice"),
    "the first results": Known(FIRST, "key"),
    "one task": Known(ALONE, "one_task"),
    "those that do not overlap": Known(BY_SLICE, "slice", "non_overlap"),
    "as chosen": Known(BY_KEY, None),
}


def events(count: int = 3000) -> pa.Table:
    """Events of four types, half of them of one key, a tie now and then."""
    random, ts = Random(5), 0
    rows = []
    for seq in range(count):
        ts += random.choice((0, 1, 1, 2))
        key = random.choice([None, 1, 1, 1, *range(2, 6)])
        kind = random.choice("ABCD")
        rows.append({"ts": ts, "type": kind, "seq": seq, "id": key, "v": random.randrange(9)})
    return pa.Table.from_pylist(rows)


def frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    """The events in no order, in several partitions."""
    schema = from_arrow_schema(table.schema, prefer_timestamp_ntz=True)
    mixed = table.take(Random(5).sample(range(len(table)), len(table)))
    return spark.createDataFrame(mixed, schema)


def local(query: str, table: pa.Table | None = None, **keywords: Any) -> Counter[str]:
    """The matches of the local engine."""
    known = events() if table is None else table
    return multiset(sase.match(query, known, seq="seq", **keywords).to_pylist())


def rows_of(found: DataFrame) -> list[Row]:
    """The results."""
    rows: list[Row] = found.toArrow().to_pylist()
    return rows
