"""Ours on Spark: strategies, a read, a shuffle and a self join; events, keys, and a hot key."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import sase
from experiments.cells import D1, Q1, WINDOW
from experiments.core.checks import Check, ahead, every, near, slope
from experiments.core.experiment import (
    Experiment,
    Finding,
    LeftOut,
    Outcome,
    Plot,
    Point,
    Reason,
    Size,
    Verdict,
    Way,
)
from experiments.core.results import Results
from experiments.core.ways import Make
from experiments.many_keys import SHAPES, Users
from experiments.process_tree import cpu_seconds, peak_of_workers
from sase.generate import uniform_reader

PLACE = Path("build/spark")
DOMAINS = (1_000, 20, 1_000)
READ, LOCAL, JOIN = "read into an empty mapInArrow", "sase.match", "self join in buckets"
COUNT, ROWS = "files, counted by the tasks", "files, rows counted"
FEW_KEYS = "Q1, 100 keys, counted"
STRATEGIES = ("files", "key", "slice")
# The limit of a strategy that shuffles, in Spark alone, and with the transfer to Python.
SHUFFLE, HANDED = "read, shuffled and sorted", "read, shuffled, sorted, into an empty mapInArrow"
FUNNELS = ("all", "next")
EVEN, UNEVEN = "even", "half in one key"
# So that a hot key has not thousands of times as many matches: the comparison is of the search.
FEW = " AND a.attr3 + c.attr3 = b.attr3"


@cache
def _session() -> Any:
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        raise LeftOut("pyspark or Java is not installed: pip install -e '.[spark]'")
    from sase.spark.session import local_session

    session = local_session("local[2]", {"spark.driver.memory": "4g"})
    session.sparkContext.setLogLevel("ERROR")
    return session


def _way(run: Callable[[Any], int], path: Callable[[], Path]) -> Make:
    def make(data: object) -> Way:
        frame = _session().read.parquet(str(path()))

        def told(rows: int) -> Outcome:
            return Outcome(rows, None, {"peak_worker_mb": peak_of_workers() / 1e6})

        return Way(lambda: run(frame), told)

    return make


def replayed(strategy: str, path: Callable[[], Path], window: int = WINDOW, more: str = "") -> Make:
    """A replay of Q1 that writes its matches."""
    query = Q1.text.replace(f" WITHIN {WINDOW}", f"{more} WITHIN {window}")

    def run(frame: Any) -> int:
        import sase.spark

        return _written(sase.spark.match(query, frame, strategy=strategy))

    return _way(run, path)


def counted(path: Callable[[], Path], *, output: str) -> Make:
    """A replay of Q1 from files that counts its matches, by the tasks or as rows."""

    def run(frame: Any) -> int:
        import sase.spark

        found = sase.spark.match(Q1.text, frame, strategy="files", output=output)
        return found if isinstance(found, int) else found.count()

    return _way(run, path)


def _written(matches: Any) -> int:
    """Write matches as Parquet, and count the written rows."""
    target = _place() / f"matches-{os.getpid()}"
    matches.write.mode("overwrite").parquet(str(target))
    return sum(pq.read_metadata(path).num_rows for path in target.glob("*.parquet"))


def _nothing(batches: Any) -> Any:
    for _ in batches:
        pass
    yield from ()


def _read(frame: Any) -> int:
    columns = frame.select(["ts", "type", "attr1"])
    return _written(columns.mapInArrow(_nothing, columns.schema))


def _nowhere(rows: Any) -> int:
    """Compute rows and count them."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as sf

    seen = Observation()
    counted = rows.observe(seen, sf.count(sf.lit(1)).alias("rows"))
    counted.write.format("noop").mode("overwrite").save()
    return int(seen.get["rows"])


def _shuffled(frame: Any) -> Any:
    """All columns by key, in the order of time, as a search by key needs them."""
    return frame.repartition("user").sortWithinPartitions("ts", "id")


def _handed(frame: Any) -> Any:
    rows = _shuffled(frame)
    return rows.mapInArrow(_nothing, rows.schema)


