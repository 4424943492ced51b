"""The cost of counting for ANALYZE: medians of runs with it and without, which take turns.

Times are those of the processor, so that others who use it count less.

    python -m experiments.analyze_overhead [--quick] [--rounds N] [--off]

With `--off` only runs without it are timed, in a way that commits without ANALYZE can do, too: two
working trees are compared by calling this in turns.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pyarrow as pa

import sase
from experiments import machine
from experiments.cells import D1, D3, Q1, Q3, Stream

CONDITIONS = (
    "EVENT SEQ(E1 a, E2 b, E3 c) WHERE [attr1] AND a.attr3 < b.attr3 AND b.attr4 < c.attr4"
    " AND a.attr5 != c.attr5 WITHIN 10000"
)
ON_AN_INDEX = (
    "EVENT SEQ(E1 a, !(E2 n), E3 c) WHERE [attr1] AND n.attr3 < a.attr3 AND n.attr4 != c.attr4"
    " WITHIN 10000"
)


class Case(NamedTuple):
    """A query on a stream by a recipe."""

    name: str
    query: str
    stream: Stream
    recipe: str = "optimized"


CASES = (
    Case("Q1/D1", Q1.text, D1),
    Case("Q3/D1, negation pushed", Q3.text, D1),
    Case("conditions on several events/D1", CONDITIONS, D1),
    Case("the same after construction/D1", CONDITIONS, D1, "composite_key"),
    Case("negation with conditions/D1", ON_AN_INDEX, D1),
    Case("Q1/D3", Q1.text, D3),
)

Run = Callable[[], int]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each case when it is measured."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.analyze_overhead", description=__doc__
    )
    parser.add_argument("--quick", action="store_true", help="the small stream only")
    parser.add_argument("--rounds", type=int, default=15, help="how often each way runs: 15")
    parser.add_argument("--off", action="store_true", help="only runs without ANALYZE")
    options = parser.parse_args(arguments)
    pa.set_cpu_count(1)
    print(machine.described(), flush=True)
    for case in CASES:
        if case.stream is D1 or not options.quick:
            print(line(case, options.rounds, is_off=options.off), flush=True)


def line(case: Case, rounds: int, *, is_off: bool) -> str:
    """The medians of a case in milliseconds, and their ratio."""
    table = case.stream.table()
    plan = sase.compile(case.query, table, plan=case.recipe)
    ways: list[Run] = [lambda: len(plan.run(table, threads=1))]
    if not is_off:
        ways.append(lambda: counted(plan, table))
    found = {way() for way in ways}  # which also compiles
    assert len(found) == 1, found
    seconds: list[list[float]] = [[] for _ in ways]
    for turn in range(rounds):
        for way in range(len(ways)):
            number = (way + turn) % len(ways)
            start = time.process_time()
            ways[number]()
            seconds[number].append(time.process_time() - start)
    medians = [statistics.median(each) for each in seconds]
    told = " ".join(f"{1000 * each:9.1f}" for each in medians)
    ratio = "" if is_off else f"   on/off {medians[1] / medians[0]:.3f}"
    return f"{case.name:34} {found.pop():9,} matches, ms {told}{ratio}"


def counted(plan: sase.Plan, table: pa.Table) -> int:
    """The number of matches of a run that counts."""
    from sase.engine.pipeline.analyze import analyzed

    matches, _ = analyzed(plan.engine, table, clock=time.perf_counter_ns)
    return len(matches)


if __name__ == "__main__":
    main()
