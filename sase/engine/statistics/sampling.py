"""Draw a sample of events: rows from the whole input, and slices twice as long as the window.

What is true of events in general is measured on the scattered ones. But keys and values are local
in time: what is true of events that can be in one match is measured within the slices. Both are
drawn at random, at a cost that depends on the sample's size only.
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
# How many windows long a slice is: what begins in the first of them ends in the slice.
TIMES = 2
# How many slices tell what is local, how many are drawn at most, and on how many a window is tried.
FEW, MANY, TRIED = 16, 8192, 64
# SampledSlices that hold more than this part of all events are not worth a look apart.
WIDE = 0.25


@dataclass(frozen=True, eq=False)
class SampledSlices:
    """Time slices that begin at random events: the rows drawn of each, and how many it has.

    Row by row `positions` are in the input and `numbers` say in which slice.
    """

    positions: Numbers
    numbers: Numbers
    sizes: Numbers


@dataclass(frozen=True, eq=False)
class Sample:
    """Sampled events, of which the first `scattered` are from anywhere, the others from slices.

    `positions` are those in the input, `ties` the ranks of their order keys, and `slices` the slice
    of each, 0 of the scattered ones; `sizes` say by slice how many rows it has.
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
        """How much of the input the scattered rows are."""
        return self.scattered / int(self.sizes[0])

    @property
    def shares(self) -> NDArray[np.float64]:
        """By slice how many of its rows one stands for that was drawn, where most are 1."""
        taken = np.bincount(self.slices, minlength=len(self.sizes))
        return _normalized(self.sizes / np.maximum(taken, 1))

    @property
    def weights(self) -> NDArray[np.float64]:
        """By slice what it counts: they begin at events, so more where these are close together."""
        return _normalized(1.0 / self.sizes)


def _normalized(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale values to a mean of 1; the first, of the scattered rows, is 1 in any case."""
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
    """Draw a sample of about so many rows; all rows and slices of them where there are no more.

    `texts` are the columns of which the text itself is read, if it is text.
    """
    count, is_all = len(events), len(events) <= size
    slices = _slices(events, window, min(size, count) // 2, rng)
    if is_all:
        scattered = np.arange(count)
    else:
        left = size - len(slices.positions)
        # Drawn with repetition, which is then dropped: what is left is as random.
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
    """Draw slices from random events on; of those that hold too many rows some of these."""
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
    # In the order of the slices and of the stream, and none twice in a slice.
    packed = deduplicated(numbers * count + within + starts[numbers])
    return SampledSlices(packed % count, packed // count, sizes)


_NO_SLICES = SampledSlices(*(np.zeros(0, np.int64) for _ in range(3)))


def _ends(events: Events, window: BoundWindow, starts: Numbers) -> Numbers:
    """Return where the slices end that begin at some events."""
    span = min(TIMES * span_of(window), LATEST)
    if window.kind is WindowKind.EVENTS:
        reach = min(span, len(events) - 1)
        return np.minimum(starts + 1, len(events) - reach) + reach
    latest = np.minimum(events.ts[starts], LATEST - span) + span
    return np.searchsorted(events.ts, latest, "right")


def _taken(events: Events, positions: Numbers, texts: Collection[str]) -> Events:
    """Gather some events, and of the strings that are read only those that occur."""
    found = events.at(positions)
    columns = {name: compacted(found.columns[name]) for name in texts if name in found.columns}
    by_type = {key: compacted(found.by_type[key]) for key in found.by_type if key[1] in texts}
    return replace(
        found, columns={**found.columns, **columns}, by_type={**found.by_type, **by_type}
    )


def compacted(column: EventColumn) -> EventColumn:
    """Drop the dictionary entries that no row has, where the dictionary is the longer one."""
    if column.dictionary is None or len(column.dictionary) <= len(column.values):
        return column
    used, codes = np.unique(column.values, return_inverse=True)
    nulls = int(len(used) > 0 and used[0] < 0)
    values = (codes - nulls).astype(np.int32)
    return replace(column, values=values, dictionary=column.dictionary.take(used[nulls:]))
