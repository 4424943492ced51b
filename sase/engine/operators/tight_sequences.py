"""Negative sequences without conditions between events: an index of their tight matches."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.engine.blocks.block import Block
from sase.engine.columns.arrays import Numbers, grown, grown_ring
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.scan.chains import FIELDS
from sase.engine.kernels.scan.tight_index import (
    forbid_matches_tightly,
    forbid_tightly,
    note_chains,
)
from sase.engine.kernels.sentinels import EARLIEST
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.contract import Context, Sequences
from sase.engine.operators.negative_sequences import NegativeLists
from sase.engine.snapshots.layout import SAME, Array, Blocks
from sase.engine.snapshots.saved_state import Saved
from sase.planning.plan.negatives import NegativeSequence
from sase.planning.plan.nodes import Negation


class TightSequences(NegativeLists):
    """The tight matches of a negative sequence by key, found by chains of events."""

    layout = NegativeLists.layout | dict(
        starts=Array(2, "room"),
        chains=Array("keys", SAME, SAME),
        latest=Array("keys", 2),
        blocks=Blocks("live.end"),
    )
    is_keyed, _needs_events = True, False

    def __init__(self, node: NegativeSequence, negation: Negation, context: Context) -> None:
        super().__init__(node, negation, context)
        assert not self.rest, "a tight index knows one key"
        steps, absences = node.chain
        self._bits = frozen(np.array([context.bit_of(c.index) for c in steps], np.int64))
        cuts = [(context.bit_of(c.index), step) for c, step in absences]
        self._absences = frozen(np.array(cuts, np.int64).reshape(-1, 2))
        self._chains = np.full((1, len(steps), FIELDS), EARLIEST, np.int64)
        self._latest = np.full((1, 2), EARLIEST, np.int64)
        self._starts = np.zeros((2, len(self.arrays.row)), np.int64)
        # An event of the window before a match is needed, for its key: by block the last measure
        # and the first event.
        self._is_start = node.after is None
        self._blocks: deque[tuple[int, int]] = deque()

    def insert(self, block: Block, states: Numbers) -> None:
        """Extend chains by the events of a block."""
        arrivals = self._arrivals(block, states, len(block))
        keys = len(self.arrays.heads)
        if keys > len(self._latest):
            self._chains = grown(self._chains, keys, EARLIEST)
            self._latest = grown(self._latest, keys, EARLIEST)
        if self._is_start and len(block):
            self._blocks.append((int(arrivals.measures[-1]), int(arrivals.rows[0])))
        note_chains(
            arrivals, self._bits, self._absences, self._chains, self._latest, self.arrays,
            self._starts,
        )  # fmt: skip
        self.most = max(self.most, self.alive)

    def forbid_sequences(self, sequences: Sequences, keep: NDArray[np.bool_]) -> None:
        """Clear `keep` for the sequences with a match of this one in their gap."""
        asked = int(np.count_nonzero(keep))
        mask = self._context.buffer.mask
        forbid_tightly(self.arrays, self._starts, self.gap, self.stored(), mask, sequences, keep)
        self._count(asked, keep)

    def forbid(self, bindings: Bindings, keep: NDArray[np.bool_], *, at_end: bool) -> None:
        """Clear `keep` for the matches with series and a match of this one in their gap."""
        asked = int(np.count_nonzero(keep))
        lengths = np.ascontiguousarray(bindings.lengths)
        forbid_matches_tightly(
            self.arrays, self._starts, self.gap, self.stored(), self._context.buffer.mask,
            bindings.events, bindings.ends, lengths, at_end, keep,
        )  # fmt: skip
        self._count(asked, keep)

    def _count(self, asked: int, keep: NDArray[np.bool_]) -> None:
        self.probed += asked
        self.hit += asked - int(np.count_nonzero(keep))

    def evict(self, bound: int) -> None:
        """Drop the matches that end before a bound."""
        super().evict(bound)
        while self._blocks and self._blocks[0][0] < bound:
            self._blocks.popleft()

    def oldest(self) -> int | None:
        """The oldest event in the window of later matches, if it may be before them."""
        return self._blocks[0][1] if self._blocks else None

    def _take(self, saved: Saved, values: Any) -> None:
        super()._take(saved, values)
        keys, lists = len(self._chains), len(self.arrays.heads)
        saved.check(1 <= keys <= lists, "there are not as many keys as lists")
        saved.check(self._is_start or not self._blocks, "nothing before a match is needed")

    def _make_room(self, events: int, lists: int) -> None:
        numbers = np.arange(self.arrays.sizes[1], self.arrays.sizes[0])
        super()._make_room(events, lists)
        room = len(self.arrays.row)
        if room > self._starts.shape[1]:
            self._starts = grown_ring(self._starts, room, numbers, axis=1)
