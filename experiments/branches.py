"""Patterns with choices against their branches alone: medians of runs, which take turns.

Branches that differ in types alone share one scan, so that ten of them take one pass.

    python -m experiments.branches [--events N] [--rounds N]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

import sase
from experiments import machine
from experiments.cells import D3, WINDOW


@dataclass(frozen=True)
class Choice:
    """Types between the first and the last one; each branch has one of them.

    The check bounds the time of a run by a factor times that of the slower of the first and the
    last branch alone.
    """

    name: str
    types: tuple[int, ...]
    most: float

    @property
    def query(self) -> str:
        """The pattern with all branches."""
        every = " OR ".join(f"E{number} x{number}" for number in self.types)
        return self._of(f"({every})")

    @property
    def branches(self) -> list[str]:
        """Each branch as a query."""
        return [self._of(f"E{number} x") for number in self.types]

    def _of(self, middle: str) -> str:
        last = max(self.types) + 1
        return f"EVENT SEQ(E1 a, {middle}, E{last} z) WHERE [attr1] WITHIN {WINDOW}"


CHOICES = (
    Choice("two branches", (2, 3), 1.3),
    Choice("ten branches", tuple(range(2, 12)), 2.5),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each pattern."""
    parser = argparse.ArgumentParser(prog="python -m experiments.branches", description=__doc__)
    parser.add_argument("--events", type=int, default=D3.events, help=f"how many: {D3.events:,}")
    parser.add_argument("--rounds", type=int, default=7, help="how often each way runs: 7")
    options = parser.parse_args(arguments)
    pa.set_cpu_count(1)
    print(machine.described(), flush=True)
    table = D3.table().slice(0, options.events)
    for choice in CHOICES:
        print(line(table, choice, options.rounds), flush=True)


def line(table: pa.Table, choice: Choice, rounds: int) -> str:
    """The medians in milliseconds of processor time, and their ratio."""
    alone = choice.branches
    counts = [len(sase.match(query, table, threads=1)) for query in alone]
    plans = [sase.compile(query, table) for query in (choice.query, alone[0], alone[-1])]
    found = len(plans[0].run(table, threads=1))
    assert found == sum(counts), (found, counts)
    seconds: list[list[float]] = [[] for _ in plans]
    for turn in range(rounds):
        for number in sorted(range(3), key=lambda place: (place + turn) % 3):
            start = time.process_time()
            len(plans[number].run(table, threads=1))
            seconds[number].append(time.process_time() - start)
    whole, *single = (1000 * statistics.median(each) for each in seconds)
    ratio = whole / max(single)
    told = f"{whole:7.1f}  the slower branch alone {max(single):7.1f}"
    return f"{choice.name}  {found:9,} matches  {told}  ratio {ratio:.2f}, at most {choice.most}"


if __name__ == "__main__":
    main()
