"""How fast series are found: the 2008 paper's first experiment, a long stream, and postponing.

    python -m experiments.runs [--limit PATH/limit.py] [--csv FILE] [--quick]

Every count is checked where it is known; no time is asserted. With the C program of `--limit` its
time on the same stock stream stands beside ours.
"""

from __future__ import annotations

import argparse
import csv
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

import sase
from experiments import machine
from experiments.times import Times
from sase.errors import BudgetError
from sase.generate import stock_events

REPEATS = 5
TEMPLATE = """EVENT SEQ(Stock+ a[], Stock b)
WHERE {strategy} {{ [symbol] AND a[1].price % 500 = 0 {predicate} AND b.volume < 150 }}
WITHIN {window} EVENTS PER PARTITION"""
PREDICATES = {
    "p1": "",
    "p2": "AND a[i].price > a[i-1].price",
    "p3": "AND a[i].price > min(a[..i-1].price)",
}
STRATEGIES = {"s2": "partition_contiguity", "s3": "skip_till_next_match"}
WINDOWS = (500, 2_000)
# Q5 of the stream S5: its matches, and the events of `a` in them.
Q5 = TEMPLATE.format(strategy=STRATEGIES["s3"], predicate=PREDICATES["p2"], window=500)
Q5_COUNT = (27_844, 1_848_912)


class Row(NamedTuple):
    """One measurement."""

    what: str
    plan: str
    events: int
    matches: int | str
    held: int
    runs: int | str
    times: Times | None

    @property
    def shown(self) -> list[str]:
        """As the table has it."""
        rate = "" if self.times is None else f"{self.events / self.times.median / 1e6:.2f}"
        took = "" if self.times is None else self.times.milliseconds
        found, runs = (f"{n:,}" if isinstance(n, int) else n for n in (self.matches, self.runs))
        events, held = f"{self.events:,}", f"{self.held:,}"
        return [self.what, self.plan, events, found, held, runs, took, rate]


HEADER = ["query", "plan", "events", "matches", "events in them", "runs", "ms", "M events/s"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print each row when it is there."""
    options = _parsed(arguments)
    print(machine.described())
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as temporary:
        if options.limit is not None:
            seconds, table = _limit(options.limit, Path(temporary))
            print(f"the C program on Q5/S5: {1000 * seconds:.2f} ms")
            rows.append(_checked(_measured("Q5/S5", Q5, table), Q5_COUNT))
            ours = rows[-1].times
            assert ours is not None
            print(f"ours: {1000 * ours.median:.2f} ms, {ours.median / seconds:.1f} times as long")
        for measured in (_first_experiment, _long, _postponing):
            for row in measured(options.quick):
                print("  ".join(row.shown), flush=True)
                rows.append(row)
    if options.csv is not None:
        with options.csv.open("w", newline="", encoding="utf-8") as file:
            written = csv.writer(file)
            written.writerow(HEADER)
            written.writerows(row.shown for row in rows)


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--limit", type=Path, help="limit.py of the C program")
    parser.add_argument("--csv", type=Path, help="where to write the rows")
    parser.add_argument("--quick", action="store_true", help="a tenth of the events")
    return parser.parse_args(arguments)


def _measured(
    what: str, query: str, table: pa.Table, plan: str = "optimized", repeats: int = REPEATS
) -> Row:
    """The times of a query over a table of one type `Stock`, or of a column `type`."""
    columns = {"type": None, "types": ["Stock"]} if "type" not in table.column_names else {}
    seconds = []
    for _ in range(repeats + 1):  # the first is not counted
        begin = time.perf_counter()
        try:
            matches = sase.match(query, table, plan=plan, threads=1, **columns)
            count = len(matches)
        except BudgetError:
            return Row(what, plan, table.num_rows, "too many runs", 0, "", None)
        seconds.append(time.perf_counter() - begin)
    held = sum(
        len(column.combine_chunks().flatten())
        for column in matches.rows.columns
        if pa.types.is_list(column.type)
    )
    _, counted = matches.report.counters[0]
    runs = int(counted["runs"] if "runs" in counted else counted["visited"])
    return Row(what, plan, table.num_rows, count, held, runs, Times.of(seconds[1:]))


def _checked(row: Row, expected: tuple[int, int]) -> Row:
    if (row.matches, row.held) != expected:
        found = f"{row.matches} matches with {row.held} events"
        raise SystemExit(f"{row.what}: {found}, not {expected}")
    return row


def _limit(script: Path, folder: Path) -> tuple[float, pa.Table]:
    """The median of the C program on Q5/S5, and the stream."""
    sys.path.insert(0, str(script.parent))
    import limit  # type: ignore[import-not-found]

    columns = limit.stock()
    for name, values in columns.items():
        values.tofile(folder / f"S5.{name}.bin")
    program = folder / "sase"
    source = script.with_name("sase.c")
    subprocess.run(["cc", "-O3", "-march=native", "-w", "-o", program, source], check=True)
    command = [program, folder / "S5", "q5", "mat", "9"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = re.search(r"median=([\d.]+)", done.stdout)
    assert found is not None
    count = len(columns["symbol"])
    return float(found[1]), pa.table({"ts": np.arange(count), **columns})


def _first_experiment(quick: bool) -> Iterator[Row]:
    """p1, p2, p3 by both strategies: of each symbol 200 times the window, as in the paper."""
    for window in WINDOWS[: 1 if quick else 2]:
        events = stock_events(events=400 * window).drop_columns("type")
        for name, predicate in PREDICATES.items():
            for short, strategy in STRATEGIES.items():
                query = TEMPLATE.format(strategy=strategy, predicate=predicate, window=window)
                yield _measured(f"{name}-{short} W={window}", query, events)


def _long(quick: bool) -> Iterator[Row]:
    """Skip till next match over many keys, with few runs alive."""
    count, rng = 1_000_000 if quick else 10_000_000, np.random.default_rng(5)
    names = pa.array([f"E{number}" for number in range(1, 21)])
    types = pa.DictionaryArray.from_arrays(rng.integers(0, 20, count).astype(np.int8), names)
    table = pa.table({"ts": np.arange(count), "type": types, "k": rng.integers(0, 10_000, count)})
    query = "EVENT SEQ(E1 a, E2+ b[], E3 c) WHERE skip_till_next_match {[k]} WITHIN 100000"
    yield _measured("10,000 keys", query, table, repeats=3)
    if not quick:
        yield _measured("10,000 keys", query.replace("_next", "_any"), table, repeats=3)


def _postponing(quick: bool) -> Iterator[Row]:
    """SASE++: the template under skip till any match, with rare last events, by window."""
    count, rng = 10_000 if quick else 100_000, np.random.default_rng(7)
    names = pa.array(["A", "B", "C", "D"])
    kinds = rng.choice(4, size=count, p=[0.1, 0.3, 0.01, 0.59]).astype(np.int8)
    types = pa.DictionaryArray.from_arrays(kinds, names)
    table = pa.table({"ts": np.arange(count), "type": types, "v": rng.integers(0, 1000, count)})
    for predicate in ("b[i].v > b[i-1].v", "max(b[].v) < 300"):
        for window in (25, 50, 75, 100):
            query = f"EVENT SEQ(A a, B+ b[], C c) WHERE {predicate} AND c.v < 100 WITHIN {window}"
            for plan in ("nfab", "postponed", "postponed_filters"):
                if plan == "nfab" and window > 50:
                    continue  # two to the power of the events of b in a window
                if plan == "postponed" and window > 50:
                    continue
                yield _measured(f"{predicate} W={window}", query, table, plan, repeats=1)


if __name__ == "__main__":
    main()
