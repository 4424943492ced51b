"""The last matches that were taken by partition, where each one ends what overlaps it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sase.binding.bound import EquivalenceTest
from sase.engine.blocks.block import Block
from sase.engine.columns.arrays import Numbers, grown
from sase.engine.kernels.sentinels import EARLIEST, NOTHING
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.contract import Context
from sase.engine.snapshots.layout import Array, Declared, Number
from sase.engine.snapshots.saved_state import Saved


class TakenMatches(Declared):
    """By partition the order of the last event of the last match: what is to come begins behind it.

    A key whose events are all gone stands for another partition, of which no event can be
    simultaneous with that one: the oldest of the newest events is held so long.
    Where something above decides which matches are taken, they are told when that is known.
    """

    layout = dict(
        orders=Array(None, path="orders"), newest=Number(), oldest=Number(NOTHING, "live.last")
    )

    def __init__(
        self, context: Context, partitions: Sequence[EquivalenceTest], *, are_told: bool
    ) -> None:
        self.orders, self.are_told = np.full(16, EARLIEST, np.int64), are_told
        self._newest, self._oldest = EARLIEST, NOTHING
        self._store, self._row = context.buffer, NOTHING
        self._news: list[Numbers] = []
        if are_told:
            context.buffer.keep("tie")
            self._row = context.buffer.keep_codes(context.dictionary.key(tuple(partitions)))

    def make_room(self, keys: int) -> None:
        """Make room for what is known of so many partitions."""
        if keys > len(self.orders):
            self.orders = grown(self.orders, max(keys, 2 * len(self.orders)), EARLIEST)

    def tell(self, taken: Bindings) -> None:
        """Note matches that are taken."""
        self._news.append(taken.last)

    def told(self) -> tuple[Numbers, Numbers, int]:
        """The partitions of matches told since, the last event of each, and how many they are."""
        lasts = np.concatenate([np.empty(0, np.int64), *self._news])
        places, told = lasts & self._store.mask, len(lasts)
        self._news.clear()
        keys, orders = self._store.codes[self._row][places], self._store.numbers("tie")[places]
        np.maximum.at(self.orders, keys, orders)
        # Those of a partition come in order.
        keys, newest = np.unique(keys[::-1], return_index=True)
        return keys, np.ascontiguousarray(lasts[::-1][newest]), told

    def note(self, block: Block) -> None:
        """Note the oldest event that is simultaneous with the last one of a block."""
        if len(block) and block.ties[-1] != self._newest:
            self._newest = int(block.ties[-1])
            self._oldest = int(block.numbers[np.searchsorted(block.ties, self._newest)])

    def horizon(self, first: int | None) -> int | None:
        """The oldest event that is needed, where `first` is needed in any case."""
        if self._oldest == NOTHING:
            return first
        return self._oldest if first is None else min(first, self._oldest)

    def _take(self, saved: Saved, values: Any) -> None:
        saved.check(len(values.orders) > 0, "there is room for no partition")
        is_gone = 0 <= values.oldest < saved.live.first
        saved.part("oldest").check(not is_gone, "the oldest event is gone")
        super()._take(saved, values)
