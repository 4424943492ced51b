"""Imprecise time on Spark: the matches and confidences of one thread, in any cuts."""

from __future__ import annotations

import warnings
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import sase
from sase import spark as on_spark
from sase.errors import ReplayWarning
from sase.spark.partitioning import MEASURED
from tests.spark.cases import multiset
from tests.spark.known import frame
from tests.spark.test_streaming import pieces, ran, session, streamed, write

__all__ = ["session"]
TIME = ("lo", "hi")
PAIRS = "EVENT SEQ(A a, B b) WHERE a.v <= b.v WITHIN 4"
SERIES = "EVENT SEQ(A a, B+ b[], C c) WHERE [id] AND b[i].v >= b[i-1].v WITHIN 9"
SETS = "EVENT SEQ(A a, B+ b[], C c) WHERE [id] WITHIN 9 WITH CONFIDENCE >= 0.2003"
# Events before and behind a match are two windows before it is known.
BOTH = "EVENT SEQ(!(A n), C c, !(B m)) WITHIN 5"
RETURNED = f"{SERIES} HAVING confidence < 0.9 RETURN a.v AS v, confidence AS sure, b.len AS n"


def events(count: int = 90) -> pa.Table:
    """Events of three types with overlapping intervals, no two of which are alike."""
    random, rows, at = Random(3), [], 0
    for number in range(count):
        at += random.choice((0, 1, 1, 2))
        row = {"lo": at - random.randrange(4), "id": random.choice([None, 1, 1, 2])}
        row |= {"hi": at + random.randrange(3), "type": random.choice("ABC"), "n": number}
        if all((row["lo"], row["hi"]) != (each["lo"], each["hi"]) for each in rows):
            rows.append(row | {"v": random.randrange(4)})
    return pa.Table.from_pylist(rows)


TABLE = events()


def on_one_thread(query: str, **options: Any) -> Any:
    return sase.match(query, TABLE, time=TIME, threads=1, **options)


def told(rows: list[dict[str, Any]]) -> Any:
    """Results that differ where a confidence does by one bit."""
    return multiset([row | {"confidence": row["confidence"].hex()} for row in rows])


@pytest.mark.parametrize(
    ("query", "strategy"),
    [
        (BOTH, "files"),
        *(
            pytest.param(*each, marks=pytest.mark.heavy)
            for each in [
                (SERIES, "key_and_slice"),
                *((SERIES, strategy) for strategy in ("key", "slice", "files")),
                *((SETS, strategy) for strategy in ("key", "slice")),
                *((PAIRS, strategy) for strategy in ("slice", "one_task")),
                *((query, "slice") for query in (BOTH, RETURNED, f"{PAIRS} LIMIT 7")),
            ]
        ),
    ],
)
def test_spark_finds_what_one_thread_finds(
    spark: SparkSession, query: str, strategy: str, tmp_path: Path
) -> None:
    pyarrow.parquet.write_table(TABLE.sort_by("lo"), tmp_path / "events.parquet", row_group_size=10)
    df = spark.read.parquet(str(tmp_path)) if strategy == "files" else frame(spark, TABLE)
    slices = 5 if strategy != "key" and strategy != "one_task" else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReplayWarning)
        found = on_spark.replay(query, df, time=TIME, strategy=strategy, slices=slices)
    assert found.cut.choice.strategy == strategy
    assert found.cut.parts > 1 or strategy == "one_task"
    assert (MEASURED in found.cut.notes) == (strategy in ("slice", "key_and_slice"))
    wanted = on_one_thread(query).to_pylist()
    assert told(found.matches.toArrow().to_pylist()) == told(wanted) != told([])
    assert found.count() == len(wanted)


@pytest.mark.heavy
def test_a_table_of_each_type(spark: SparkSession) -> None:
    """Rows travel in structs, beside which both times stand to sort by."""
    tables = {
        name: TABLE.filter(pa.compute.equal(TABLE["type"], name)).drop_columns(["type"])
        for name in "ABC"
    }
    frames = {name: frame(spark, table) for name, table in tables.items()}
    found = on_spark.replay(SERIES, frames, time=TIME, strategy="slice", slices=4)
    wanted = sase.match(SERIES, tables, time=TIME).to_pylist()
    assert told(found.matches.toArrow().to_pylist()) == told(wanted) != told([])


