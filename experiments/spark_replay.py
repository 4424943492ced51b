"""What a replay on Spark costs, beside a read that does nothing, `sase run`, and a self join.

    python -m experiments.spark_replay                  # the table for Q1/D3 and Q1/D1
    python -m experiments.spark_replay scale            # cost against events, keys, and a hot key
    python -m experiments.spark_replay memory           # the peak of a worker at 100 M events

Events are made once in `build/spark/`. One session of two cores; CPU seconds are those of the JVM
and of all workers. Runs of what is compared take turns; medians are shown.
"""

from __future__ import annotations

import argparse
import csv
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import sase
import sase.spark
from experiments.cells import Q1_D1, Q1_D3, WINDOW, Cell
from experiments.machine import described
from experiments.process_tree import cpu_seconds, peak_of_workers
from sase.generate import uniform_reader
from sase.spark.session import local_session

PLACE = Path("build/spark")
RUNS = 3
MILLION = 1_000_000


class Cost(NamedTuple):
    """The seconds that something took, by the clock and of CPU, and how many rows came of it."""

    wall: float
    cpu: float
    rows: int


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("what", nargs="?", default="table", choices=["table", "scale", "memory"])
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--most", type=int, default=100, help="millions of events, at most")
    parser.add_argument("--csv", type=Path)
    arguments = parser.parse_args()
    PLACE.mkdir(parents=True, exist_ok=True)
    spark = local_session("local[2]", {"spark.driver.memory": "4g"})
    spark.sparkContext.setLogLevel("ERROR")
    print(described())
    measure = {"table": table, "scale": scale, "memory": memory}[arguments.what]
    rows = list(measure(spark, arguments.runs, arguments.most))
    if arguments.csv:
        with arguments.csv.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([HEADER, *rows])


# So that a hot key has not thousands of times as many matches: what is compared is the search.
FEW = " AND a.attr3 + c.attr3 = b.attr3"
HEADER = ("what", "wall_s", "cpu_s", "rows", "peak_worker_mb")


# ---------------------------------------------------------------- what is measured


def table(spark: SparkSession, runs: int, most: int) -> Iterator[tuple[object, ...]]:
    """Q1/D3 by every strategy, beside reading alone and `sase run`; Q1/D1 beside a self join."""
    path = events(Q1_D3)
    df = spark.read.parquet(str(path))
    columns = ["ts", "type", "attr1"]
    ways: dict[str, Callable[[], int]] = {
        "read, and an empty mapInArrow": lambda: written(
            df.select(columns).mapInArrow(nothing, df.select(columns).schema)
        ),
        **{
            f"Q1/D3 {strategy}": lambda strategy=strategy: written(
                sase.spark.match(Q1_D3.query.text, df, strategy=strategy, slices=4)
            )
            for strategy in ("files", "key", "slice")
        },
        "Q1/D3 sase run": lambda: local(Q1_D3, path),
    }
    small = spark.read.parquet(str(events(Q1_D1)))
    ways["Q1/D1 self join in buckets"] = lambda: buckets(spark, small)
    ways["Q1/D1 sase.spark"] = lambda: counted(small)
    yield from shown(in_turn(ways, runs))


def scale(spark: SparkSession, runs: int, most: int) -> Iterator[tuple[object, ...]]:
    """Cost against events, against keys, and with a key that has half of the rows."""
    ways: dict[str, Callable[[], int]] = {}
    for millions in (1, 3, 10, 30, 100):
        if millions <= most:
            df = spark.read.parquet(str(uniform(millions * MILLION, 1000)))
            for strategy in ("files", "key"):
                ways[f"{millions} M events, {strategy}"] = replayed(df, strategy)
    for keys in (10, 1000, 100_000, MILLION):
        df = spark.read.parquet(str(uniform(10 * MILLION, keys)))
        ways[f"{keys:,} keys, key"] = replayed(df, "key", window=100)
    even = spark.read.parquet(str(uniform(10 * MILLION, 1000)))
    uneven = spark.read.parquet(str(hot(10 * MILLION, 1000)))
    ways["no hot key, key"] = replayed(even, "key", window=100, more=FEW)
    ways["half in one key, key"] = replayed(uneven, "key", window=100, more=FEW)
    ways["half in one key, key and slice"] = replayed(uneven, "key_and_slice", 100, more=FEW)
    yield from shown(in_turn(ways, runs))


def memory(spark: SparkSession, runs: int, most: int) -> Iterator[tuple[object, ...]]:
    """The peak of a worker for ten million and for all events."""
    for millions in sorted({10, most}):
        df = spark.read.parquet(str(uniform(millions * MILLION, 1000)))
        for strategy in ("files", "key"):
            ways = {f"{millions} M events, {strategy}": replayed(df, strategy)}
            yield from shown(in_turn(ways, 1))