def _funnel(shape: str, span: int, strategy: str, path: Callable[[], Path]) -> Make:
    def run(frame: Any) -> int:
        import sase.spark

        query = f"EVENT {SHAPES[shape]} WITHIN {span}"
        return _nowhere(sase.spark.match(query, frame, seq="id", strategy=strategy))

    return _warm(run, path)


def _warm(run: Callable[[Any], int], path: Callable[[], Path]) -> Make:
    """A way that runs once over all events before the clock: the JVM then has compiled its code."""

    def make(data: object) -> Way:
        way = _way(run, path)(data)
        way.run()
        return way

    return make


def _local(path: Callable[[], Path]) -> Make:
    def make(data: object) -> Way:
        def run() -> int:
            found = sase.match(Q1.text, path())
            pq.write_table(found.to_arrow(), _place() / f"local-{os.getpid()}.parquet")
            return len(found)

        return Way(run, Outcome)

    return make


def _join(frame: Any) -> int:
    """Q1 as a self join with hand-made buckets of the window's width, as an expert writes it."""
    frame.createOrReplaceTempView("events")
    later = f"EXPLODE(ARRAY(ts DIV {WINDOW}, ts DIV {WINDOW} - 1)) AS bucket"
    (row,) = (
        _session()
        .sql(
            f"""
        WITH a AS (SELECT ts, attr1, ts DIV {WINDOW} AS bucket FROM events WHERE type = 'E1'),
             b AS (SELECT ts, attr1, {later} FROM events WHERE type = 'E2'),
             c AS (SELECT ts, attr1, {later} FROM events WHERE type = 'E3')
        SELECT count(*) FROM a
        JOIN b ON b.attr1 = a.attr1 AND b.bucket = a.bucket AND a.ts < b.ts
        JOIN c ON c.attr1 = a.attr1 AND c.bucket = a.bucket AND b.ts < c.ts
             AND c.ts < a.ts + {WINDOW}
        """
        )
        .collect()
    )
    return int(row[0])


def strategies(size: Size) -> Iterator[Point]:
    """Each strategy, beside reading alone, one process, and the self join."""
    events = size.of(10_000_000, 300_000, 5_000)
    path = uniform(events, DOMAINS[0])
    yield Point("Q1", {READ: _way(_read, path)}, events=events)
    ways = {strategy: replayed(strategy, path) for strategy in STRATEGIES}
    yield Point("Q1", ways | {LOCAL: _local(path), JOIN: _way(_join, path)}, events=events)
    short = size.of(D1.events, 100_000, 5_000)
    path = uniform(short, D1.domains[0])
    ways = {COUNT: counted(path, output="count"), ROWS: counted(path, output="structs")}
    yield Point(FEW_KEYS, ways | {JOIN: _way(_join, path)}, events=short)


def over_events(size: Size) -> Iterator[Point]:
    """Streams of growing length."""
    counts = size.of(
        (1_000_000, 3_000_000, 10_000_000, 30_000_000, 100_000_000), (100_000, 300_000), (5_000,)
    )
    for events in counts:
        path = uniform(events, DOMAINS[0])
        yield Point(
            events, {each: replayed(each, path) for each in ("files", "key")}, events=events
        )


def over_keys(size: Size) -> Iterator[Point]:
    """More and more values of the key, with a short window."""
    events = size.of(10_000_000, 100_000, 5_000)
    for keys in size.of((10, 1_000, 100_000, 1_000_000), (10, 10_000), (100,)):
        ways = {"key": replayed("key", uniform(events, keys), window=100)}
        yield Point(keys, ways, events=events)


def skew(size: Size) -> Iterator[Point]:
    """A key that has half of the events."""
    events = size.of(10_000_000, 100_000, 5_000)
    even, uneven = uniform(events, DOMAINS[0]), hot(events, DOMAINS[0])
    short = {"window": 100, "more": FEW}
    yield Point(EVEN, {"key": replayed("key", even, **short)}, events=events)  # type: ignore[arg-type]
    ways = {each: replayed(each, uneven, **short) for each in ("key", "key_and_slice")}  # type: ignore[arg-type]
    yield Point(UNEVEN, ways, events=events)


