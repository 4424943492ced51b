"""Count chains of events: one of each of several variables, in time order, all of one group.

They are not materialised. In rows sorted by group and time an event of the last variable
is a chain of one, and before an event of any other one stand as many as begin with the next
variable later in its group: differences of running sums. By the same sums chains are drawn.

    group 1:  a  b  a  c  b  c      chains from c: 1, 1, from b: 2, 1, from a: 3, 1
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sase.engine.columns.arrays import Floats, Mask, Numbers


class SampleRows(NamedTuple):
    """Rows of a sample, in the order of slices and in these of the stream.

    `ties` are equal of simultaneous rows. A row stands for as many as its `share` says, more where
    its slice was thinned, and a chain counts by the `weight` of its slice.
    """

    numbers: Numbers
    slices: Numbers
    ties: Numbers
    shares: Floats
    weights: Floats

    def among(self, chosen: Mask | Numbers) -> SampleRows:
        """Select some of them."""
        return SampleRows._make(column[chosen] for column in self)


class RowGroups:
    """Rows sorted by group and time, and for each where its group ends, and where its ties do."""

    def __init__(self, rows: SampleRows, groups: Numbers) -> None:
        count = len(groups)
        bits = count.bit_length()
        # Sorting numbers is several times faster than sorting rows by them.
        packed = np.sort((groups << bits) | np.arange(count))
        self.rows = rows.among(packed & ((1 << bits) - 1))
        sorted_groups, ties = packed >> bits, self.rows.ties
        is_other = sorted_groups[1:] != sorted_groups[:-1]
        self.ends = _behind(is_other, count)
        self.later = _behind(is_other | (ties[1:] != ties[:-1]), count)


def _behind(changes: Mask, count: int) -> Numbers:
    """Return for each place the next one at which there is a change from the one before."""
    starts = np.flatnonzero(changes) + 1
    bounds = np.concatenate([[0], starts, [count]])
    return np.repeat(bounds[1:], bounds[1:] - bounds[:-1])


class Chains:
    """The chains within groups, of rows of which `standing` tells level by level who may stand."""

    def __init__(self, groups: RowGroups, standing: Sequence[Mask]) -> None:
        self._groups = groups
        rows = groups.rows
        # By level the chains that begin with each row, from the last on, and their running sums.
        self._begun: list[Floats] = []
        self._sums: list[Floats] = []
        following = rows.weights
        for stands in reversed(standing):
            begun = following * rows.shares * stands[rows.numbers]
            sums = np.zeros(len(begun) + 1)
            np.cumsum(begun, out=sums[1:])
            self._begun.insert(0, begun)
            self._sums.insert(0, sums)
            following = sums[groups.ends] - sums[groups.later]

    @property
    def total(self) -> float:
        """How many chains there are."""
        return float(self._sums[0][-1])

    def by_slice(self, level: int, slices: int) -> Floats:
        """Count those that begin with a level in each of so many slices."""
        return np.bincount(self._groups.rows.slices, self._begun[level], slices).astype(np.float64)

    def draw(self, count: int, rng: np.random.Generator, first: int = 0) -> Numbers:
        """Draw chains from a level on, of which there is one, with repetition.

        There is a row of numbers for each level, and a column for each chain.
        """
        low, high = np.zeros(count), np.full(count, self._sums[first][-1])
        found = []
        for level, sums in enumerate(self._sums[first:], first):
            # Below the upper bound also after rounding, so that something begins at the place.
            aims = np.minimum(low + rng.random(count) * (high - low), np.nextafter(high, low))
            places = np.searchsorted(sums, aims, "right") - 1
            found.append(self._groups.rows.numbers[places])
            if level + 1 < len(self._sums):
                below = self._sums[level + 1]
                low, high = below[self._groups.later[places]], below[self._groups.ends[places]]
        return np.stack(found)
