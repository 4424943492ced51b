"""How far default plans are from the best recipe, by patterns, keys, windows and streams.

    python -m experiments regret [--cells N] [--seed S] [--events 1000000 12000000] [--csv FILE]

Cells are drawn from the grid. Of each run, in turn, the plan of `sase.match`, the plan without
statistics, and every recipe with a different plan. A run that takes three times as long as the best
so far, or 2 GB, is broken off. Cells with too many matches are left out."""

from __future__ import annotations

import argparse
import csv
import random
import re
import sys
import time
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import sase
from experiments import machine
from experiments.regret import warm
from sase.api.compiled_query import CompiledQuery, compile_query
from sase.api.execution import measured as statistics_of
from sase.binding.input_options import InputOptions
from sase.engine.sources.discovered import Discovered
from sase.errors import BudgetError
from sase.planning.cost.cost import cost_of
from sase.planning.recipes import recipe_names
from sase.planning.statistics import Statistics

# A pattern and its conditions, without its window; R is one event in 10,000.
PATTERNS = (
    "SEQ(A a, B b) WHERE [k]",
    "SEQ(A a, A b) WHERE [k]",
    "SEQ(A a, B b, C c) WHERE [k]",
    "SEQ(A a, B b, C c, D d) WHERE [k]",
    "SEQ(A a, !(B n), C c) WHERE [k]",
    "SEQ(!(B n), A a, C c) WHERE [k]",
    "SEQ(A a, C c, !(B n)) WHERE [k]",
    "SEQ(A a, !(B n), C c) WHERE [k] AND n.x > a.x",
    "SEQ(A a, B b) WHERE [k] AND a.x < b.x",
    "SEQ(A a, B b, C c) WHERE [k] AND a.x < b.x AND b.x < c.x",
    "SEQ(A a, B b, C c) WHERE [k] AND a.x + c.x < 10",
    "SEQ(A a, B b) WHERE [k] AND a.x < 50",
    "SEQ(A a, B b) WHERE [k, y]",
    "SEQ(A a, B b, C c) WHERE [k, y] AND a.x < c.x",
    "SEQ(A a, B b)",
    "SEQ(R r, A a, B b) WHERE [k]",
    "SEQ(A a, B b, R r, C c) WHERE [k] AND a.x < b.x",
    "SEQ(A+ a[], B b) WHERE skip_till_next_match { [k] }",
    "SEQ(A a, B+ b[], C c) WHERE skip_till_any_match { [k] AND b[i].x > b[i-1].x }",
    "SEQ(A a, B+ b[], C c) WHERE skip_till_any_match { [k] AND b[i].x > a.x }",
)
KEYS = (10, 100, 1_000, 10_000, 100_000, 1_000_000)
WINDOWS = (20, 100, 1_000, 10_000, 100_000, 1_000_000, None)
TYPES = (2, 6, 20, 50)
EVENTS = (1_000_000, 5_000_000, 12_000_000, 50_000_000)
VALUES, ONE_IN, MOST_MATCHES = 1_000, 10_000, 5_000_000
# A run is broken off that takes this many times as long as the best, and some seconds more. Runs
# near the best are repeated more often.
LEAST = 0.2
RUNS, NEAR, SLOW, MOST_SECONDS, MEMORY, LIMIT = 3, 1.3, 3.0, 9.0, "2GB", 1.5
CHOSEN, PLAIN = "chosen", "without statistics"


class Cell(NamedTuple):
    """A query and its stream."""

    pattern: str
    keys: int
    window: int | None
    types: int
    events: int

    @property
    def text(self) -> str:
        """The query, with the types that there are."""
        text = re.sub(r"\b[A-D]\b", lambda name: f"T{ord(name[0]) % self.types}", self.pattern)
        return f"EVENT {text}" + (f" WITHIN {self.window}" if self.window else "")

    def table(self) -> pa.Table:
        """The stream."""
        return stream(self.events, self.types, self.keys)


class Found(NamedTuple):
    """The least seconds of each plan, infinite of those that were broken off, and the matches."""

    seconds: dict[str, float]
    matches: int
    statistics: Statistics | None

    @property
    def best(self) -> str:
        """The fastest plan but for the chosen one."""
        return min((n for n in self.seconds if n != CHOSEN), key=lambda name: self.seconds[name])

    @property
    def regret(self) -> float:
        """How many times as long as that the chosen plan takes."""
        return self.seconds[CHOSEN] / self.seconds[self.best]


def grid(seed: int, events: tuple[int, ...] = EVENTS) -> list[Cell]:
    """All cells, in an order by the seed."""
    every = product(PATTERNS, KEYS, WINDOWS, TYPES, events)
    # An absence at an end is bounded by the window alone.
    cells = [Cell(*each) for each in every if each[2] or not re.search(r"SEQ\(!|n\)\)", each[0])]
    random.Random(seed).shuffle(cells)
    return cells