def funnel(size: Size) -> Iterator[Point]:
    """Views, carts and purchases of users, beside Spark's own part of a search by key."""
    events, users = size.of((5_000_000, 100_000), (100_000, 1_000), (5_000, 100))
    drawn = cache(lambda: Users.drawn(events, users))
    path, span = of_users(drawn, events, users), drawn().span
    for shape in FUNNELS:
        yield Point(
            shape,
            {each: _funnel(shape, span, each, path) for each in ("files", "key")},
            events=events,
        )
        limits = {
            SHUFFLE: _warm(lambda frame: _nowhere(_shuffled(frame)), path),
            HANDED: _warm(lambda frame: _nowhere(_handed(frame)), path),
        }
        yield Point(shape, limits, events=events, alike=False)


# ---------------------------------------------------------------- events as files


def uniform(count: int, keys: int) -> Callable[[], Path]:
    """A number of events and of keys, in a file that is made once."""
    domains = (keys, *DOMAINS[1:])
    return lambda: _made(
        f"uniform_{count}_{keys}",
        uniform_reader(events=count, domains=domains, seed=7, type_layout="string"),
    )


def hot(count: int, keys: int) -> Callable[[], Path]:
    """The same, where every second event has the key 0."""

    def batches() -> Iterator[pa.RecordBatch]:
        domains = (keys, *DOMAINS[1:])
        for batch in uniform_reader(events=count, domains=domains, seed=7, type_layout="string"):
            place = batch.schema.get_field_index("attr1")
            values = batch.column(place).to_numpy().copy()
            values[::2] = 0
            yield batch.set_column(place, "attr1", pa.array(values))

    return lambda: _made(f"hot_{count}_{keys}", batches())


def of_users(drawn: Callable[[], Users], events: int, users: int) -> Callable[[], Path]:
    """The events of users with numbers, in a file that is made once."""

    def batches() -> Iterator[pa.RecordBatch]:
        table = drawn().table("dense")
        types, numbers = table["type"].cast(pa.string()), pa.array(range(events), pa.int64())
        yield from table.set_column(1, "type", types).append_column("id", numbers).to_batches()

    return lambda: _made(f"users_{events}_{users}", batches())


def _place() -> Path:
    """The folder of events and matches, as a path that Spark's processes understand, too."""
    PLACE.mkdir(parents=True, exist_ok=True)
    return PLACE.absolute()


def _made(name: str, batches: Iterable[pa.RecordBatch]) -> Path:
    path = _place() / f"{name}.parquet"
    if path.exists():
        return path
    partial = path.with_suffix(f".partial-{os.getpid()}")
    table = iter(batches)
    first = next(table)
    with pq.ParquetWriter(partial, first.schema) as writer:
        writer.write_batch(first)
        for batch in table:
            writer.write_batch(batch)
    partial.replace(path)
    return path


# ---------------------------------------------------------------- experiments


def _experiment(
    name: str,
    what: str,
    said: str,
    points: Callable[[Size], Iterable[Point]],
    plot: Plot,
    *findings: Finding,
) -> Experiment:
    plots = (
        plot,
        Plot("wall_s", "s", plot.x_label, log_x=plot.log_x, log_y=plot.log_y, bars=plot.bars),
    )
    return Experiment(
        f"spark_{name}", f"Spark: {what}", "Ours", said, points, plots, findings,
        ("peak_worker_mb",), cpu=cpu_seconds, uses="spark",
    )  # fmt: skip


def _less(one: str, other: str) -> Check:
    """That the one takes less CPU."""
    return ahead(other, one, y="cpu_s")


