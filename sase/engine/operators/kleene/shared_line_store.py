"""(NFAb) Keep lines that share their events in stacks, for loaded events."""

from __future__ import annotations

import numpy as np

from sase.engine.blocks.block import Block
from sase.engine.columns.arrays import grown, zeros
from sase.engine.kernels.jit.arrow_memory import BLOCK
from sase.engine.kernels.kleene import shared_lines as shared
from sase.engine.kernels.kleene.line_scan import PIECE, READ, LineStream
from sase.engine.kernels.kleene.line_store import NO_EXTENT, NO_LINE
from sase.engine.kernels.kleene.run_nodes import PAUSED
from sase.engine.kernels.kleene.shared_lines import LineStacks
from sase.engine.kernels.scan.batch_scan import ALIVE, COUNT, FIELDS, ROW
from sase.engine.kernels.sentinels import LATEST, NOTHING
from sase.engine.operators.batch_stacks import widened
from sase.engine.operators.contract import Counters
from sase.engine.operators.kleene.line_store import LineStore

# The initial room for instances, and for the events of a series.
ROOM, SERIES = 4 * PIECE, 1 << 10


class SharedLineStore(LineStore):
    """Lines of fused events as stacks by level and key."""

    _stacks: LineStacks

    def begin(self, events: Block, keys: int, *, is_ranked: bool) -> bool:
        """Fuse over events with dense keys; all lines at a level take the same events."""
        assert self._gate == NOTHING and not self._program.code.moments
        self._compared, at = [], np.zeros(shared.COUNTERS, np.int64)
        at[shared.GROUP], at[shared.TIE] = LATEST, NOTHING
        self._stacks = LineStacks(
            np.empty((ROOM, FIELDS), np.int32),
            zeros((keys * (self._levels - 1),), np.int32),
            np.empty(SERIES + BLOCK, np.int64),
            at,
        )
        # Zeros, since the kernel fetches the heads of keys behind those of a piece.
        self._piece = np.zeros(READ + shared.MOST_CHOICES, np.int64)
        return True

    def rewind(self) -> None:
        """Continue with the first of several events."""
        self._stacks.at[shared.EVENT] = 0

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

    # ------------------------------------------------------------ room

    def make_room_for_keys(self, keys: int) -> None:
        """Make room for the stacks of a number of keys."""
        heads, needed = self._stacks.heads, keys * (self._levels - 1)
        if needed > len(heads):
            self._code.check_memory(heads.itemsize * needed)
            self._stacks = self._stacks._replace(heads=grown(heads, needed))

    def _make_room_for_lines(self) -> None:
        """Make room for the instances of a piece."""
        stacks = self._stacks
        first, count = int(stacks.at[ALIVE]), int(stacks.at[COUNT])
        self._code.check_memory(stacks.cells.itemsize * FIELDS * 2 * (count - first + PIECE))
        self._stacks = stacks._replace(cells=widened(stacks.cells, first, count, PIECE))

    # ------------------------------------------------------------ time and counts

    def expire(self, bound: int) -> int:
        """Return the first event of any instance, or `NOTHING`; kernels expire lines."""
        stacks = self._stacks
        first, count = stacks.at[ALIVE], stacks.at[COUNT]
        if first == count:
            return NOTHING
        return int(stacks.at[shared.OFFSET] + stacks.cells[first & (len(stacks.cells) - 1), ROW])

    def counted(self) -> Counters:
        """Count the lines that events began; no other count is known."""
        return {"initiated": int(self._stacks.at[shared.BEGUN])}

    @property
    def bytes_held(self) -> int:
        """The bytes of the stacks."""
        return sum(each.nbytes for each in self._stacks)