def replayed(
    df: DataFrame, strategy: str, window: int = WINDOW, more: str = ""
) -> Callable[[], int]:
    """A replay of Q1, with another window and one more condition, whose matches are written."""
    query = Q1_D3.query.text.replace(f" WITHIN {WINDOW}", f"{more} WITHIN {window}")
    return lambda: written(sase.spark.match(query, df, strategy=strategy))


# ---------------------------------------------------------------- how it is measured


def in_turn(ways: dict[str, Callable[[], int]], runs: int) -> dict[str, list[Cost]]:
    """The costs of each way, after one run that does not count; what they find stays the same."""
    found: dict[str, list[Cost]] = {name: [] for name in ways}
    for number in range(runs + 1):
        for name, run in ways.items():
            print(f"{number}/{runs} {name:40}", end="\r", file=sys.stderr)
            wall, cpu = time.perf_counter(), cpu_seconds()
            rows = run()
            cost = Cost(time.perf_counter() - wall, cpu_seconds() - cpu, rows)
            assert all(each.rows == rows for each in found[name]), f"{name} found {rows}"
            if number:
                found[name].append(cost)
    return found


def shown(costs: dict[str, list[Cost]]) -> Iterator[tuple[object, ...]]:
    """A row for each way, which is printed."""
    print(f"{'':42}{'wall s':>8} {'CPU s':>8} {'rows':>10} {'worker MB':>10}")
    peak = peak_of_workers() // MILLION
    for name, each in costs.items():
        wall, cpu = median(c.wall for c in each), median(c.cpu for c in each)
        print(f"{name:42}{wall:8.2f} {cpu:8.2f} {each[0].rows:10,} {peak:10,}")
        yield name, f"{wall:.3f}", f"{cpu:.3f}", each[0].rows, peak


def written(matches: DataFrame) -> int:
    """Write matches as Parquet, and count the rows of what was written."""
    target = PLACE / "matches"
    matches.write.mode("overwrite").parquet(str(target))
    return sum(pq.read_metadata(path).num_rows for path in target.glob("*.parquet"))


def nothing(batches: Any) -> Any:
    """Take all batches and give none."""
    for _ in batches:
        pass
    yield from ()


def counted(df: DataFrame) -> int:
    """The number of matches of Q1."""
    return sase.spark.match(Q1_D1.query.text, df, output="count")


def local(cell: Cell, path: Path) -> int:
    """The same on one machine, with the matches written."""
    found = sase.match(cell.query.text, path)
    target = PLACE / "local.parquet"
    pq.write_table(found.to_arrow(), target)
    return len(found)


def buckets(spark: SparkSession, df: DataFrame) -> int:
    """Q1 as a self join with hand-made buckets of the window's width, as an expert writes it."""
    df.createOrReplaceTempView("events")
    later = f"EXPLODE(ARRAY(ts DIV {WINDOW}, ts DIV {WINDOW} - 1)) AS bucket"
    (row,) = spark.sql(
        f"""
        WITH a AS (SELECT ts, attr1, ts DIV {WINDOW} AS bucket FROM events WHERE type = 'E1'),
             b AS (SELECT ts, attr1, {later} FROM events WHERE type = 'E2'),
             c AS (SELECT ts, attr1, {later} FROM events WHERE type = 'E3')
        SELECT count(*) FROM a
        JOIN b ON b.attr1 = a.attr1 AND b.bucket = a.bucket AND a.ts < b.ts
        JOIN c ON c.attr1 = a.attr1 AND c.bucket = a.bucket AND b.ts < c.ts
             AND c.ts < a.ts + {WINDOW}
        """
    ).collect()
    return int(row[0])


# ---------------------------------------------------------------- events


def events(cell: Cell) -> Path:
    """The events of a cell as a file."""
    return made(cell.name.replace("/", "_"), lambda: cell.stream.table("string").to_batches())


def uniform(count: int, keys: int) -> Path:
    """So many events with so many keys."""
    domains = (keys, 20, 1000)
    return made(
        f"uniform_{count}_{keys}",
        lambda: uniform_reader(events=count, domains=domains, seed=7, type_layout="string"),
    )


def hot(count: int, keys: int) -> Path:
    """The same, where every second event has the key 0."""

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in uniform_reader(
            events=count, domains=(keys, 20, 1000), seed=7, type_layout="string"
        ):
            place = batch.schema.get_field_index("attr1")
            values = batch.column(place).to_numpy().copy()
            values[::2] = 0
            yield batch.set_column(place, "attr1", pa.array(values))

    return made(f"hot_{count}_{keys}", batches)


def made(name: str, batches: Callable[[], Sequence[pa.RecordBatch] | Any]) -> Path:
    """A file of events, which is made if it is not there."""
    path = PLACE / f"{name}.parquet"
    if path.exists():
        return path
    writer, partial = None, path.with_suffix(".partial")
    for batch in batches():
        writer = writer or pq.ParquetWriter(partial, batch.schema)
        writer.write_batch(batch)
    assert writer is not None
    writer.close()
    shutil.move(partial, path)
    return path


if __name__ == "__main__":
    main()
