"""The cost of late rows that wait: the reorder buffer beside two that sortedcontainers orders.

python -m experiments.late_rows [PAIRS]

Pushes rows of which each is late by up to the lateness, in batches, through the buffer and through
one with every waiting row in a sorted list, or with every waiting batch in one by the time of its
first row. All must release the same rows. Prints medians of the time of the processor, which take
turns, and the median ratios of pairs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from sortedcontainers import SortedKeyList, SortedList

from experiments import machine
from experiments.compare import bootstrapped
from sase.binding import Schema
from sase.engine.columns import Events, Inputs, Loader, opened
from sase.engine.columns.arrays import Numbers
from sase.engine.columns.arrow.slice import joined, taken
from sase.engine.pipeline.reorder_buffer import Arrived, ReorderBuffer

# Rows, and how many there are.
Batch: TypeAlias = tuple[Inputs, int]

SCHEMA, COLUMNS = Schema(time="ts"), ("ts", "id")
# Rows a batch, and how many units of time a row may be late, of which each has one row.
BATCHES, LATENESS = (1, 100, 10_000), (100, 10_000)
# Batches that are pushed, and rows at the least and at the most.
PUSHES, LEAST, MOST, PAIRS = 1_000, 5_000, 500_000, 7


class _Compared(ReorderBuffer):
    """Has rows wait in another way."""

    def _together(self, parts: Iterable[tuple[Inputs, Numbers]]) -> Arrived:
        """Rows of several batches as they are released."""
        tables, rows = zip(*parts, strict=True)
        inputs = joined(tables)
        return Arrived(inputs, self._load(inputs), rows=np.concatenate(rows))


class SortedRows(_Compared):
    """Has every row that waits in a sorted list: its time, number, batch and place there."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._rows: SortedList = SortedList()
        self._batches: dict[int, tuple[Inputs, Numbers]] = {}
        self._left: dict[int, int] = {}

    def _wait(self, inputs: Inputs, events: Events, rows: Numbers) -> None:
        batch, order = self.arrived, events.order
        places = np.arange(len(rows)) if order is None else order
        self._batches[batch], self._left[batch] = (inputs, rows), len(rows)
        columns = events.ts.tolist(), rows[places].tolist(), places.tolist()
        self._rows.update((*each, batch) for each in zip(*columns, strict=True))

    def _released(self, *, everything: bool = False) -> Iterator[Arrived]:
        """Release the rows up to the floor."""
        rows = self._rows
        end = len(rows) if everything else rows.bisect_left((self.floor + 1,))
        if not end:
            return
        by_batch: dict[int, list[int]] = {}
        for _, _, place, batch in rows[:end]:
            by_batch.setdefault(batch, []).append(place)
        del rows[:end]
        parts: list[tuple[Inputs, Numbers]] = []
        for batch, released in sorted(by_batch.items()):
            inputs, numbers = self._batches[batch]
            places = np.sort(np.array(released))
            parts.append((taken(inputs, places), numbers[places]))
            self._left[batch] -= len(released)
            if not self._left[batch]:
                del self._batches[batch], self._left[batch]
        yield self._together(parts)


class SortedBatches(_Compared):
    """Has every batch with rows that wait in a list sorted by the time of the first of them."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._ordered: SortedKeyList = SortedKeyList(key=lambda each: each[:2])

    def _wait(self, inputs: Inputs, events: Events, rows: Numbers) -> None:
        order = np.arange(len(rows)) if events.order is None else events.order
        self._ordered.add((int(events.ts[0]), self.arrived, events.ts, order, inputs, rows))

    def _released(self, *, everything: bool = False) -> Iterator[Arrived]:
        """Release the rows up to the floor, of the batches that have some."""
        found: list[tuple[int, Inputs, Numbers]] = []
        while self._ordered and (everything or self._ordered[0][0] <= self.floor):
            _, batch, times, order, inputs, rows = self._ordered.pop(0)
            end = len(times)
            if not everything:
                end = int(np.searchsorted(times, self.floor, side="right"))
            places = np.sort(order[:end])
            found.append((batch, taken(inputs, places), rows[places]))
            if end < len(times):
                self._ordered.add((int(times[end]), batch, times[end:], order[end:], inputs, rows))
        if found:
            found.sort(key=lambda each: each[0])
            yield self._together(each[1:] for each in found)


KINDS = {"as it is": ReorderBuffer, "sorted rows": SortedRows, "sorted batches": SortedBatches}


def main(pairs: int) -> None:
    """Print a line for each size and lateness."""
    print(machine.described(), flush=True)
    for size in BATCHES:
        for lateness in LATENESS:
            told = "; ".join(compared(list(stream(size, lateness)), lateness, pairs))
            print(f"{size:6,} rows a batch, late by up to {lateness:6,}: {told}", flush=True)


def compared(batches: list[Batch], lateness: int, pairs: int) -> Iterator[str]:
    """The time of a row by each way, and their ratio."""
    seconds: dict[str, list[float]] = {name: [] for name in KINDS}
    expected = released(ReorderBuffer, lateness, batches)[1]
    for turn in range(pairs):
        for name in list(KINDS)[:: 1 if turn % 2 else -1]:
            taken_, found = released(KINDS[name], lateness, batches)
            assert all(map(np.array_equal, found, expected)), f"{name} releases others"
            seconds[name].append(taken_)
    rows, usual = sum(count for _, count in batches), seconds["as it is"]
    for name, own in seconds.items():
        told = f"{name} {np.median(own) / rows * 1e6:.2f} µs a row"
        ratio = bootstrapped([one / other for one, other in zip(own, usual, strict=True)])
        yield f"{told}, {ratio.median:.2f} times ({ratio.low:.2f}–{ratio.high:.2f})"


def stream(size: int, lateness: int) -> Iterator[Batch]:
    """Batches of rows, one for each unit of time, each of which comes late by up to a lateness."""
    count = max(min(size * PUSHES, MOST), LEAST)
    rng = np.random.default_rng(lateness)
    times = np.arange(count, dtype=np.int64)
    times = times[np.argsort(times + rng.integers(0, lateness, count), kind="stable")]
    for begin in range(0, count, size):
        part = times[begin : begin + size]
        table = pa.table({"ts": part, "id": part % 7, "type": ["A"] * len(part)})
        yield opened(table), len(part)


def released(
    kind: type[ReorderBuffer], lateness: int, batches: list[Batch]
) -> tuple[float, tuple[Numbers, Numbers]]:
    """The seconds in which a buffer took and released the batches, and the rows and their times."""
    loader = Loader(SCHEMA, COLUMNS)
    events = [loader.load(inputs) for inputs, _ in batches]
    start, found = time.process_time(), []
    buffer = kind(lateness, SCHEMA, loader.load)
    for (inputs, count), loaded in zip(batches, events, strict=True):
        found += buffer.push(inputs, loaded, count)
    found += buffer.finish()
    taken_ = time.process_time() - start
    every = [(each.events.ts, _numbers(each)) for each in found if len(each.events)]
    times, rows = zip(*every, strict=True)
    return taken_, (np.concatenate(times), np.concatenate(rows))


def _numbers(each: Arrived) -> Numbers:
    """The numbers of released rows in the order of the stream."""
    order = each.events.order
    assert each.rows is not None
    return each.rows if order is None else each.rows[order]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS)
