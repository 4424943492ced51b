"""A set of three members, then one event, on a stream of twenty types: events a second.

Seconds are of processor time, the fewest of some runs.

python -m experiments.sets [--events N] [--rounds N]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

import sase
from experiments import machine
from experiments.cells import D3

# A set, and the same in one order.
SET, SEQUENCE = "SEQ(SET(E1 a, E2 b, E3 c), E4 d)", "SEQ(E1 a, E2 b, E3 c, E4 d)"
# The strategy, the pattern, and the window: with the first matches are rare, with the second there
# is about one in a hundred events.
CELLS = [
    (strategy, pattern, window)
    for window in (4_000, 20_000)
    for strategy, pattern in (
        ("earliest_maximal", SET),
        ("earliest_maximal", SEQUENCE),
        ("skip_till_next_match", SET),
        ("skip_till_next_match", SEQUENCE),
    )
]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each cell."""
    parser = argparse.ArgumentParser(prog="python -m experiments.sets", description=__doc__)
    parser.add_argument("--events", type=int, default=D3.events, help=f"how many: {D3.events:,}")
    parser.add_argument("--rounds", type=int, default=5, help="how often each runs: 5")
    options = parser.parse_args(arguments)
    print(machine.described(), flush=True)
    table = replace(D3, events=options.events).table()
    for strategy, pattern, window in CELLS:
        told = line(table, pattern, strategy, window, options.rounds)
        print(f"{strategy:21} {pattern:34} WITHIN {window:6,} {told}", flush=True)


def line(table: pa.Table, pattern: str, strategy: str, window: int, rounds: int) -> str:
    """Matches, and millions of events by second of processor time, one thread."""
    query = f"EVENT {pattern} WHERE {strategy} {{ [attr1] }} WITHIN {window}"
    matches, seconds = 0, list[float]()
    for _ in range(rounds):
        start = time.process_time()
        matches = len(sase.match(query, table, threads=1))
        seconds.append(time.process_time() - start)
    return (
        f"{matches:9,} matches  {table.num_rows / min(seconds) / 1e6:6.1f} M events/s of processor"
    )


if __name__ == "__main__":
    main()
