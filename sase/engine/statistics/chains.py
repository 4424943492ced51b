"""Count chains of events: one for each of several variables, in time order, in one group.

Chains are not materialized. In rows sorted by group and time, an event of the last variable is a
chain of one. An event of another variable begins as many chains as later rows of its group begin
with the next variable: a difference of running sums. The same sums serve to draw chains.

    group 1:  a  b  a  c  b  c      chains from c: 1, 1, from b: 2, 1, from a: 3, 1
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sase.engine.columns.arrays import Floats, Mask, Numbers


class SampleRows(NamedTuple):
    """Rows of a sample, ordered by slice, then stream position.

    `ties` are equal for simultaneous rows. A row represents `share` rows, more than one if its
    slice was thinned; a chain counts with the `weight` of its slice.
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
    """Rows sorted by group and time, with the end of each row's group and tie."""

    def __init__(self, rows: SampleRows, groups: Numbers) -> None:
        count = len(groups)
        bits = count.bit_length()
        # Sorting packed numbers is several times faster than an argsort.
        packed = np.sort((groups << bits) | np.arange(count))
        self.rows = rows.among(packed & ((1 << bits) - 1))
        sorted_groups, ties = packed >> bits, self.rows.ties
        is_other = sorted_groups[1:] != sorted_groups[:-1]
        self.ends = _behind(is_other, count)
        self.later = _behind(is_other | (ties[1:] != ties[:-1]), count)


def _behind(changes: Mask, count: int) -> Numbers:
    """Return for each place the next one at which a change occurs."""
    starts = np.flatnonzero(changes) + 1
    bounds = np.concatenate([[0], starts, [count]])
    return np.repeat(bounds[1:], bounds[1:] - bounds[:-1])


class Chains:
    """The chains within groups; `standing` marks by level the rows that can take part."""

    def __init__(self, groups: RowGroups, standing: Sequence[Mask]) -> None:
        self._groups = groups
        rows = groups.rows
        # By level, last first: the chains that begin with each row, and their running sums.
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
        """The number of chains."""
        return float(self._sums[0][-1])

    def by_slice(self, level: int, slices: int) -> Floats:
        """Count the chains that begin with a level in each slice."""
        return np.bincount(self._groups.rows.slices, self._begun[level], slices).astype(np.float64)

    def draw(self, count: int, rng: np.random.Generator, first: int = 0) -> Numbers:
        """Draw chains from a level on with repetition; at least one must exist.

        The result has a row for each level, a column for each chain.
        """
        low, high = np.zeros(count), np.full(count, self._sums[first][-1])
        found = []
        for level, sums in enumerate(self._sums[first:], first):
            # Below the upper bound even after rounding, so that a chain begins at the place.
            aims = np.minimum(low + rng.random(count) * (high - low), np.nextafter(high, low))
            places = np.searchsorted(sums, aims, "right") - 1
            found.append(self._groups.rows.numbers[places])
            if level + 1 < len(self._sums):
                below = self._sums[level + 1]
                low, high = below[self._groups.later[places]], below[self._groups.ends[places]]
        return np.stack(found)
