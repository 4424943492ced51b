"""Soak streams: `make soak MINUTES=60` pushes events of ever new keys and texts, some of them late.

Every thousandth push the matcher is saved, and another one restored. Rows that are pushed and not
late are written to a file, and in the end a batch over it must find the same matches; meanwhile
neither the memory of the process nor the snapshots may grow, and all late rows must be reported.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from math import inf
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
    "an absent sequence": (
        "EVENT SEQ(SHELF x, !(SEQ(COUNTER c, COUNTER d)), EXIT z) WHERE [id] WITHIN 400"
    ),
    "branches": "EVENT SEQ(SHELF x, (COUNTER c OR COUNTER{2,} d[]), EXIT z) WHERE [id] WITHIN 400",
    "iterations": (
        "EVENT SEQ(SHELF x, (SEQ(COUNTER c, COUNTER? d))+ g[], EXIT z)"
        " WHERE skip_till_next_match { [id] AND g[i].c.v != g[i-1].c.v } WITHIN 400"
    ),
    "a set": (
        "EVENT SEQ(SHELF x, SET(COUNTER c, COUNTER+ d[]), EXIT z)"
        " WHERE skip_till_next_match { [id] } WITHIN 400"
    ),
    "the earliest and longest": (
        "EVENT SEQ(SHELF x, COUNTER+ c[]) WHERE earliest_maximal { [id] } WITHIN 400"
    ),
    "a filter of texts": "EVENT SHELF x WHERE x.name LIKE '%7'",
    "equal texts": "EVENT SEQ(SHELF x, EXIT z) WHERE x.tag = z.tag WITHIN 400",
    "unequal texts": (
        "EVENT SEQ(SHELF x, EXIT z) WHERE [tag] AND lower(x.name) != z.name WITHIN 400"
    ),
    "an absence before": (
        "EVENT SEQ(!(COUNTER y), SHELF x, EXIT z) WHERE [tag] AND y.name != x.name WITHIN 400"
    ),
    "strict contiguity": (
        "EVENT SEQ(ANY+ c[], SHELF x)"
        " WHERE strict_contiguity { c[i].v > 90 AND c[i].name != c[i-1].name } WITHIN 400"
    ),
    "partition contiguity": (
        "EVENT SEQ(SHELF x, COUNTER+ c[], EXIT z)"
        " WHERE partition_contiguity { [tag] AND c[i].name > c[i-1].name } WITHIN 400"
    ),
    "greatest texts": (
        "EVENT SEQ(SHELF x, COUNTER+ c[], EXIT z)"
        " WHERE [tag] AND max(c[..i-1].name) <= c[i].name WITHIN 400"
    ),
    "imprecise time": "EVENT SEQ(SHELF x, EXIT z) WHERE [tag] AND x.name != z.name WITHIN 400",
    "a script": (
        "EVENT SEQ(SHELF x, EXIT z) WHERE [tag] AND x.name LIKE '%7' AND z.name < '3' WITHIN 400"
        "{0}; EVENT SEQ(SHELF x, EXIT z) WHERE [tag] AND x.name LIKE '%7' WITHIN 300"
    ),
}
RETURN = " RETURN x.id AS id, x.name AS name"
OPTIONS = {"imprecise time": {"time": ("ts", "until")}}
LATENESS, STAY = 50, 300
ROWS, EACH = 400, 1000  # of a push; and pushes from one snapshot to the next
# The texts that may be known though no event has them, beside as many as two times those of live
# ones.
MOST_TEXTS = 5000
# The part of the first figures by which memory and snapshots may be greater in the end.
GROWTH = 0.05
# Sizes that are too few to be compared unless each is greater.
FEW = 10
SCHEMA = pa.schema(
    [
        ("ts", pa.int64()), ("type", pa.string()), ("id", pa.int64()), ("v", pa.int64()),
        ("until", pa.int64()), ("tag", pa.string()), ("name", pa.string()),
    ]
)  # fmt: skip


@dataclass
class Events:
    """Visits of items that never come again, in the order in which their rows arrive."""

    seed: int
    spread: int = 1  # from one key to the next
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
        new = np.stack([moments, kinds, item * self.spread, values, arrivals])
        self.waiting = np.concatenate([self.waiting, new], axis=1)


def _table(rows: np.ndarray[Any, Any]) -> pa.Table:
    types = pa.DictionaryArray.from_arrays(
        rows[1].astype(np.int8), pa.array(["SHELF", "COUNTER", "EXIT"])
    )
    times, numbers, values = rows[0], rows[2], rows[3]
    tags = pa.array([f"Tag {number}" for number in numbers.tolist()])
    # Hardly one is there twice.
    names = pa.array([f"{value} of {each}" for value, each in zip(values, times, strict=True)])
    whole = [pa.array(times), types.cast(pa.string()), pa.array(numbers), pa.array(values)]
    return pa.table([*whole, pa.array(times + values % 3), tags, names], schema=SCHEMA)


@dataclass
class Digest:
    """Of all matches in their order, however they come."""

    count: int = 0
    columns: dict[str, Any] = field(default_factory=dict)

    def add(self, matches: Any) -> None:
        """Add some matches, or those of each statement of a script."""
        for name, each in matches.items() if isinstance(matches, dict) else [("", matches)]:
            self._add(name, each)

    def _add(self, statement: str, matches: Any) -> None:
        table = matches.to_arrow()
        self.count += table.num_rows
        for name in table.column_names:
            values = np.ascontiguousarray(table.column(name).to_numpy())
            if values.dtype == object:
                values = np.array([f"{text}\n" for text in values.tolist()], "S40")
            self.columns.setdefault(f"{statement} {name}", sha256()).update(values.tobytes())

    def told(self) -> tuple[int, dict[str, str]]:
        """The number of matches, and a digest of each column."""
        return self.count, {name: each.hexdigest() for name, each in self.columns.items()}


def resident() -> int:
    """The bytes that the process holds."""
    gc.collect()
    with Path("/proc/self/statm").open(encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


@dataclass
class Stream:
    """A query, its matcher, and the state of both."""

    text: str
    options: dict[str, Any] = field(default_factory=dict)
    plan: Any = field(init=False)
    matcher: Any = field(init=False)
    found: Digest = field(default_factory=Digest)
    late: int = 0
    snapshots: list[int] = field(default_factory=list)  # the bytes of each
    kept: str = ""  # how many texts were known that no event had

    def __post_init__(self) -> None:
        known = SCHEMA.empty_table()
        if self.is_script:
            self.plan = sase.Script(self.text, known, lateness=LATENESS)
        else:
            self.plan = sase.compile(self.text, known, lateness=LATENESS, **self.options)
        self.matcher = self.plan.open()

    @property
    def is_script(self) -> bool:
        return ";" in self.text

    def push(self, rows: pa.Table) -> None:
        """Push rows, and take the matches and the late rows."""
        self.found.add(self.matcher.push(None, rows) if self.is_script else self.matcher.push(rows))
        late = self.matcher.take_late()
        self.late += len(late[None] if self.is_script else late)

    def save(self) -> None:
        """Go on with a matcher that is restored of a snapshot, which has texts of live events."""
        known = self._known_texts()
        saved = self.matcher.snapshot()
        live = self._known_texts()
        if known > MOST_TEXTS + 2 * live:
            self.kept = f"{known:,} texts, of which {live:,} are of live events"
        self.snapshots.append(len(saved))
        self.matcher = self.plan.restore(saved)

    def _known_texts(self) -> int:
        matchers = [self.matcher]
        if self.is_script:
            matchers = [each.matcher for each in self.matcher._pipeline.statements.values()]
        return sum(len(each.pipeline.dictionary.texts) for each in matchers)

    def faults(self, name: str, path: Path, late: int) -> Iterator[str]:
        """End it: the mistakes, other than those of a batch over the file of its rows."""
        self.found.add(self.matcher.finish())
        whole = Digest()
        if self.is_script:
            whole.add(sase.Script(self.text).run(str(path)))
        else:
            whole.add(sase.match(self.text, str(path), **self.options))
        if whole.told() != self.found.told():
            yield f"{name}: {self.found.count:,} matches, as a batch {whole.count:,}"
        if self.late != late:
            yield f"{name}: {self.late:,} late rows of {late:,}"
        if self.kept:
            yield f"{name}: it knew {self.kept}"
        if grown := growth(self.snapshots):
            yield f"{name}: its snapshots grew {grown}"


def growth(sizes: list[int]) -> str:
    """By how much all the last sizes exceed early ones; nothing if that is little.

    A snapshot has the keys that are known, which are more at times until some are forgotten. The
    first tenth is not checked: codes of keys are dense until they are many, and the process keeps
    the memory that it takes at first. A few sizes of which one falls say nothing, since the number
    of waiting rows varies.
    """
    share = len(sizes) // 10 + 1
    early, late = sizes[share : 2 * share], sizes[-share:]
    if not early:
        return ""
    if len(sizes) < FEW and sizes[share:] != sorted(sizes[share:]):
        return ""
    first, last = max(early), min(late)
    return f"from {first:,} to {last:,.0f} bytes" if last > first * (1 + GROWTH) else ""


@dataclass
class Soak:
    """Streams of some seed, and the file of their rows."""

    seed: int
    say: Callable[[str], object] = print
    each: int = EACH
    spread: int = 1
    pushes: int = 0
    memory: list[int] = field(default_factory=list)
    streams: dict[str, Stream] = field(init=False)

    def __post_init__(self) -> None:
        texts = {name: text.replace("{0}", RETURN) + RETURN for name, text in QUERIES.items()}
        self.streams = {n: Stream(each, OPTIONS.get(n, {})) for n, each in texts.items()}

    def run(self, *, seconds: float = inf, pushes: float = inf) -> list[str]:
        """The mistakes after a time, or a number of pushes; nothing if all is well."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "events.arrow"
            events = Events(self.seed, self.spread)
            with pa.ipc.new_file(path, SCHEMA) as writer:
                rows = self._push(events, writer, seconds, pushes)
            faults = [
                fault
                for name, stream in self.streams.items()
                for fault in stream.faults(name, path, events.late)
            ]
        if grown := growth(self.memory):
            faults.append(f"memory grew {grown}")
        for name, stream in self.streams.items():
            sizes = stream.snapshots
            self.say(
                f"{name}: {stream.found.count:,} matches,"
                f" {len(sizes):,} snapshots of {min(sizes):,} to {max(sizes):,} bytes"
            )
        late = f"{rows:,} rows of which {events.late:,} late"
        self.say(f"{self.pushes:,} pushes, {late}, seed {self.seed}")
        return faults

    def _push(self, events: Events, writer: Any, seconds: float, pushes: float) -> int:
        """Push until it is over, and write the rows that are not late; the number of rows."""
        begin, rows, told = time.monotonic(), 0, 0.0
        kept = list[pa.Table]()
        for good, given in events.batches():
            kept.append(good)
            self.pushes, rows = self.pushes + 1, rows + given.num_rows
            for stream in self.streams.values():
                stream.push(given)
            passed = time.monotonic() - begin
            is_over = passed >= seconds or self.pushes >= pushes
            if self.pushes % self.each == 0 or is_over:
                # A file of small batches takes long to read.
                writer.write_table(pa.concat_tables(kept).combine_chunks())
                kept.clear()
                for stream in self.streams.values():
                    stream.save()
                # Here alone, since between snapshots the figure rises and falls.
                if self.pushes % EACH == 0:
                    self.memory.append(resident())
            if passed - told >= seconds / 60:
                told, held = passed, f"{resident() >> 20} MiB"
                self.say(f"{passed:,.0f} s: {self.pushes:,} pushes, {rows:,} rows, {held}")
            if is_over:
                break
        return rows


def main() -> int:
    """Soak for a while, and return the mistakes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=None)
    given = parser.parse_args()
    seed = SystemRandom().randrange(10**9) if given.seed is None else given.seed
    print(f"seed {seed}")
    faults = Soak(seed, lambda text: print(text, flush=True)).run(seconds=given.minutes * 60)
    print("\n".join(faults) or "memory is flat, and every stream found what the batch finds")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
