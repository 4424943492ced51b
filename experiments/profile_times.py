"""How long statistics take to measure, and how far they are from counting everything.

    python -m experiments.profile_times [EVENTS]

On the uniform stream of the 2006 paper, on one with skewed values, and on the readings of a shop,
where tags are local in time.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sase
from experiments.core.times import Times
from experiments.machine import described
from sase.engine.columns import describe
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.sources import open_files
from sase.engine.statistics import from_footers, measured
from sase.generate import retail_events
from sase.generate.uniform import uniform_events
from sase.planning.statistics import Statistics

EVENTS, ROUNDS, SAMPLES = 10_000_000, 9, (20_000, 100_000)
UNIFORM = (
    "EVENT SEQ(E1 a, E2 b, E3 c) WHERE [attr1, attr2] AND a.attr3 < c.attr3 AND b.attr3 < 100"
    " WITHIN 10000"
)
NEGATED = UNIFORM.replace("E2 b", "!(E2 b)")
SHOP = (
    "EVENT SEQ(`SHELF-READING` a, `COUNTER-READING` b, `EXIT-READING` c) WHERE [tag_id]"
    " WITHIN 6 hours"
)


class Stream(NamedTuple):
    """Events, a query, and the exact figures that a sample should come near to."""

    name: str
    table: pa.Table
    query: str
    key: str
    exact: dict[str, float]


def streams(events: int) -> Iterator[Stream]:
    """The streams, made one at a time."""
    for skew in (0.0, 1.0):
        table = uniform_events(events=events, domains=(1000, 20, 1000), value_skew=skew)
        codes = table["type"].combine_chunks().indices.to_numpy()
        key, low = (table[name].to_numpy() for name in ("attr1", "attr3"))
        agreeing = float(np.prod([_shares(key[codes == n], 1000) for n in (1, 2)], 0).sum())
        exact = {
            "rows of b": float((codes == 1).sum()),
            "keys": float(len(np.unique(key[codes == 1]))),
            "admission of b": float((low[codes == 1] < 100).mean()),
            "agreement of b, c": agreeing,
        }
        name = "skewed" if skew else "uniform"
        yield Stream(name, table, UNIFORM, "attr1", exact)
        yield Stream(f"{name}, negated", table, NEGATED, "attr1", exact)
    yield _shop(events // 100)


def _shares(values: np.ndarray, size: int) -> np.ndarray:
    return np.bincount(values, minlength=size) / len(values)


def _shop(items: int) -> Stream:
    """A shop that is open for a month: every tag passes within three hours."""
    table = retail_events(items=items, thefts=items // 10, hours=24 * 30).table
    ts = table["ts"].cast(pa.int64()).to_numpy()
    types = np.array(table["type"].to_pylist())
    begins, ends = ts[types == "COUNTER-READING"], ts[types == "EXIT-READING"]
    window = 6 * 3_600_000_000
    low = np.searchsorted(ends, begins, "right")
    high = np.searchsorted(ends, begins + window, "left")
    exact = {
        "rows of b": float(len(begins)),
        "keys": float(len(begins)),
        "admission of b": 1.0,
        # Every item at the counter leaves once.
        "agreement of b, c": len(begins) / int((high - low).sum()),
    }
    return Stream("shop", table, SHOP, "tag_id", exact)


def found(statistics: Statistics, type_name: str, key: str) -> dict[str, float | None]:
    """The figures of a sample under the names of the exact ones."""
    of_b = statistics.type(type_name)
    attribute = None if of_b is None else of_b.attribute(key)
    return {
        "rows of b": None if of_b is None else of_b.rows,
        "keys": None if attribute is None else attribute.distinct,
        "admission of b": statistics.admission("b"),
        "agreement of b, c": statistics.agreement([key], "bc"),
    }


def timed(action: Callable[[], object]) -> Times:
    """The times of some calls, after one to warm up."""
    action()
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - start)
    return Times.of(seconds)


def main(events: int) -> None:
    """Print a table of times and figures for each stream."""
    print(described(), end="\n\n")
    names = ("rows of b", "keys", "admission of b", "agreement of b, c")
    print("| stream | events | sample | ms |", " | ".join(names), "|")
    print("| --- " * (4 + len(names)) + "|")
    for stream in streams(events):
        plan = sase.compile(stream.query, stream.table, plan="basic").engine
        loaded = Pipeline(plan).load(stream.table)[1]
        for size in SAMPLES:
            times = timed(lambda p=plan, e=loaded, n=size: measured(p, e, sample=n))  # type: ignore[misc]
            statistics = measured(plan, loaded, sample=size)
            type_name = (*plan.positives, *plan.negatives)[1 if plan.negatives == () else 2].types
            figures = found(statistics, (type_name or ("",))[0], stream.key)
            cells = (f"{figures[n] or 0:.4g} ({stream.exact[n]:.4g})" for n in names)
            count = f"{stream.table.num_rows:,}"
            print(f"| {stream.name} | {count} | {size:,} | {times.milliseconds} |", end=" ")
            print(" | ".join(cells), "|")
    footers(events)


def footers(events: int) -> None:
    """Print how long the footers of one file take."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.parquet"
        table = uniform_events(events=events, domains=(1000,))
        pq.write_table(table, path, row_group_size=122_880)
        files = open_files(path)
        schema = describe(files.schema)
        times = timed(lambda: from_footers(files, schema))
        groups = pq.read_metadata(path).num_row_groups
        print(f"\nfooters of {events:,} events in {groups} row groups: {times.milliseconds} ms")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS)
