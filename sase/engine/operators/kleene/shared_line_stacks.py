"""The stacks of lines that share what they take, and how they grow."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sase.engine.columns.arrays import Numbers, copy_stretch, grown, zeros
from sase.engine.kernels.jit.arrow_memory import BLOCK
from sase.engine.kernels.kleene import shared_lines as shared
from sase.engine.kernels.kleene.line_scan import PIECE, READ, LineStream
from sase.engine.kernels.kleene.line_store import NO_LINE, LineMatches, LineRules
from sase.engine.kernels.kleene.shared_lines import COUNT, MASK, TAIL, LineStacks

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
        ends, cells = stacks.ends, stacks.cells
        for level in range(len(cells)):
            if ends[COUNT, level] - ends[TAIL, level] + PIECE > ends[MASK, level] + 1:
                cells = self._widened(cells, level)
        self._stacks = stacks._replace(cells=cells)

    def _widened(self, cells: Numbers, level: int) -> Numbers:
        """Make the ring of a level twice as large: in place where another level has as much."""
        ends, size = self._stacks.ends, int(self._stacks.ends[MASK, level]) + 1
        old, tail, count = cells[level, :size], int(ends[TAIL, level]), int(ends[COUNT, level])
        if 2 * size > cells.shape[1]:
            self._check(2 * old.nbytes)
            larger = zeros((len(cells), 2 * size, shared.FIELDS))
            for other in range(len(cells)):
                used = int(ends[MASK, other]) + 1 if other != level else 0
                larger[other, :used] = cells[other, :used]
            cells = larger
        else:
            old = old.copy()
        copy_stretch(old, cells[level, : 2 * size], tail, count)
        ends[MASK, level] = 2 * size - 1
        return cells

    def _grown(self, array: Numbers) -> Numbers:
        self._check(2 * array.nbytes)
        return np.empty(2 * len(array), np.int64)

    @property
    def initiated(self) -> int:
        """The lines that events began."""
        return int(self._stacks.at[1])