@pytest.mark.heavy
def test_in_sql(spark: SparkSession) -> None:
    frame(spark, TABLE).createOrReplaceTempView("imprecise_events")
    on_spark.register(spark)
    rows = spark.sql(
        f"SELECT * FROM sase_match(TABLE(imprecise_events), '{SERIES}', time => array('lo', 'hi'))"
    )
    assert told(rows.toArrow().to_pylist()) == told(on_one_thread(SERIES).to_pylist())


def test_rows_with_intervals_that_end_before_they_begin_are_bad(spark: SparkSession) -> None:
    odd = [{"lo": 3, "hi": 2}, {"lo": None, "hi": 2}, {"lo": 3, "hi": None}]
    odd += [{"lo": 2**62, "hi": 2**63 - 1}, {"lo": -(2**62), "hi": 2**62}]
    rows = [{"type": "A", "id": 1, "v": 1, "n": number, **each} for number, each in enumerate(odd)]
    df = frame(spark, pa.concat_tables([TABLE, pa.Table.from_pylist(rows, TABLE.schema)]))
    found = on_spark.replay(
        PAIRS, df, time=TIME, strategy="slice", slices=3, on_bad_row="quarantine"
    )
    assert told(found.matches.toArrow().to_pylist()) == told(on_one_thread(PAIRS).to_pylist())
    bad = found.bad_rows.select("n", "sase_column", "sase_reason").toArrow().to_pylist()
    assert sorted((row["n"], row["sase_column"]) for row in bad) == [
        (0, "hi"), (1, "lo"), (2, "hi"), (3, "hi"), (4, "hi"),
    ]  # fmt: skip
    reasons = {row["n"]: row["sase_reason"] for row in bad}
    assert "it is before `lo`" in reasons[0]
    assert "2^62 units or more after `lo`" in reasons[3]
    # Which task fails first is Spark's choice, so either row may be the one that is named.
    named = "it is before `lo`|2\\^62 units or more after `lo`"
    with pytest.raises((sase.errors.DataError, PySparkException), match=named):
        on_spark.match(PAIRS, df.filter("lo > hi OR lo > 9"), time=TIME).toArrow()


def test_what_is_said_to_be_the_longest_interval_is_not_measured(spark: SparkSession) -> None:
    row = {"type": "A", "id": 1, "v": 1, "n": -1, "lo": 0, "hi": 6}
    df = frame(spark, pa.concat_tables([TABLE, pa.Table.from_pylist([row], TABLE.schema)]))
    options: dict[str, Any] = {"time": TIME, "strategy": "slice", "slices": 4, "longest": 5}
    found = on_spark.replay(BOTH, df, on_bad_row="quarantine", **options)
    assert MEASURED not in found.cut.notes
    assert told(found.matches.toArrow().to_pylist()) == told(on_one_thread(BOTH).to_pylist())
    bad = found.bad_rows.select("n", "sase_column", "sase_reason").toArrow().to_pylist()
    reason = "it is more than 5 after `lo`, and longest=… says that none is"
    assert bad == [{"n": -1, "sase_column": "hi", "sase_reason": reason}]
    with pytest.raises((sase.errors.DataError, PySparkException), match=reason):
        on_spark.match(BOTH, df, **options).toArrow()


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore::sase.errors.ReplayWarning")
def test_a_stream(session: SparkSession, tmp_path: Path) -> None:
    """Matches come once the watermark has passed the time at which they are detected."""
    end = {"lo": 10**6, "hi": 10**6, "type": "Z", "id": None, "v": None, "n": 10**6}
    table = pa.concat_tables([TABLE.sort_by("n"), pa.Table.from_pylist([end], TABLE.schema)])
    parts = pieces(table, 3)
    write(tmp_path / "in", parts[:1])
    query = f"{SERIES.replace('WITHIN 9', 'WITHIN 9 milliseconds')}"

    def found() -> Any:
        df = streamed(session, tmp_path / "in")
        options: Any = {"time": TIME, "time_unit": "ms", "lateness": "9 milliseconds"}
        return sase.spark.match(query, df, **options)

    ran(found(), tmp_path)
    write(tmp_path / "in", parts[1:], 1)
    ran(found(), tmp_path)
    rows = session.read.parquet(str(tmp_path / "found")).toArrow().to_pylist()
    wanted = sase.match(query, TABLE, time=TIME, time_unit="ms").to_pylist()
    assert told(rows) == told(wanted) != told([])
