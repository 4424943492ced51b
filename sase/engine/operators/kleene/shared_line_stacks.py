"""The stacks of lines that share what they take, and how they grow."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sase.engine.columns.arrays import Numbers, grown, with_rooms, zeros
from sase.engine.kernels.jit.arrow_memory import BLOCK
from sase.engine.kernels.kleene import shared_lines as shared
from sase.engine.kernels.kleene.line_scan import PIECE, READ, LineStream
from sase.engine.kernels.kleene.line_store import NO_LINE, LineMatches, LineRules
from sase.engine.kernels.kleene.shared_lines import MASK, LineStacks

# The instances of a level, and the events of a series, for which there is room at first.
ROOM, SERIES = 4 * PIECE, 1 << 10


class SharedLineStacks:
    """Stacks by level and key; what they need in memory is asked of `check` before."""

    def __init__(self, levels: int, keys: int, check: Callable[[int], None]) -> None:
        stacked, self._check = levels - 1, check
        ends = np.zeros((3, stacked), np.int64)
        ends[MASK] = ROOM - 1
        self._stacks = LineStacks(
            np.zeros((stacked, ROOM, shared.FIELDS), np.int64),
            zeros((keys * stacked,)),
            ends,
            np.empty(SERIES + BLOCK, np.int64),
            np.zeros(2, np.int64),
        )
        self._room = np.empty(READ + shared.MOST_CHOICES, np.int64)

    def begin(self) -> None:
        """Go on with the first event of a stream."""
        self._stacks.at[0] = 0

    def push(self, rules: LineRules, stream: LineStream, output: LineMatches, end: int) -> int:
        """Apply events up to one; return what there is no room for, or that all are done."""
        return int(shared.fused_shared_lines(rules, stream, self._stacks, output, self._room, end))

    def make_room_for_keys(self, keys: int) -> None:
        """Make room for the stacks of so many keys."""
        heads, needed = self._stacks.heads, keys * len(self._stacks.cells)
        if needed > len(heads):
            self._check(8 * needed)
            self._stacks = self._stacks._replace(heads=grown(heads, needed))

    def oldest(self) -> int | None:
        """The first event of any instance."""
        ends, cells = self._stacks.ends, self._stacks.cells
        alive = [
            int(level[tail & mask, shared.EVENT])
            for level, count, tail, mask in zip(cells, *ends, strict=True)
            if tail < count
        ]
        return min(alive, default=None)

    def make_room(self, why: int) -> None:
        """Make room for twice as much of what there was too little for."""
        stacks = self._stacks
        if why != NO_LINE:
            self._stacks = stacks._replace(series=self._grown(stacks.series))
            return
        counts, tails, masks = stacks.ends.tolist()
        before = [mask + 1 for mask in masks]
        alive = map(int.__sub__, counts, tails)
        rooms = [
            2 * room if each + PIECE > room else room
            for each, room in zip(alive, before, strict=True)
        ]
        # What is reserved takes nothing yet; where that is not enough all are copied.
        kept = sum(before) if max(rooms) <= stacks.cells.shape[1] else 0
        self._check(stacks.cells.itemsize * shared.FIELDS * (sum(rooms) - kept))
        cells = with_rooms(stacks.cells, before, rooms, tails, counts)
        stacks.ends[MASK] = [room - 1 for room in rooms]
        self._stacks = stacks._replace(cells=cells)

    def _grown(self, array: Numbers) -> Numbers:
        self._check(2 * array.nbytes)
        return np.empty(2 * len(array), np.int64)

    @property
    def initiated(self) -> int:
        """The lines that events began."""
        return int(self._stacks.at[1])
