"""Intervals: how the bounds of ranges that queries ask of a column cut its values."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sase.binding.folding import INT64_MIN
from sase.binding.types import Kind
from sase.cached_property import cached_property
from sase.engine.columns.arrays import Numbers
from sase.engine.columns.events import EventColumn
from sase.engine.scripts.asking import ValueRange

# Integers within such a range have their intervals in an array, those farther apart are searched
# for. Where ranges of a column have more intervals together, they are asked for by type alone.
NEAR, MOST = 1 << 12, 1 << 15


@dataclass(frozen=True)
class Intervals:
    """The intervals of a column: each begins at a cut, the first before all of them.

    cuts  10, 20        value  3  10  15  20  99
                     interval  0   1   1   2   2
    """

    attribute: str
    kind: Kind
    cuts: tuple[int | float, ...]

    @classmethod
    def of_all(cls, ranges: Iterable[tuple[str, ValueRange]]) -> tuple[Intervals, ...]:
        """The intervals of each attribute, by the ranges that are asked of it."""
        by_key = defaultdict[tuple[str, Kind], list[ValueRange]](list)
        for attribute, asked in ranges:
            by_key[attribute, asked.kind].append(asked)
        found = list[Intervals]()
        for key in sorted(by_key, key=str):
            bounds = {bound for each in by_key[key] for bound in (each.low, each.high)}
            own = cls(*key, tuple(sorted(bound for bound in bounds if bound is not None)))
            if sum(len(own.of_range(each)) for each in by_key[key]) <= MOST:
                found.append(own)
        return tuple(found)

    @property
    def key(self) -> tuple[str, Kind]:
        """The attribute, and the kind of its values."""
        return self.attribute, self.kind

    def of_range(self, asked: ValueRange) -> range:
        """The numbers of the intervals that make up a range."""
        first = 0 if asked.low is None else bisect_right(self.cuts, asked.low)
        end = len(self.cuts) if asked.high is None else bisect_right(self.cuts, asked.high) - 1
        return range(first, end + 1)

    def read(self, column: EventColumn, out: Numbers) -> None:
        """Write the number of the interval of each value; NULL is in none."""
        values = column.values
        if self._near is None:
            out[:] = np.searchsorted(self._cuts, values, "right")
        else:
            first, last = int(self._cuts[0]) - 1, int(self._cuts[-1])
            np.take(self._near, np.clip(values.astype(np.int64), first, last) - first, out=out)
        if column.valid is not None:
            out[~column.valid] = INT64_MIN
        if self.kind is Kind.FLOAT:
            out[np.isnan(values)] = INT64_MIN

    @cached_property
    def _cuts(self) -> NDArray[np.int64] | NDArray[np.float64]:
        if self.kind is Kind.INTEGER:
            return np.array(self.cuts, np.int64)
        return np.array(self.cuts, np.float64)

    @cached_property
    def _near(self) -> Numbers | None:
        """The interval of each value from the one before the first cut up to the last."""
        if self.kind is Kind.FLOAT or self.cuts[-1] - self.cuts[0] > NEAR:
            return None
        values = np.arange(int(self.cuts[0]) - 1, int(self.cuts[-1]) + 1)
        return np.searchsorted(self._cuts, values, "right")
