"""Negative groups of two against a single negative component: medians of runs, which take turns.

The group is decided by chains of events that bound the walk; with a condition between its events,
or with the match, by a search in the gap of each sequence. A single component has a condition with
the match, too. The stream is D3: 1,000 keys, 20 types, one event a unit of time.

    python -m experiments.negative_groups [--events N] [--rounds N]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

import sase
from experiments import machine
from experiments.cells import D3, WINDOW

PATTERN = "EVENT SEQ(E1 a, {}, E4 d) WHERE [attr1]{} WITHIN {}"
GROUP = "!(SEQ(E2 b, E3 c))"
# The negative part, and the conditions on it.
WAYS = {
    "one component": ("!(E2 b)", ""),
    "one, b.attr3 < a.attr3": ("!(E2 b)", " AND b.attr3 < a.attr3"),
    "group": (GROUP, ""),
    "with an absence inside": ("!(SEQ(E2 b, !(E5 x), E3 c))", ""),
    "b.attr3 < c.attr3": (GROUP, " AND b.attr3 < c.attr3"),
    "b.attr3 < a.attr3": (GROUP, " AND b.attr3 < a.attr3"),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each way."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.negative_groups", description=__doc__
    )
    parser.add_argument("--events", type=int, default=D3.events, help=f"how many: {D3.events:,}")
    parser.add_argument("--rounds", type=int, default=5, help="how often each way runs: 5")
    options = parser.parse_args(arguments)
    pa.set_cpu_count(1)
    print(machine.described(), flush=True)
    table = replace(D3, events=options.events).table()
    plans = {
        name: sase.compile(PATTERN.format(group, conditions, WINDOW), table)
        for name, (group, conditions) in WAYS.items()
    }
    found = {name: len(plan.run(table, threads=1)) for name, plan in plans.items()}
    seconds: dict[str, list[float]] = {name: [] for name in plans}
    for _ in range(options.rounds):
        for name, plan in plans.items():
            start = time.process_time()
            len(plan.run(table, threads=1))
            seconds[name].append(time.process_time() - start)
    single = statistics.median(seconds["one component"])
    for name, each in seconds.items():
        median = statistics.median(each)
        told = f"{found[name]:9,} matches  {1000 * median:8.1f} ms  times one {median / single:.2f}"
        print(f"{name:24}{told}", flush=True)


if __name__ == "__main__":
    main()
