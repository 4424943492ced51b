"""Streaming DataFrames of matches: the matches of a run over all events, cut into micro-batches."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sase
import sase.spark
from sase.errors import PlanError, ReplayWarning
from tests.long import LONG
from tests.user_aggregates import added_here

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
# Later than the reach of any window, and of no type that a query names.
END = {"ts": BEGIN + timedelta(days=9), "type": "Z", "id": None, "v": None, "d": None, "n": 10**6}
SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")),
        ("type", pa.string()),
        ("id", pa.int32()),
        ("v", pa.int64()),
        ("d", pa.decimal128(9, 2)),
        ("n", pa.int64()),
    ]
)
PARTITIONS = "spark.sql.shuffle.partitions"


def events(seed: int, size: int = 240) -> pa.Table:
    """Events of some types with ties and NULL, in an order that is up to two seconds off."""
    random, rows, ticks = Random(seed), [], 0
    for number in range(size):
        ticks += random.choice([0, 100_000, 100_000, 350_001])
        rows.append(
            {
                "ts": BEGIN + timedelta(microseconds=ticks),
                "type": random.choice("AAABBBCNZ"),
                "id": random.choice([1, 2, 2, 3, 4, None]),
                "v": random.choice([0, 1, 2, 3, 2**60 + 1, None]),
                "d": random.choice([Decimal("1.25"), Decimal("-3.50"), None]),
                "n": number,
            }
        )
    rows.sort(key=lambda row: row["ts"] + timedelta(seconds=random.uniform(0, 1.9)))
    return pa.Table.from_pylist([*rows, END], SCHEMA)


def write(folder: Path, tables: list[pa.Table], first: int = 0) -> None:
    """A file for each micro-batch; Spark takes them by the time of the file."""
    folder.mkdir(exist_ok=True)
    for number, table in enumerate(tables, first):
        path = folder / f"{number:04}.parquet"
        pq.write_table(table, folder / ".writing")
        os.utime(folder / ".writing", (10**9 + number, 10**9 + number))
        (folder / ".writing").rename(path)


def pieces(table: pa.Table, count: int) -> list[pa.Table]:
    """A table in a number of parts; the last part is the last row."""
    size = -(-(len(table) - 1) // (count - 1))
    return [*(table.slice(0, len(table) - 1).slice(n * size, size) for n in range(count - 1)),
            table.slice(len(table) - 1)]  # fmt: skip


def streamed(spark: SparkSession, folder: Path) -> DataFrame:
    """The files of a folder as a stream, one to a micro-batch."""
    first = min(folder.glob("*.parquet"))
    schema = spark.read.parquet(str(first)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def rows_of(table: pa.Table) -> list[str]:
    return sorted(repr(list(row.values())) for row in table.to_pylist())


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """The session with few partitions of state, and in RocksDB whatever it began with."""
    from sase.spark.streaming.query import PROVIDER, ROCKSDB

    before = {name: spark.conf.get(name) for name in (PARTITIONS, PROVIDER)}
    spark.conf.set(PARTITIONS, "2")
    spark.conf.set(PROVIDER, ROCKSDB)
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)


# ---------------------------------------------------------------- the same as an unbroken run


@dataclass(frozen=True)
class Case:
    """A query, its call, and whether the source has a watermark of its own."""

    query: str
    given: Mapping[str, Any] = field(default_factory=dict)
    watermark: str = ""

    def matches(self, df: DataFrame) -> DataFrame:
        if self.watermark:
            df = df.withWatermark("ts", self.watermark)
        return sase.spark.match(self.query, df, **self.given)

    def wanted(self, table: pa.Table) -> list[str]:
        return rows_of(sase.match(self.query, table, seq=self.given.get("seq")).to_arrow())


LATE = {"lateness": "2 seconds"}
CASES = {
    "unkeyed": Case("EVENT SEQ(A a, C c, B b) WHERE a.v < b.v WITHIN 2 seconds", LATE),
    "a negated end": Case(
        "EVENT SEQ(A a, B b, !(N n)) WHERE [id] WITHIN 5 seconds", watermark="2 seconds"
    ),
    "positions": Case(
        "EVENT SEQ(A a, !(C c), B b) WHERE [id] WITHIN 9 EVENTS", {"seq": "n", "buckets": 1, **LATE}
    ),
    "RETURN": Case(
        "EVENT SEQ(A a, B b) WHERE [id] WITHIN 3 seconds RETURN a.v + 1 AS sum, b.d AS d",
        {"seq": "n", "buckets": 5, **LATE},
    ),
    "a choice": Case(
        "EVENT SEQ(A a, (B b OR C+ c[])?, B d) WHERE [id] AND b.v <= d.v WITHIN 2 seconds", LATE
    ),
    # The first branch gives a match later than the second, which has the same.
    "a choice with an end": Case(
        "EVENT SEQ(A a, C c, !(N n)) OR SEQ(A a, (C c OR B b)) WHERE [id] WITHIN 4 seconds",
        {"buckets": 1},
        watermark="2 seconds",
    ),
    "a repeated group": Case(
        "EVENT (SEQ(A a, !(SEQ(B n, C c)), (B b OR C+ d[])))+ g[] WHERE [id] WITHIN 2 seconds", LATE
    ),
}


def ran(found: DataFrame, folder: Path) -> StreamingQuery:
    """The query with the present events, from its checkpoint on."""
    begun = found.writeStream.option("checkpointLocation", str(folder / "checkpoint"))
    query = begun.trigger(availableNow=True).start(str(folder / "found"))
    query.awaitTermination()
    return query


def counts(query: StreamingQuery, name: str = "sase") -> list[Any]:
    """The counters of each micro-batch."""
    return [progress.observedMetrics[name] for progress in query.recentProgress]


# Timers under a watermark of the source, and results in another form; the others have buckets that
# `test_streaming_buckets` runs without Spark, where the suite may take its time.
NAMES = [*CASES] if LONG else ["a negated end", "RETURN"]


@pytest.mark.heavy
# One after the other: each has processes of its own to start, which Spark waits for in vain where
# a machine is busy.
@pytest.mark.filterwarnings("ignore::sase.errors.ReplayWarning")
@pytest.mark.parametrize("name", NAMES)
def test_it_finds_what_an_unbroken_run_finds(
    session: SparkSession, tmp_path: Path, name: str
) -> None:
    """Stopped after some of the micro-batches, and restarted with other settings."""
    case, table = CASES[name], events(7)
    parts = pieces(table, 3)
    write(tmp_path / "in", parts[:1])
    counted = [*counts(ran(case.matches(streamed(session, tmp_path / "in")), tmp_path))]
    write(tmp_path / "in", parts[1:], 1)
    session.conf.set(PARTITIONS, "3")  # which a checkpoint does not let matter
    counted += counts(ran(case.matches(streamed(session, tmp_path / "in")), tmp_path))
    found = rows_of(session.read.parquet(str(tmp_path / "found")).toArrow())
    assert found == case.wanted(table)
    assert sum(row["found"] for row in counted) == len(found) > 10
    assert sum(row["late"] for row in counted) == 0
    assert sum(row["state_bytes"] for row in counted) > 0


@pytest.mark.heavy
def test_aggregates_of_users_go_on(session: SparkSession, tmp_path: Path) -> None:
    """Their states are in those of the buckets, and their functions come with the query."""
    with added_here():
        sase.aggregate("traced", 1, lambda state, v: (state * 5 + v % 9) % 17)
        query = (
            "EVENT SEQ(A a, B+ b[]) WHERE skip_till_next_match { [id] AND traced(b[..i].v) != 3 }"
            " WITHIN 5 seconds RETURN a.n AS n, traced(b[].v) AS t, b.len AS of"
        )
        case, table = Case(query, {"seq": "n", "buckets": 2, **LATE}), events(7, 120)
        parts = pieces(table, 3)
        write(tmp_path / "in", parts[:1])
        ran(case.matches(streamed(session, tmp_path / "in")), tmp_path)
        write(tmp_path / "in", parts[1:], 1)
        ran(case.matches(streamed(session, tmp_path / "in")), tmp_path)
        found = rows_of(session.read.parquet(str(tmp_path / "found")).toArrow())
        assert found == case.wanted(table)
        assert len(found) > 10


@pytest.mark.heavy
def test_late_rows_are_counted_and_change_nothing(session: SparkSession, tmp_path: Path) -> None:
    table = pa.concat_tables(sorted(pieces(events(3, 60), 3), key=len))
    table = table.slice(1)  # without the end
    late = [{**END, "ts": BEGIN - timedelta(days=1), "type": each, "id": 1} for each in "AAZ"]
    end = pa.Table.from_pylist([END], SCHEMA)
    write(tmp_path / "in", [table, pa.Table.from_pylist(late, SCHEMA), end])
    case = Case("EVENT SEQ(A a, B b) WHERE [id] AND a.d <= b.d WITHIN 4 seconds", LATE)
    query = ran(case.matches(streamed(session, tmp_path / "in")), tmp_path / "out")
    found = rows_of(session.read.parquet(str(tmp_path / "out" / "found")).toArrow())
    assert found == case.wanted(table)
    assert found
    # The third is of no type that matters, and nobody looks at it.
    counted = counts(query)
    assert sum(row["late"] for row in counted) == 2
    assert sum(row["found"] for row in counted) == len(found)


@pytest.mark.heavy
def test_each_type_may_have_a_stream(session: SparkSession, tmp_path: Path) -> None:
    """One counts milliseconds in integers of another width; and a bad row is set aside."""
    random = Random(5)
    times = sorted(random.sample(range(1, 4000), 60))
    a = pa.table({"t": pa.array(times[::2], pa.int32()), "id": [n % 3 for n in range(30)]})
    b = pa.table({"t": pa.array(times[1::2], pa.int64()), "id": [n % 2 for n in range(30)]})
    end = pa.table({"t": pa.array([10**6, None], pa.int64()), "id": [0, 7]})
    write(tmp_path / "a", [a.slice(0, 13), a.slice(13)])
    write(tmp_path / "b", [b.slice(0, 17), b.slice(17), end])
    query = "EVENT SEQ(A x, !(A y), B z) WHERE [id] WITHIN 800 ms RETURN x.t AS x, z.t AS z"
    stream = sase.spark.stream(
        query,
        {name.upper(): streamed(session, tmp_path / name) for name in "ab"},
        time="t",
        time_unit="ms",
        lateness="5 seconds",
        buckets=2,
        on_bad_row="quarantine",
        metrics="pairs",
    )
    started = ran(stream.matches, tmp_path / "out")
    ran(stream.bad_rows, tmp_path / "bad")
    found = session.read.parquet(str(tmp_path / "out" / "found")).toArrow()
    known = sase.match(query, {"A": a, "B": b}, time="t", time_unit="ms").to_arrow()
    assert rows_of(found) == rows_of(known)
    assert len(known) > 3
    assert sum(row["found"] for row in counts(started, "pairs")) == len(known)
    (row,) = session.read.parquet(str(tmp_path / "bad" / "found")).collect()
    assert (row["sase_type"], row["sase_column"], row["t"], row["id"]) == ("B", "t", None, 7)
    assert row["sase_reason"]


# ---------------------------------------------------------------- refusals

SEQ = "EVENT SEQ(A a, B b) WHERE [id] WITHIN "
REFUSED = [
    (SEQ + "9 seconds", {}, 'needs a watermark on the time column `ts`: say  lateness="10 seco'),
    (SEQ + "9 seconds LIMIT 3", LATE, "LIMIT takes the first results, and those of a stream"),
    (SEQ + "9 seconds", {"limit": 3, **LATE}, "LIMIT takes the first results"),
    (SEQ + "9 EVENTS", {"seq": "n", **LATE}, "the window counts all events, .*: say  buckets=1"),
    (SEQ + "9 EVENTS", {"buckets": 1, **LATE}, "the rows that Spark reads have no order: name"),
    (SEQ + "9 seconds", {"seq": "#row", **LATE}, "the rows that Spark reads have no order: name"),
    (
        "EVENT SEQ(A a, B b) WITHIN 9 seconds",
        {"buckets": 3, **LATE},
        "buckets=3: the events cannot be parted by key, since there is no attribute",
    ),
    (SEQ + "9 seconds", {"output": "count", **LATE}, "a stream has no end at which its matches"),
    (SEQ + "9 seconds", {"output": "non_overlap", **LATE}, "in a stream a matcher chooses"),
    (SEQ + "9 seconds", {"buckets": 0, **LATE}, "buckets=0: there is at least one bucket"),
    (SEQ + "9 seconds", {"slices": 3, **LATE}, "slices=3: slices and strategy cut tables, and"),
    (SEQ + "9 seconds", {"lateness": "-1 s"}, "an event cannot be less than no time late"),
]


@pytest.fixture(scope="module")
def source(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    folder = tmp_path_factory.mktemp("source")
    write(folder / "in", [events(1, 3)])
    return streamed(spark, folder / "in")


@pytest.mark.parametrize(("query", "given", "message"), REFUSED)
def test_what_cannot_be_is_refused(
    session: SparkSession, source: DataFrame, query: str, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(PlanError, match=message):
        sase.spark.match(query, source, **given)


def test_watermarks_that_do_not_fit_are_refused(session: SparkSession, source: DataFrame) -> None:
    marked = source.withWatermark("ts", "3 seconds")
    with pytest.raises(PlanError, match="the stream has a watermark, which says how late a row"):
        sase.spark.match(SEQ + "9 seconds", marked, **LATE)
    other = source.withColumn("t", source["ts"]).withWatermark("t", "3 seconds")
    with pytest.raises(PlanError, match="on the time column `ts`, and it is on `t`: say"):
        sase.spark.match(SEQ + "9 seconds", other)


def test_tables_and_streams_are_told_apart(session: SparkSession, source: DataFrame) -> None:
    table = session.createDataFrame(events(1, 3).to_pandas(), source.schema)
    with pytest.raises(PlanError, match="lateness='2 seconds': lateness and buckets are of stre"):
        sase.spark.match(SEQ + "9 seconds", table, **LATE)
    with pytest.raises(PlanError, match="some of the DataFrames are streams and some are not"):
        sase.spark.match("EVENT SEQ(A a, B b) WITHIN 9 s", {"A": table, "B": source}, **LATE)
    with pytest.raises(PlanError, match="a replay reads events that are all there"):
        sase.spark.replay(SEQ + "9 seconds", source)


def test_state_is_kept_in_rocksdb_or_not_at_all(session: SparkSession, source: DataFrame) -> None:
    from sase.spark.streaming.query import PROVIDER

    session.conf.set(PROVIDER, "org.example.Another")
    with pytest.raises(PlanError, match="RocksDBStateStoreProvider"):
        sase.spark.match(SEQ + "9 seconds", source, **LATE)


def test_what_costs_is_warned_of(session: SparkSession, source: DataFrame) -> None:
    with pytest.warns(ReplayWarning, match="one task searches all events: there is no attribute"):
        sase.spark.match("EVENT SEQ(A a, B b) WITHIN 9 seconds", source, **LATE)
    with pytest.warns(ReplayWarning, match="the state of the stream grows as long as it runs"):
        sase.spark.match("EVENT SEQ(A a, B b) WHERE [id]", source, **LATE)
