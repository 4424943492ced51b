"""Runs one cell when asked, by the package of the working tree it is started in; see compare.py.

Only what commits of long ago have too is used: `sase.generate`, `sase.compile` and `Plan.run`.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pyarrow as pa

import sase
import sase.generate


def main() -> None:
    """Read the cell from the first line; for each further line run it, and print what was found."""
    work = json.loads(sys.stdin.readline())
    here = Path(sase.__file__).resolve()
    if not here.is_relative_to(Path(work["tree"]).resolve()):
        raise SystemExit(f"the package of another tree is taken: {here}")
    pa.set_cpu_count(1)
    table = getattr(sase.generate, work["generator"])(**work["arguments"])
    plan = sase.compile(work["query"], table, plan=work["plan"])
    for _ in sys.stdin:
        start = time.perf_counter()
        count = plan.run(table, threads=1).rows.num_rows
        print(json.dumps([count, time.perf_counter() - start]), flush=True)


if __name__ == "__main__":
    main()
