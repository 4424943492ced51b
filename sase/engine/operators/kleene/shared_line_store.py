"""(NFAb) Keep lines that share their events in stacks, for loaded events."""

from __future__ import annotations

import numpy as np

from sase.engine.blocks.block import Block
from sase.engine.columns.arrays import grown, with_rooms, zeros
from sase.engine.kernels.jit.arrow_memory import BLOCK
from sase.engine.kernels.kleene import shared_lines as shared
from sase.engine.kernels.kleene.line_scan import BY_TIME, PIECE, READ, LineStream
from sase.engine.kernels.kleene.line_store import NO_EXTENT, NO_LINE
from sase.engine.kernels.kleene.run_nodes import PAUSED
from sase.engine.kernels.kleene.shared_lines import MASK, LineStacks
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.contract import Counters
from sase.engine.operators.kleene.line_store import LineStore

# The initial room for the instances of a level, and for the events of a series.
ROOM, SERIES = 4 * PIECE, 1 << 10


class SharedLineStore(LineStore):
    """Lines of fused events as stacks by level and key."""

    _stacks: LineStacks

    def begin(self, events: Block, keys: int, *, is_ranked: bool) -> bool:
        """Fuse over events with dense keys; all lines at a level take the same events."""
        assert self._gate == NOTHING and not self._program.code.moments
        stacked, self._compared = self._levels - 1, []
        ends = np.zeros((3, stacked), np.int64)
        ends[MASK] = ROOM - 1
        self._stacks = LineStacks(
            np.zeros((stacked, ROOM, shared.FIELDS), np.int64),
            zeros((keys * stacked,)),
            ends,
            np.empty(SERIES + BLOCK, np.int64),
            np.zeros(2, np.int64),
        )
        self._piece = np.empty(READ + shared.MOST_CHOICES, np.int64)
        return True

    def rewind(self) -> None:
        """Continue with the first of several events."""
        self._stacks.at[0] = 0

    def push_stream(self, stream: LineStream, end: int) -> int:
        """Apply events up to one until the kernel stops; return its reason."""
        written = self._room.written
        why = shared.fused_shared_lines(
            self._rules, stream, self._stacks, written, self._piece, end
        )
        if why == NO_LINE:
            self._make_room_for_lines()
        elif why == NO_EXTENT:
            self._stacks = self._stacks._replace(series=self._doubled(self._stacks.series))
        return PAUSED if why in (NO_LINE, NO_EXTENT) else int(why)

    @property
    def window(self) -> tuple[int, bool]:
        """The span of the window, and whether it measures time."""
        return self._rules.span, self._rules.measure == BY_TIME

    def count_begun(self, lines: int) -> None:
        """Count lines that events begin in other stacks."""
        self._stacks.at[1] += lines

    # ------------------------------------------------------------ room

    def make_room_for_keys(self, keys: int) -> None:
        """Make room for the stacks of a number of keys."""
        heads, needed = self._stacks.heads, keys * len(self._stacks.cells)
        if needed > len(heads):
            self._code.check_memory(8 * needed)
            self._stacks = self._stacks._replace(heads=grown(heads, needed))

    def _make_room_for_lines(self) -> None:
        """Double the room for instances of each level that has too little."""
        stacks = self._stacks
        counts, tails, masks = stacks.ends.tolist()
        before = [mask + 1 for mask in masks]
        alive = map(int.__sub__, counts, tails)
        rooms = [
            2 * room if each + PIECE > room else room
            for each, room in zip(alive, before, strict=True)
        ]
        # Reserved memory is not in use yet. If too little is reserved, all rows are copied.
        kept = sum(before) if max(rooms) <= stacks.cells.shape[1] else 0
        self._code.check_memory(stacks.cells.itemsize * shared.FIELDS * (sum(rooms) - kept))
        cells = with_rooms(stacks.cells, before, rooms, tails, counts)
        stacks.ends[MASK] = [room - 1 for room in rooms]
        self._stacks = stacks._replace(cells=cells)

    # ------------------------------------------------------------ time and counts

    def expire(self, bound: int) -> int:
        """Return the first event of any instance, or `NOTHING`; kernels expire lines."""
        ends, cells = self._stacks.ends, self._stacks.cells
        alive = [
            int(level[tail & mask, shared.EVENT])
            for level, count, tail, mask in zip(cells, *ends, strict=True)
            if tail < count
        ]
        return min(alive, default=NOTHING)

    def counted(self) -> Counters:
        """Count the lines that events began; no other count is known."""
        return {"initiated": int(self._stacks.at[1])}

    @property
    def bytes_held(self) -> int:
        """The bytes of the stacks."""
        return sum(each.nbytes for each in self._stacks)
