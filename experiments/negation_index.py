"""The index of negation by key against that by time alone: medians of runs, which take turns.

By time a sequence meets the events of every key in its gap; by key each event is hashed. Stacks are
by one attribute, so that the key of both is that of negation alone; or by both of them.

    python -m experiments.negation_index [--events N] [--rounds N]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

import sase
from experiments import machine
from experiments.core.ways import recipe

QUERY = "EVENT SEQ(A a, B b, !(N n)) WHERE [k, m] WITHIN {}"
PAIRS = {
    "stacks by k": ("negation_by_key_alone", "negation_by_time_alone"),
    "stacks by k, m": ("composite_key", "negation_by_time"),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each window, share of negative events and way to keep stacks."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.negation_index", description=__doc__
    )
    parser.add_argument("--events", type=int, default=1_000_000, help="how many: 1,000,000")
    parser.add_argument("--rounds", type=int, default=7, help="how often each way runs: 7")
    options = parser.parse_args(arguments)
    pa.set_cpu_count(1)
    print(machine.described(), flush=True)
    for share in (0.001, 0.02, 0.2):
        table = stream(options.events, share)
        for window in (200, 2_000, 20_000):
            for name, pair in PAIRS.items():
                told = line(table, QUERY.format(window), pair, options.rounds)
                print(f"N {share:6.1%}  WITHIN {window:6,}  {name:15}{told}", flush=True)


def stream(events: int, share: float) -> pa.Table:
    """Types A and B a tenth each, a share of N; 1,000 and 3 values that no table can hold."""
    random = np.random.default_rng(2006)
    large = random.integers(0, 1 << 60, 1_000)
    kinds = random.choice(4, events, p=(0.1, 0.1, share, 0.8 - share)).astype(np.int8)
    return pa.table(
        {
            "ts": np.arange(events),
            "type": pa.DictionaryArray.from_arrays(kinds, ["A", "B", "N", "O"]),
            "k": large[random.integers(0, 1_000, events)],
            "m": large[random.integers(0, 3, events)],
        }
    )


def line(table: pa.Table, query: str, pair: Sequence[str], rounds: int) -> str:
    """The medians in milliseconds of processor time, and their ratio."""
    plans = [sase.compile(query, table, plan=recipe(name)) for name in pair]
    found = {len(plan.run(table, threads=1)) for plan in plans}  # which also compiles
    assert len(found) == 1, found
    seconds: list[list[float]] = [[], []]
    for turn in range(rounds):
        for number in (turn % 2, 1 - turn % 2):
            start = time.process_time()
            len(plans[number].run(table, threads=1))
            seconds[number].append(time.process_time() - start)
    by_key, by_time = (1000 * statistics.median(each) for each in seconds)
    matches = f"{found.pop():9,} matches"
    return f"{matches}  by key {by_key:7.1f}  by time {by_time:7.1f}  ratio {by_time / by_key:.2f}"


if __name__ == "__main__":
    main()
