"""Runs one cell for each line of input, by the package of its working tree; see compare.py.

It uses only functions that very old commits have, too: `sase.generate`, `sase.compile`, `Plan.run`,
and of `Plan.open` the `push`."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

import sase
import sase.generate

# The most batches.
PUSHES = 2_000


def main() -> None:
    """Read the cell from the first line; for each further line run it, and print the result."""
    work = json.loads(sys.stdin.readline())
    here = Path(sase.__file__).resolve()
    if not here.is_relative_to(Path(work["tree"]).resolve()):
        raise SystemExit(f"the package of another tree is taken: {here}")
    pa.set_cpu_count(1)
    table = getattr(sase.generate, work["generator"])(**work["arguments"])
    plan = sase.compile(work["query"], table, plan=work["plan"])
    run = searched(plan, table) if work["pushed"] is None else pushed(plan, table, work["pushed"])
    for _ in sys.stdin:
        start = time.perf_counter()
        count = run()
        print(json.dumps([count, time.perf_counter() - start]), flush=True)


def searched(plan: sase.Plan, table: pa.Table) -> Callable[[], int]:
    """A function that finds the matches in all events at once."""
    return lambda: int(plan.run(table, threads=1).rows.num_rows)


def pushed(plan: sase.Plan, table: pa.Table, rows: int) -> Callable[[], int]:
    """A function that finds those in the first events, in batches made before the clock starts."""
    batches = table.slice(0, rows * PUSHES).to_batches(max_chunksize=rows)

    def run() -> int:
        matcher = plan.open()
        return sum([len(matcher.push(batch)) for batch in batches])

    return run


if __name__ == "__main__":
    main()
