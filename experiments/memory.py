"""How much memory a run takes, and whether the state of a stream stays as it is; in new processes.

    python -m experiments.memory run Q1/D3
    python -m experiments.memory stream strings 1000000 5000000

Each prints a line of JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa

import sase
from experiments.cells import CELLS, Q1, Cell
from experiments.machine import forget_peak, peak_bytes

Keys = Literal["integers", "strings"]
KEYS: tuple[Keys, ...] = get_args(Keys)

BATCH = 1_000
WARM_UP = 100_000  # events: by then every kernel is loaded, and the window is full


class Growth(NamedTuple):
    """Bytes by which a process grew while it ran a query, and those of the columns it read."""

    grown: int
    read: int


def of_run(cell: Cell) -> Growth:
    """The growth by `plan.run`, seen in a new process."""
    return Growth(**_child("run", cell.name))


def of_stream(keys: Keys, marks: Sequence[int]) -> dict[int, int]:
    """The bytes by which the process grew, after the warm-up, while events were pushed."""
    return dict(zip(marks, _child("stream", keys, *map(str, marks)), strict=True))


def _child(*arguments: str) -> Any:
    command = [sys.executable, "-m", "experiments.memory", *arguments]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=root, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[1:])} failed")
    return json.loads(done.stdout.splitlines()[-1])


def _run(name: str) -> dict[str, int]:
    (cell,) = [cell for cell in CELLS if cell.name == name]
    table = cell.stream.table()
    plan = sase.compile(cell.query.text, table)
    len(plan.run(table.slice(0, WARM_UP)).rows)
    pa.default_memory_pool().release_unused()
    forget_peak()
    before = peak_bytes()
    rows = plan.run(table, threads=1).rows
    grown = peak_bytes() - before
    if len(rows) != cell.matches:
        raise SystemExit(f"{name}: {len(rows)} matches, right are {cell.matches}")
    read = ("ts", "type", *cell.query.keys)
    return Growth(grown, sum(table[column].nbytes for column in read))._asdict()


def _stream(keys: Keys, marks: list[int]) -> list[int]:
    """Push events of which no two have the same key, so that there is never a match."""
    batches = _batches(keys)
    first = next(batches)
    matcher = sase.compile(Q1.text, pa.Table.from_batches([first])).open()
    found = len(matcher.push(first))
    pushed, before, grown = BATCH, 0, []
    for batch in batches:
        if pushed == WARM_UP:
            forget_peak()
            before = peak_bytes()
        if pushed in marks:
            grown.append(peak_bytes() - before)
        if pushed == marks[-1]:
            break
        found += len(matcher.push(batch))
        pushed += BATCH
    if found != 0:
        raise SystemExit(f"{found} matches of events with different keys")
    return grown


def _batches(keys: Keys) -> Iterator[pa.RecordBatch]:
    rng = np.random.default_rng(20060604)
    names = pa.array([f"E{number}" for number in range(1, 21)])
    start = 0
    while True:
        ts = np.arange(start, start + BATCH)
        codes = rng.integers(0, 20, size=BATCH).astype(np.int8)
        key = pa.array(ts).cast(pa.string()) if keys == "strings" else pa.array(ts)
        types = pa.DictionaryArray.from_arrays(pa.array(codes), names)
        yield pa.record_batch({"ts": ts, "type": types, "attr1": key})
        start += BATCH


def main(kind: str, subject: str, *marks: str) -> None:
    """Measure in this process."""
    print(json.dumps(_run(subject) if kind == "run" else _stream(subject, list(map(int, marks)))))


if __name__ == "__main__":
    main(*sys.argv[1:])
