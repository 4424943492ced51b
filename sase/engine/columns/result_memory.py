"""The memory of results: few large pieces, from which arrays are cut."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.engine.columns.arrays import HUGE, Numbers
from sase.engine.columns.kept_memory import reused

# The numbers that are allocated as others are, of the first piece, and of the largest.
FEW, LEAST, MOST = 1 << 23, HUGE // 8, HUGE


class ResultMemory:
    """Cuts arrays from pieces, each up to some size twice as large as the one before.

    Results are written once and kept, and so all of their pages are fresh but in pieces that others
    have used before. What is cut keeps its piece alive. Before there are `FEW` they come from the
    allocator, which has so much memory at hand that is still in the cache.
    """

    def __init__(self) -> None:
        self._left: Numbers = np.empty(0, np.int64)
        self._size = LEAST // 2
        self._given = 0

    def empty(self, *shape: int) -> Numbers:
        """An array to write to; of what is larger than a piece each has its own."""
        count = prod(shape)
        self._given += count
        if self._given <= FEW:
            return np.empty(shape, np.int64)
        if count > LEAST:
            return reused(shape)
        if count > len(self._left):
            self._size = min(2 * self._size, MOST)
            self._left = reused((self._size,))
        found, self._left = self._left[:count], self._left[count:]
        return found.reshape(shape)

    def copy(self, array: NDArray[Any]) -> Numbers:
        """A copy of numbers."""
        found = self.empty(*array.shape)
        found[...] = array
        return found

    def detach(self, room: Numbers, count: int) -> tuple[Numbers, Numbers]:
        """Split off the first numbers of each row of a buffer; return a buffer to go on with, too.

        Nothing writes to what is split off any more.
        """
        found = room[..., :count]
        if 2 * count < room.shape[-1]:
            return found.copy(), room
        return found, self.empty(*room.shape)  # where a copy takes longer
