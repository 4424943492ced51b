"""The memory of results: arrays cut from few large pieces."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.engine.columns.arrays import HUGE, Numbers
from sase.engine.columns.kept_memory import reused

# Numbers allocated as usual before pieces are used; numbers of the first and the largest piece.
FIRST, LEAST, MOST = 1 << 20, HUGE // 8, HUGE


class ResultMemory:
    """Cuts arrays from pieces, each twice as large as the one before, up to a limit.

    Results are written once and kept, so their pages are fresh, except in reused pieces. An array
    keeps its piece alive. The first `FIRST` numbers come from the allocator: its memory may still
    be in the cache.
    """

    def __init__(self) -> None:
        self._left: Numbers = np.empty(0, np.int64)
        self._size = LEAST // 2
        self._given = 0

    def empty(self, *shape: int) -> Numbers:
        """Return an uninitialized array; one larger than a piece gets memory of its own."""
        count = prod(shape)
        self._given += count
        if self._given <= FIRST:
            return np.empty(shape, np.int64)
        if count > LEAST:
            return reused(shape)
        if count > len(self._left):
            self._size = min(2 * self._size, MOST)
            self._left = reused((self._size,))
        found, self._left = self._left[:count], self._left[count:]
        return found.reshape(shape)

    def copy(self, array: NDArray[Any]) -> Numbers:
        """Copy an array into this memory."""
        found = self.empty(*array.shape)
        found[...] = array
        return found

    def detach(self, room: Numbers, count: int) -> tuple[Numbers, Numbers]:
        """Split off the first `count` numbers of each row; return them, and the next buffer."""
        found = room[..., :count]
        if 2 * count < room.shape[-1]:
            return found.copy(), room
        return found, self.empty(*room.shape)  # a copy would take longer
