"""Soak streams: `make soak MINUTES=60` pushes events of ever new keys, some of them late.

Every thousandth push the matcher is saved, and another one restored. What is pushed is written to a
file, and in the end a batch over it must find the same matches; meanwhile memory must not grow.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from random import SystemRandom
from typing import Any

import numpy as np
import pyarrow as pa

import sase

QUERIES = {
    "an absence between": "EVENT SEQ(SHELF x, !(COUNTER y), EXIT z) WHERE [id] WITHIN 400",
    "an absence at the end": "EVENT SEQ(SHELF x, !(EXIT z)) WHERE [id] WITHIN 150",
    "a series": (
        "EVENT SEQ(SHELF x, COUNTER+ c[], EXIT z)"
        " WHERE skip_till_next_match { [id] AND c[i].v >= c[i-1].v } WITHIN 400"
    ),
    "parts of a series": (
        "EVENT SEQ(SHELF x, COUNTER+ c[], EXIT z) WHERE [id] AND max(c[].v) < 80 WITHIN 400"
    ),
}
RETURN = " RETURN x.id AS id"
LATENESS, STAY = 50, 300
ROWS, EACH = 400, 1000  # of a push; and pushes from one snapshot to the next
# By so much of what there was after the first tenth memory may be greater in the end.
GROWTH = 0.05
SCHEMA = pa.schema(
    [("ts", pa.int64()), ("type", pa.string()), ("id", pa.int64()), ("v", pa.int64())]
)


@dataclass
class Events:
    """Visits of items that never come again, in the order in which their rows arrive."""

    seed: int
    begun: int = 0
    waiting: np.ndarray[Any, Any] = field(default_factory=lambda: np.empty((5, 0), np.int64))
    late: int = 0

    def batches(self) -> Iterator[tuple[pa.Table, pa.Table]]:
        """Yield rows that are not late, with those that are put among them."""
        random = np.random.default_rng(self.seed)
        while True:
            self._visits(random)
            order = np.argsort(self.waiting[4], kind="stable")
            ready = order[self.waiting[4][order] < self.begun]
            rows, self.waiting = self.waiting[:, ready], np.delete(self.waiting, ready, axis=1)
            good = _table(rows)
            late = rows[:, : rows.shape[1] // 100].copy()
            late[0] -= 3 * (STAY + LATENESS)
            self.late += late.shape[1]
            yield good, pa.concat_tables([good, _table(late)])

    def _visits(self, random: np.random.Generator) -> None:
        """Have as many items come as make a push, each read two to five times."""
        items = self.begun + np.arange(ROWS // 3)
        self.begun += len(items)
        # Of each item one reading at a shelf, some at a counter, and one at an exit.
        readings = 2 + random.integers(0, 4, len(items))
        item = np.repeat(items, readings)
        first = np.append(True, item[1:] != item[:-1])
        last = np.append(first[1:], True)
        kinds = np.where(first, 0, np.where(last, 2, 1))
        after = np.where(first, 0, random.integers(1, STAY, len(item)))
        moments = np.sort(item * 2 * STAY + after) % (2 * STAY) + item
        arrivals = moments + random.integers(0, LATENESS, len(item))
        values = random.integers(0, 100, len(item))
        new = np.stack([moments, kinds, item, values, arrivals])
        self.waiting = np.concatenate([self.waiting, new], axis=1)


def _table(rows: np.ndarray[Any, Any]) -> pa.Table:
    types = pa.DictionaryArray.from_arrays(
        rows[1].astype(np.int8), pa.array(["SHELF", "COUNTER", "EXIT"])
    )
    columns = [pa.array(rows[0]), types.cast(pa.string()), pa.array(rows[2]), pa.array(rows[3])]
    return pa.table(columns, schema=SCHEMA)


@dataclass
class Digest:
    """Of all matches in their order, however they come."""

    count: int = 0
    columns: dict[str, Any] = field(default_factory=dict)

    def add(self, matches: Any) -> None:
        """Add some matches."""
        table = matches.to_arrow()
        self.count += table.num_rows
        for name in table.column_names:
            values = np.ascontiguousarray(table.column(name).to_numpy())
            self.columns.setdefault(name, sha256()).update(values.tobytes())

    def told(self) -> tuple[int, dict[str, str]]:
        """The number of matches, and a digest of each column."""
        return self.count, {name: each.hexdigest() for name, each in self.columns.items()}


def resident() -> int:
    """The bytes that the process holds."""
    gc.collect()
    with Path("/proc/self/statm").open(encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def soak(seconds: float, seed: int, say: Any = print) -> list[str]:
    """What is wrong after so many seconds; nothing if all is well."""
    plans = {
        name: sase.compile(text + RETURN, SCHEMA.empty_table(), lateness=LATENESS)
        for name, text in QUERIES.items()
    }
    matchers = {name: plan.open() for name, plan in plans.items()}
    found = {name: Digest() for name in plans}
    events, faults, memory = Events(seed), list[str](), list[tuple[float, int]]()
    begin, pushes, rows, told = time.monotonic(), 0, 0, 0.0
    kept = list[pa.Table]()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.arrow"
        with pa.ipc.new_file(path, SCHEMA) as writer:
            for good, given in events.batches():
                passed = time.monotonic() - begin
                if passed >= seconds:
                    break
                kept.append(good)
                if len(kept) == EACH:  # a file of small batches takes long to read
                    writer.write_table(pa.concat_tables(kept).combine_chunks())
                    kept.clear()
                pushes, rows = pushes + 1, rows + given.num_rows
                for name, matcher in matchers.items():
                    found[name].add(matcher.push(given))
                    matcher.take_late()
                    if pushes % EACH == 0:
                        matchers[name] = plans[name].restore(matcher.snapshot())
                if passed - told >= seconds / 60:
                    told = passed
                    held = resident()
                    memory.append((passed, held))
                    say(f"{passed:,.0f} s: {pushes:,} pushes, {rows:,} rows, {held >> 20} MiB")
            writer.write_table(pa.concat_tables(kept or [SCHEMA.empty_table()]))
        for name, matcher in matchers.items():
            found[name].add(matcher.finish())
        for name in plans:
            whole = Digest()
            whole.add(sase.match(QUERIES[name] + RETURN, str(path)))
            if whole.told() != found[name].told():
                faults.append(f"{name}: {found[name].count:,} matches, as a batch {whole.count:,}")
            say(f"{name}: {whole.count:,} matches")
    early = [held for passed, held in memory if passed >= seconds / 10][:1]
    if early and memory[-1][1] > early[0] * (1 + GROWTH):
        faults.append(f"memory grew from {early[0] >> 20} to {memory[-1][1] >> 20} MiB")
    say(f"{pushes:,} pushes, {rows:,} rows of which {events.late:,} late, seed {seed}")
    return faults


def main() -> int:
    """Soak for a while, and say what is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=None)
    given = parser.parse_args()
    seed = SystemRandom().randrange(10**9) if given.seed is None else given.seed
    print(f"seed {seed}")
    faults = soak(given.minutes * 60, seed, lambda text: print(text, flush=True))
    print("\n".join(faults) or "memory is flat, and every stream found what the batch finds")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