@lru_cache(maxsize=1)
def stream(events: int, types: int, keys: int, seed: int = 1) -> pa.Table:
    """Events a unit of time apart, evenly of each type and key."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, types, events, np.int8)
    codes[rng.integers(0, events, max(events // ONE_IN, 1))] = types
    names = [*(f"T{number}" for number in range(types)), "R"]
    return pa.table(
        {
            "ts": np.arange(events),
            "type": pa.DictionaryArray.from_arrays(codes, names),
            "k": rng.integers(0, keys, events, np.int32),
            "x": rng.integers(0, VALUES, events, np.int32),
            "y": rng.integers(0, 10, events, np.int32),
        }
    )


def plans_of(
    known: CompiledQuery, statistics: Statistics | None, table: pa.Table
) -> dict[str, Any]:
    """The plan of the run, the one without statistics, and those of recipes."""
    plans = {
        CHOSEN: known.plan(known.optimized(statistics, loaded=True)),
        PLAIN: known.plan(known.optimized()),
    }
    names = (name for name in recipe_names() if name != "optimized")
    return plans | {name: sase.compile(known.query, table, plan=name) for name in names}


def measured(cell: Cell) -> Found | None:
    """Run a cell by all plans; None of too many matches, or where no plan is fast enough."""
    table = cell.table()
    known = compile_query(cell.text, Discovered.of(table, InputOptions()))
    statistics, shown = statistics_of(known, None)
    assert shown is not None
    plans = plans_of(known, statistics, table)
    expected = cost_of(plans[PLAIN].operators, shown)
    if expected.results > MOST_MATCHES or expected.nanoseconds > MOST_SECONDS * 1e9:
        return None
    alike: dict[Any, list[str]] = {}
    for name, plan in plans.items():
        alike.setdefault((plan.operators, plan.engine.options), []).append(name)
    seconds: dict[Any, float] = {}
    most, counts = MOST_SECONDS, set[int]()
    for key, (name, *_) in alike.items():
        warm(plans[name], table)
        seconds[key] = _timed(plans[name], table, most, counts)
        most = min(most, min(SLOW * seconds[key], MOST_SECONDS / SLOW) + LEAST)
    best = min(seconds.values())
    if best == inf:
        return None
    near = [key for key in alike if seconds[key] < NEAR * best or CHOSEN in alike[key]]
    for _ in range(RUNS if best < 1 else 2):
        for key in near:
            if seconds[key] < inf:
                again = _timed(plans[alike[key][0]], table, inf, counts)
                seconds[key] = min(seconds[key], again)
    assert len(counts) == 1, f"{cell} has {sorted(counts)} matches"
    by_name = {name: seconds[key] for key, names in alike.items() for name in names}
    return Found(by_name, counts.pop(), statistics)


def _timed(plan: Any, table: pa.Table, most: float, counts: set[int]) -> float:
    """The processor's seconds of a run; infinite of one that is broken off."""
    begin, clock = time.process_time(), time.process_time_ns
    try:
        timeout = None if most == inf else most
        found = plan.run(table, threads=1, timeout=timeout, max_memory=MEMORY, clock=clock)
        counts.add(len(found))
    except BudgetError:
        return inf
    return time.process_time() - begin


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--cells", type=int, default=100, help="how many are measured: 100")
    parser.add_argument("--seed", type=int, default=1, help="of the order of cells: 1")
    parser.add_argument("--events", type=int, nargs="+", default=EVENTS, help="lengths of streams")
    parser.add_argument("--minutes", type=float, default=inf, help="begin no cell after so many")
    parser.add_argument("--csv", type=Path, default=Path(machine.RESULTS) / "regret_grid.csv")
    parser.set_defaults(action=main)


def main(options: argparse.Namespace) -> None:
    """Write a line of CSV for each cell, and print the worst ones."""
    machine.compile_kernels()
    regrets: list[tuple[float, str]] = []
    with options.csv.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_HEADER)
        for cell, found in _found(options):
            writer.writerow(_row(cell, found))
            file.flush()
            told = f"{cell.text}, {cell.events:,} events, {cell.types} types, {cell.keys:,} keys"
            regrets.append((found.regret, f"{found.regret:.2f} of {found.best}: {told}"))
    print(machine.described())
    above = sum(regret > LIMIT for regret, _ in regrets)
    print(f"{len(regrets)} cells, {above} above {LIMIT}; the worst:")
    print("\n".join(told for _, told in sorted(regrets, reverse=True)[:10]))


def _found(options: argparse.Namespace) -> Iterator[tuple[Cell, Found]]:
    """The cells that were measured."""
    begin, count = time.monotonic(), 0
    for cell in grid(options.seed, tuple(options.events)):
        if count == options.cells or time.monotonic() - begin > 60 * options.minutes:
            return
        found = measured(cell)
        if found is not None:
            count += 1
            print(f"{count}/{options.cells} {found.regret:.2f}", end="\r", file=sys.stderr)
            yield cell, found


_HEADER = (
    "query", "events", "types", "keys", "matches", "sampled", "chosen_ms", "plain_ms", "best_ms",
    "best", "regret", "broken_off", "commit", "processor",
)  # fmt: skip


def _row(cell: Cell, found: Found) -> tuple[object, ...]:
    seconds, sample = found.seconds, found.statistics.sampled if found.statistics else 0
    return (
        cell.text, cell.events, cell.types, cell.keys, found.matches, sample,
        *(f"{1e3 * seconds[name]:.1f}" for name in (CHOSEN, PLAIN, found.best)), found.best,
        f"{found.regret:.3f}", " ".join(name for name in seconds if seconds[name] == inf),
        machine.commit(), machine.processor(),
    )  # fmt: skip
