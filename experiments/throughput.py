"""How fast and in how much memory sequences are found, beside a C program and DuckDB.

    python -m experiments.throughput [--quick] [--limit PATH/limit.py] [--duckdb] [--csv FILE]

Every run checks the number of matches, and the exit status is 1 where one is wrong; no time is
asserted.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

import sase
from experiments import machine, memory, micro_batches, report
from experiments.c_limit import Limit
from experiments.cells import CELLS, D1, D3, Q1, Q1_D1, Q1_D3, Cell
from experiments.duckdb_buckets import Buckets
from experiments.memory import KEYS
from experiments.micro_batches import Feed
from experiments.report import Results
from experiments.times import Times

PASSES = 5  # over the stream of micro-batches


class Size(NamedTuple):
    """What is pushed, which run is looked at for its memory, and after how many events a state."""

    feed: Feed
    run: Cell
    marks: tuple[int, ...]


FULL = Size(Feed(Q1, D3, 2_000_000, 12_697), Q1_D3, (1_000_000, 5_000_000))
QUICK = Size(Feed(Q1, D1, 200_000, 122_195), Q1_D1, (200_000, 400_000))

Way = Callable[[], pa.Table]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print each table when it is there."""
    options = parsed(arguments)
    size = QUICK if options.quick else FULL
    pa.set_cpu_count(1)  # what the others may use
    say(machine.described())
    with tempfile.TemporaryDirectory() as temporary:
        limit = Limit(options.limit, options.folder or Path(temporary)) if options.limit else None
        chosen = [cell for cell in CELLS if not options.quick or cell.stream is D1]
        cells = {cell: measured(cell, options.rounds, options.duckdb, limit) for cell in chosen}
    say(report.cells_table(cells))
    progress(size.feed.name)
    pushes = micro_batches.measured(size.feed, PASSES)
    say(report.pushes_list(size.feed, pushes))
    progress("memory")
    growth = memory.of_run(size.run)
    say(report.growth_line(size.run, growth))
    state = {keys: memory.of_stream(keys, size.marks) for keys in KEYS}
    say(report.state_list(state))
    if options.csv:
        results = Results(cells, size.feed, pushes, size.run, growth, state)
        with options.csv.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(report.lines(results))


def measured(cell: Cell, rounds: int, duckdb: bool, limit: Limit | None) -> dict[str, Times]:
    """The times of a cell by each way, which take turns; every third time the C program, too."""
    progress(cell.name)
    table = cell.stream.table()
    ways = engine_ways(cell, table)
    if duckdb:
        ways["DuckDB"] = Buckets(cell, table).run
    if limit is not None:
        limit.prepare(cell, table)
    for name, way in ways.items():
        check(cell, name, way())
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    in_c: list[Times] = []
    for turn in range(rounds):
        if limit is not None and turn % 3 == 1:
            in_c.append(limit.run(cell))
        for name, way in ways.items():
            seconds[name].append(timed(cell, name, way))
    times = {name: Times.of(each) for name, each in seconds.items()}
    return times | ({"C": Times.together(in_c)} if in_c else {})


def engine_ways(cell: Cell, table: pa.Table) -> dict[str, Way]:
    """The plan run on types as a dictionary and as strings, and the query compiled each time."""
    text = cell.query.text
    strings = cell.stream.table("string")
    plan, plan_of_strings = sase.compile(text, table), sase.compile(text, strings)
    return {
        "plan.run": lambda: plan.run(table, threads=1).rows,
        "plain strings": lambda: plan_of_strings.run(strings, threads=1).rows,
        "sase.match": lambda: sase.match(text, table, threads=1).rows,
    }


def timed(cell: Cell, name: str, way: Way) -> float:
    """The seconds of one run, whose matches are counted."""
    start = time.perf_counter()
    rows = way()
    seconds = time.perf_counter() - start
    count(cell, name, rows)
    return seconds


def count(cell: Cell, name: str, rows: pa.Table) -> None:
    """Stop where the number of matches is wrong."""
    if len(rows) != cell.matches:
        raise SystemExit(
            f"{cell.name}: {name} finds {len(rows):,} matches, right are {cell.matches:,}"
        )


def check(cell: Cell, name: str, rows: pa.Table) -> None:
    """Stop where the number of matches is wrong, or the sum of their row numbers."""
    count(cell, name, rows)
    total = sum(pc.sum(column).as_py() or 0 for column in rows.columns)
    if total != cell.row_sum:
        raise SystemExit(f"{cell.name}: {name} finds as many matches as it should, and not those")


def say(text: str) -> None:
    """Print a part of the report."""
    print(f"{text}\n", flush=True)


def progress(what: str) -> None:
    """Say on standard error what is being measured."""
    print(f"measuring {what}", file=sys.stderr, flush=True)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments.throughput", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small streams, few rounds, no others")
    parser.add_argument("--limit", type=Path, metavar="FILE", help="limit.py beside its sase.c")
    parser.add_argument("--folder", type=Path, help="where the data of the C program are kept")
    parser.add_argument("--duckdb", action="store_true", help="also measure DuckDB")
    parser.add_argument("--rounds", type=int, help="how often each way runs: 9, if quick 3")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write all figures there")
    options = parser.parse_args(arguments)
    if options.quick and (options.limit or options.duckdb):
        parser.error("--quick compares with no other: leave out --limit and --duckdb")
    options.rounds = options.rounds or (3 if options.quick else 9)
    if options.rounds < (2 if options.limit else 1):
        parser.error("--rounds is at least 1, with --limit at least 2")
    return options


if __name__ == "__main__":
    main()
