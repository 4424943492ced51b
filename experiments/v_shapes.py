"""Ours: prices that fall and then rise again, by partition contiguity, of many symbols.

Prices walk at random. The output has the share of events that are in a match, the seconds that pass
until all matches are listed, and those of the processor.

    python -m experiments.v_shapes [--events N] [--symbols N] [--rounds N] [--threads N …]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import sase
from experiments import machine

EVENTS, SYMBOLS, SEED = 10_000_000, 1000, 20261127
QUERY = """EVENT SEQ(tick a, tick+ b[], tick+ c[])
WHERE partition_contiguity { [symbol] AND b[i].price < b[i-1].price AND b[1].price < a.price
    AND c[1].price > b[b.len].price AND c[i].price > c[i-1].price }
WITHIN 20000"""


def table(events: int, symbols: int) -> pa.Table:
    """Ticks of random symbols, each at the price before or one above or below."""
    rng = np.random.default_rng(SEED)
    symbol = rng.integers(0, symbols, events)
    order = np.argsort(symbol, kind="stable")
    price = np.empty(events, np.int64)
    price[order] = np.cumsum(rng.integers(-1, 2, events))
    types = pa.DictionaryArray.from_arrays(pa.array(np.zeros(events, np.int8)), ["tick"])
    return pa.table({"ts": np.arange(events), "type": types, "symbol": symbol, "price": price})


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each output and number of threads."""
    parser = argparse.ArgumentParser(prog="python -m experiments.v_shapes", description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS, help=f"how many: {EVENTS:,}")
    parser.add_argument("--symbols", type=int, default=SYMBOLS, help=f"how many: {SYMBOLS:,}")
    parser.add_argument("--rounds", type=int, default=5, help="how often each runs: 5")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args(arguments)
    pa.set_cpu_count(1)
    print(machine.described(), flush=True)
    ticks = table(options.events, options.symbols)
    for threads in options.threads:
        print(line(ticks, threads, options.rounds), flush=True)


def line(ticks: pa.Table, threads: int, rounds: int) -> str:
    """The median seconds of runs after a first one, which compiles."""
    plan, passed, spent = sase.compile(QUERY, ticks), list[float](), list[float]()
    for _ in range(rounds + 1):
        start, begun = time.process_time(), time.perf_counter()
        matches = plan.run(ticks, threads=threads)
        count = len(matches)
        passed.append(time.perf_counter() - begun)
        spent.append(time.process_time() - start)
    whole, busy = statistics.median(passed[1:]), statistics.median(spent[1:])
    told = (
        f"{whole:7.3f} s, {len(ticks) / whole / 1e6:6.1f} M events/s, of the processor {busy:.3f} s"
    )
    return f"{threads} threads  {count:,} matches, {share(matches.rows, len(ticks)):.2f}  {told}"


def share(rows: pa.Table, events: int) -> float:
    """The share of events that are in a match."""
    lists = [pc.list_flatten(rows[name]).to_numpy() for name in "bc"]
    return len(np.unique(np.concatenate([rows["a"].to_numpy(), *lists]))) / events


if __name__ == "__main__":
    main()
