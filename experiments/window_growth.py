"""The cost of sets and match windows by the length of the stream, pushed in batches.

python -m experiments.window_growth [--events N]

For a tenth of the stream after the other: M events a second by the time of the processor, and the
memory by which the process grew since the first. A batch of trades comes again and again, each time
behind all that came.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

import sase
from experiments import machine
from experiments.figures.match_windows import pnyse
from experiments.machine import forget_peak, peak_bytes
from experiments.window_streams import nyse

EVENTS, BATCH, PARTS = 100_000_000, 100_000, 10
RECIPES = ("optimized", "match_window_fc")
QUERY = pnyse(20_000)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each recipe and part of the stream."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.window_growth", description=__doc__
    )
    parser.add_argument("--events", type=int, default=EVENTS, help=f"how many: {EVENTS:,}")
    options = parser.parse_args(arguments)
    print(machine.described(), flush=True)
    for recipe in RECIPES:
        for told in grown(recipe, options.events):
            print(told, flush=True)


def grown(recipe: str, events: int) -> Iterator[str]:
    """The time of each part of the stream."""
    batch = nyse(min(BATCH, events // PARTS))
    matcher = sase.compile(QUERY, batch, plan=recipe).open()
    pushes = events // batch.num_rows // PARTS
    matches = before = 0
    for part in range(PARTS):
        start = time.process_time()
        for number in range(part * pushes, (part + 1) * pushes):
            matches += len(matcher.push(later(batch, number)))
        rate = pushes * batch.num_rows / (time.process_time() - start) / 1e6
        if part == 0:
            forget_peak()
            before = peak_bytes()
        told = f"{(part + 1) * pushes * batch.num_rows:13,} events {rate:6.2f} M/s"
        yield f"{recipe:16}{told} {(peak_bytes() - before) / 2**20:7.1f} MiB {matches:11,} matches"


def later(batch: pa.Table, times: int) -> pa.Table:
    """The same trades, moved by a number of times the length of all of them."""
    ts = batch["ts"].to_numpy()
    length = int(ts[-1] - ts[0]) + 1
    return batch.set_column(0, "ts", pa.array(ts + np.int64(times * length)))


if __name__ == "__main__":
    main()