def _slowed(most: float) -> Check:
    """That half of the events in one key, which is sliced, make a job at most so much slower."""

    required = f"at most {most:g} times as long"

    def check(results: Results) -> Verdict:
        even, uneven = (
            results.at(way, x, "wall_s") for way, x in (("key", EVEN), ("key_and_slice", UNEVEN))
        )
        if even is None or uneven is None:
            return Verdict(None, "not measured", required)
        return Verdict(uneven <= most * even, f"{uneven:.2f} s beside {even:.2f} s", required)

    return check


def _limited(way: str, why: tuple[Reason, ...] = ()) -> Finding:
    """That a way takes at most 1.3 times as long as Spark alone reads, shuffles and sorts."""
    said = f"{way}: at most 1.3 times the CPU of Spark's read, shuffle and sort"
    return Finding(said, ahead(SHUFFLE, way, 1 / 1.3, y="cpu_s"), why)


def _transferred(results: Results) -> Verdict:
    """That the rows cannot be handed on within 1.3 times the limit, and little comes to that."""
    task, whole = (results.ratios(way, SHUFFLE, "cpu_s") for way in (HANDED, "key"))
    both = [(x, task[x], whole[x]) for x in task if x in whole]
    holds = all(handed > 1.3 and key - handed <= 1 for _, handed, key in both) if both else None
    told = "; ".join(f"{x}: {handed:.2f}, {key - handed:.2f} more" for x, handed, key in both)
    return Verdict(holds, told or "not measured", "above 1.3, and at most 1 more")


NEXT = Reason(
    "all matches take less than the limit; next matches take up to 1.5 times the limit, by one run",
    every(
        ahead(SHUFFLE, "files", y="cpu_s", when=lambda x: x == "all"),
        ahead(SHUFFLE, "files", 1 / 1.5, y="cpu_s"),
    ),
)
CPU = "s of CPU, JVM and workers"
TRANSFER = Reason(
    "the transfer of rows from Spark to Python: an empty task that receives the same rows already"
    " takes more than 1.3 times the limit, and all else takes at most the limit once more",
    _transferred,
)
EXPERIMENTS = (
    _experiment(
        "strategies",
        "strategies, a plain read, one process, a self join",
        "a replay should cost less than reading everything into Python, and than a self join with"
        " buckets made by hand.",
        strategies,
        Plot("cpu_s", CPU, "", bars=True),
        Finding("from files: less CPU than the read", _less("files", READ)),
        Finding("from files: less CPU than the self join", _less("files", JOIN)),
        Finding("by key: less CPU than the self join", _less("key", JOIN)),
        Finding("counted: at least 3 times as fast as the self join", ahead(COUNT, JOIN, 3.0)),
    ),
    _experiment(
        "events",
        "events",
        "cost should grow no faster than the stream.",
        over_events,
        Plot("cpu_s", CPU, "events", log_x=True, log_y=True),
        Finding("from files: at most linear", slope("files", 0, 1.1, y="cpu_s")),
        Finding("by key: at most linear", slope("key", 0, 1.1, y="cpu_s")),
    ),
    _experiment(
        "keys",
        "keys",
        "cost should hardly depend on the number of keys.",
        over_keys,
        Plot("cpu_s", CPU, "values of the key", log_x=True, log_y=True),
        Finding("less than the tenth root of the keys", slope("key", -0.1, 0.1, y="cpu_s")),
    ),
    _experiment(
        "funnel",
        "a funnel, and the limit of a shuffle",
        "`SEQ(view, cart, purchase)` by user, as all matches and by skip till next match, should"
        " cost little more than the read, the shuffle by key and the sort of its events by Spark.",
        funnel,
        Plot("cpu_s", CPU, "", bars=True),
        _limited("files", (NEXT,)),
        _limited("key", (TRANSFER,)),
    ),
    _experiment(
        "skew",
        "a key with half of the events",
        "a hot key should cost no more than an even stream by `key_and_slice`.",
        skew,
        Plot("cpu_s", CPU, "", bars=True),
        Finding("cut in slices a hot key costs at most 1.3 times as long", _slowed(1.3)),
        Finding(
            "with a hot key, key and slice cost alike (within 1.5)",
            near("key_and_slice", "key", 1.5, y="cpu_s"),
        ),
    ),
)
