"""Draw a sample of events: rows from the whole input, and slices twice as long as the window.

General properties are measured on the scattered rows. But keys and values are local in time, so
properties of events in one match are measured within slices. Both are drawn at random, at a cost
that depends only on the sample's size.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import BoundWindow, WindowKind
from sase.engine.columns import EventColumn, Events
from sase.engine.columns.arrays import Numbers, deduplicated
from sase.engine.operators.contract import span_of

LATEST = 2**63 - 1
# Windows in a slice: a match that begins in the first window ends in the slice.
TIMES = 2
# The fewest slices needed, the most drawn, and those drawn to estimate the rows of a slice.
FEW, MANY, TRIED = 16, 8192, 64
# Slices with a greater part of all events are not worth measuring separately.
WIDE = 0.25


@dataclass(frozen=True, eq=False)
class SampledSlices:
    """Time slices that begin at random events: the rows drawn from each, and its size.

    `positions` are in the input; `numbers` are the slice of each row.
    """

    positions: Numbers
    numbers: Numbers
    sizes: Numbers


@dataclass(frozen=True, eq=False)
class Sample:
    """Sampled events; the first `scattered` are from anywhere, the others from slices.

    `positions` are in the input, `ties` the ranks of order keys, `slices` the slice of each row (0
    for scattered ones); `sizes` are the rows of each slice.
    """

    events: Events
    scattered: int
    positions: Numbers
    ties: Numbers
    slices: Numbers
    sizes: Numbers
    is_all: bool

    @property
    def part(self) -> float:
        """The part of the input that the scattered rows are."""
        return self.scattered / int(self.sizes[0])

    @property
    def shares(self) -> NDArray[np.float64]:
        """For each slice, the number of rows that one drawn row represents."""
        taken = np.bincount(self.slices, minlength=len(self.sizes))
        return _normalized(self.sizes / np.maximum(taken, 1))

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weight of each slice: slices begin at events, so dense times have more of them."""
        return _normalized(1.0 / self.sizes)


def _normalized(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale values to a mean of 1, except the first, which becomes 1."""
    if len(values) > 1:
        values[1:] /= values[1:].mean()
    values[0] = 1.0
    return values


def draw_sample(
    events: Events,
    window: BoundWindow | None,
    size: int,
    rng: np.random.Generator,
    texts: Collection[str],
) -> Sample:
    """Draw a sample of about `size` rows, or take all rows, with slices, if there are no more.

    `texts` are the columns with texts that are read.
    """
    count, is_all = len(events), len(events) <= size
    slices = _slices(events, window, min(size, count) // 2, rng)
    if is_all:
        scattered = np.arange(count)
    else:
        left = size - len(slices.positions)
        # Duplicates are dropped, which keeps the sample random.
        scattered = deduplicated(rng.integers(0, count, left))
    positions = np.concatenate([scattered, slices.positions])
    ties = positions if events.tie is None else events.tie[positions]
    numbers = np.concatenate([np.zeros(len(scattered), np.int64), slices.numbers + 1])
    sizes = np.append([count], slices.sizes)
    taken = _taken(events, positions, texts)
    return Sample(taken, len(scattered), positions, ties, numbers, sizes, is_all)


def _slices(
    events: Events, window: BoundWindow | None, budget: int, rng: np.random.Generator
) -> SampledSlices:
    """Draw slices that begin at random events; thin those with too many rows."""
    count = len(events)
    if window is None or window.kind is WindowKind.PARTITION_EVENTS or budget < 2 * FEW:
        return _NO_SLICES
    trial = np.sort(rng.integers(0, count, TRIED))
    usual = float((_ends(events, window, trial) - trial).mean())
    if usual > WIDE * count:
        return _NO_SLICES
    number = int(np.clip(budget // (2 * usual), FEW, MANY))
    starts = np.sort(rng.integers(0, count, number))
    sizes = _ends(events, window, starts) - starts
    most = budget // number
    taken = np.minimum(sizes, most)
    numbers = np.repeat(np.arange(number), taken)
    within = np.arange(len(numbers)) - np.repeat(np.cumsum(taken) - taken, taken)
    thinned = (sizes > most)[numbers]
    within[thinned] = rng.random(int(thinned.sum())) * sizes[numbers[thinned]]
    # Ordered by slice and stream position, without duplicates in a slice.
    packed = deduplicated(numbers * count + within + starts[numbers])
    return SampledSlices(packed % count, packed // count, sizes)


_NO_SLICES = SampledSlices(*(np.zeros(0, np.int64) for _ in range(3)))


def _ends(events: Events, window: BoundWindow, starts: Numbers) -> Numbers:
    """Return the ends of the slices that begin at some events."""
    span = min(TIMES * span_of(window), LATEST)
    if window.kind is WindowKind.EVENTS:
        reach = min(span, len(events) - 1)
        return np.minimum(starts + 1, len(events) - reach) + reach
    latest = np.minimum(events.ts[starts], LATEST - span) + span
    return np.searchsorted(events.ts, latest, "right")


def _taken(events: Events, positions: Numbers, texts: Collection[str]) -> Events:
    """Select events; drop unused texts from dictionaries."""
    found = events.at(positions)
    columns = {name: compacted(found.columns[name]) for name in texts if name in found.columns}
    by_type = {key: compacted(found.by_type[key]) for key in found.by_type if key[1] in texts}
    return replace(
        found, columns={**found.columns, **columns}, by_type={**found.by_type, **by_type}
    )


def compacted(column: EventColumn) -> EventColumn:
    """Drop unused dictionary entries, if the dictionary is longer than the column."""
    if column.dictionary is None or len(column.dictionary) <= len(column.values):
        return column
    used, codes = np.unique(column.values, return_inverse=True)
    nulls = int(len(used) > 0 and used[0] < 0)
    values = (codes - nulls).astype(np.int32)
    return replace(column, values=values, dictionary=column.dictionary.take(used[nulls:]))
