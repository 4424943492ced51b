"""A sequence as a relational plan: the n-way join that SASE 2006 gave to TelegraphCQ (5.4)."""

from __future__ import annotations

import importlib.util
import os
import threading
from collections import defaultdict, deque
from collections.abc import Sequence
from itertools import pairwise, product
from operator import lt
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from experiments.core.experiment import LeftOut, Outcome, Way
from experiments.core.ways import Make

NAMES = "abcdefgh"
LONG = 3_600.0


def duckdb_join(length: int, keys: Sequence[str], window: int, most_seconds: float) -> Make:
    """By DuckDB with one thread; it is interrupted when it takes longer than it may."""

    def make(table: pa.Table) -> Way:
        _needed("duckdb")
        import duckdb

        connection = duckdb.connect()
        connection.execute("SET threads = 1")
        source = _plain(table, keys)
        connection.register("source", source)
        connection.execute("CREATE TABLE events AS FROM source")
        text = _sql(length, keys, window)

        def run() -> pa.Table:
            watch = threading.Timer(min(most_seconds, LONG), connection.interrupt)
            watch.start()
            try:
                return connection.sql(text).to_arrow_table()
            except duckdb.InterruptException:
                from experiments.core.measuring import TooSlow

                raise TooSlow from None
            finally:
                watch.cancel()

        return Way(run, _told)

    return make


def _sql(length: int, keys: Sequence[str], window: int) -> str:
    names = NAMES[:length]
    streams = ", ".join(
        f"{name} AS (SELECT * FROM events WHERE type = {number})"
        for number, name in enumerate(names, 1)
    )
    equal = [f"{names[0]}.{key} = {name}.{key}" for name in names[1:] for key in keys]
    order = [f"{later}.ts > {earlier}.ts" for earlier, later in pairwise(names)]
    last = f"{names[-1]}.ts < {names[0]}.ts + {window}"
    rows = ", ".join(f"{name}.ts AS {name}" for name in names)
    where = " AND ".join([*equal, *order, last])
    return f"WITH {streams} SELECT {rows} FROM {', '.join(names)} WHERE {where}"


def polars_join(length: int, keys: Sequence[str], window: int) -> Make:
    """By Polars with one thread, joined from left to right, filtered as soon as it can be."""

    def make(table: pa.Table) -> Way:
        os.environ.setdefault("POLARS_MAX_THREADS", "1")
        _needed("polars")
        import polars as pl

        frame = pl.from_arrow(_plain(table, keys)).lazy()  # type: ignore[union-attr]

        def stream(place: int) -> Any:
            some = frame.filter(pl.col("type") == place + 1)
            return some.select([pl.col("ts").alias(NAMES[place]), *keys])

        plan = stream(0)
        for place in range(1, length):
            before, here = NAMES[place - 1], NAMES[place]
            within = pl.col(here) < pl.col("a") + window
            joined = plan.join(stream(place), on=list(keys))
            plan = joined.filter((pl.col(here) > pl.col(before)) & within)
        plan = plan.select(list(NAMES[:length]))

        def run() -> pa.Table:
            return plan.collect(engine="streaming").to_arrow()

        return Way(run, _told)

    return make


def streaming_join(length: int, keys: Sequence[str], window: int) -> Make:
    """By an n-way symmetric hash join with a window on each stream, event by event in Python.

    As the processor of the paper's figure it joins by the equalities, and checks the order of the
    joined events at the end."""

    def make(table: pa.Table) -> Way:
        source = _plain(table, keys)
        names = ("ts", "type", *keys)
        arriving = list(zip(*(source[name].to_pylist() for name in names), strict=True))

        def run() -> pa.Table:
            streams = [defaultdict[tuple[int, ...], deque[int]](deque) for _ in range(length)]
            rows: list[tuple[int, ...]] = []
            for now, kind, *key in arriving:
                if kind <= length:
                    value = tuple(key)
                    mates = [_within(stream[value], now - window) for stream in streams]
                    streams[kind - 1][value].append(now)
                    mates[kind - 1] = (now,)
                    rows += filter(_is_ordered, product(*mates))
            columns = zip(*rows, strict=True) if rows else ([] for _ in range(length))
            return pa.table(dict(zip(NAMES, map(list, columns), strict=False)))

        return Way(run, _told)

    return make


def _within(times: deque[int], bound: int) -> Sequence[int]:
    """The times of a stream that a window has, without those that it has left."""
    while times and times[0] <= bound:
        times.popleft()
    return times  # type: ignore[return-value]


def _is_ordered(times: tuple[int, ...]) -> bool:
    return all(map(lt, times, times[1:]))


def _needed(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise LeftOut(f"{package} is not installed: pip install -e '.[experiments]'")


def _plain(table: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Times, types as small numbers, and the keys."""
    codes = pc.add(table["type"].combine_chunks().indices, pa.scalar(1, pa.int8()))
    return pa.table({"ts": table["ts"], "type": codes} | {key: table[key] for key in keys})


def _told(rows: pa.Table) -> Outcome:
    # In these streams the time of an event is its row.
    total = sum(pc.sum(column).as_py() or 0 for column in rows.columns)
    return Outcome(rows.num_rows, total, {"held": rows.num_rows * rows.num_columns})
