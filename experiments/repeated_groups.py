"""Repeated groups of two types on a stream of twenty: events a second, the best of some runs.

python -m experiments.repeated_groups [--events N] [--rounds N]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

import sase
from experiments import machine
from experiments.cells import D3, WINDOW

GROUP, ONCE = "(SEQ(E2 b, E3 c))+ g[]", "SEQ(E2 b, E3 c)"
STRATEGIES = ("skip_till_next_match", "partition_contiguity")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each strategy."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.repeated_groups", description=__doc__
    )
    parser.add_argument("--events", type=int, default=D3.events, help=f"how many: {D3.events:,}")
    parser.add_argument("--rounds", type=int, default=5, help="how often each runs: 5")
    options = parser.parse_args(arguments)
    print(machine.described(), flush=True)
    table = replace(D3, events=options.events).table()
    for strategy in STRATEGIES:
        for pattern in (GROUP, ONCE):
            told = line(table, pattern, strategy, options.rounds)
            print(f"{strategy:22}{pattern:24}{told}", flush=True)


def line(table: pa.Table, pattern: str, strategy: str, rounds: int) -> str:
    """Matches, and millions of events a second, one thread."""
    query = f"EVENT {pattern} WHERE {strategy} {{ [attr1] }} WITHIN {WINDOW}"
    matches, seconds = 0, list[float]()
    for _ in range(rounds):
        start = time.perf_counter()
        matches = len(sase.match(query, table, threads=1))
        seconds.append(time.perf_counter() - start)
    return f"{matches:9,} matches  {table.num_rows / min(seconds) / 1e6:6.1f} M events/s"


if __name__ == "__main__":
    main()
