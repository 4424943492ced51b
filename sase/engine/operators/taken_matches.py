"""Matches that do not overlap, and the runs that taken matches end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import EquivalenceTest
from sase.engine.blocks.block import Block
from sase.engine.columns.arrays import Numbers, grown
from sase.engine.kernels.scan.result_order import select_disjoint
from sase.engine.kernels.sentinels import EARLIEST, NOTHING
from sase.engine.operators.bindings.bindings import Bindings, first_of, last_of
from sase.engine.operators.contract import Context, Sequences
from sase.engine.snapshots.layout import SAME, Array, Declared, Number
from sase.engine.snapshots.saved_state import Saved

# ---------------------------------------------------------------- non overlap

# From this number of partitions on finished ones are dropped.
MANY = 1 << 12


class NonOverlapFilter(Declared):
    """Pass matches that do not overlap others of their partition that were taken before."""

    layout = dict(
        keys=Array("keys", SAME, path=None),
        taken=Array("keys", path=None),
        last=Array("keys", low=0, high="live.last", path=None),
    )

    def __init__(self, tests: Sequence[EquivalenceTest], context: Context) -> None:
        self._store = context.buffer
        self._rows = [context.keep_test(test) for test in tests]
        context.buffer.keep("tie")
        self._places: dict[tuple[int, ...], int] = {}
        self._taken = np.full(16, EARLIEST, np.int64)
        self._last: dict[int, int] = {}
        self._limit = MANY
        # The number of rejected matches.
        self.overlapping = 0

    def passing(self, below: Iterator[Sequences | Bindings]) -> Iterator[Sequences | Bindings]:
        """Yield the matches that begin after those taken before."""
        for found in below:
            keep = self._takes(found)
            self.overlapping += len(keep) - int(keep.sum())
            if keep.any():
                yield found[:, keep]

    def _takes(self, found: Sequences | Bindings) -> NDArray[np.bool_]:
        store, mask = self._store, self._store.mask
        first, last = first_of(found), last_of(found)
        ties = store.numbers("tie")
        groups = self._groups(found)
        keep = np.empty(len(first), np.bool_)
        select_disjoint(groups, ties[first & mask], ties[last & mask], self._taken, keep)
        for group, number in zip(groups[keep].tolist(), last[keep].tolist(), strict=True):
            self._last[group] = number
        return keep

    def _groups(self, found: Sequences | Bindings) -> Numbers:
        """The partition of each match, as a place."""
        count = found.shape[1]
        if not self._rows:
            return self._places_of(np.zeros((1, 1), np.int64), np.zeros(count, np.int64))
        codes = np.stack(
            [self._agreed(self._store.codes[row], found) for row in self._rows], axis=1
        )
        distinct, of_each = np.unique(codes, axis=0, return_inverse=True)
        return self._places_of(distinct, of_each.reshape(-1))

    def _places_of(self, distinct: Numbers, of_each: Numbers) -> Numbers:
        self._drop_finished()
        places = [self._places.setdefault(tuple(k), len(self._places)) for k in distinct.tolist()]
        more = len(self._places) - len(self._taken)
        if more > 0:
            more = max(more, len(self._taken))
            self._taken = np.append(self._taken, np.full(more, EARLIEST, np.int64))
        return np.array(places, np.int64)[of_each]

    def _agreed(self, codes: Numbers, found: Sequences | Bindings) -> Numbers:
        """The code on which the events of each match agree; some events may lack the attribute."""
        mask = self._store.mask
        if isinstance(found, Bindings):
            every = codes[found.events & mask]
            return np.maximum.reduceat(every, found.begins) if found.size else every
        return np.asarray(np.max(codes[found & mask], axis=0))

    def _drop_finished(self) -> None:
        """Drop the partitions in which no later match can overlap the last one taken."""
        if len(self._places) < self._limit:
            return
        first = self._store.first
        kept = {key: place for key, place in self._places.items() if self._last[place] >= first}
        taken, last = self._taken, self._last
        self._taken = np.full(max(16, len(kept)), EARLIEST, np.int64)
        self._places, self._last = {}, {}
        for number, (key, place) in enumerate(kept.items()):
            self._places[key], self._taken[number] = number, taken[place]
            self._last[number] = last[place]
        self._limit = max(MANY, 2 * len(kept))

    def horizon(self) -> int | None:
        """The first of the last events taken that may be simultaneous with the next event."""
        if not self._last or not self._rows:
            return None
        numbers = np.array(list(self._last.values()), np.int64)
        numbers = numbers[numbers >= self._store.first]
        if not len(numbers):
            return None
        ties = self._store.numbers("tie")[numbers & self._store.mask]
        newest = self._store.numbers("tie")[(self._store.next - 1) & self._store.mask]
        still = numbers[ties == newest]
        return int(still.min()) if len(still) else None

    def _encoded(self) -> dict[str, Any]:
        keys = np.array([*self._places], np.int64).reshape(-1, max(len(self._rows), 1))
        places = np.array([*self._places.values()], np.int64)
        last = np.array([self._last[place] for place in places.tolist()], np.int64)
        return {"keys": keys, "taken": self._taken[places], "last": last}

    def _take(self, saved: Saved, values: Any) -> None:
        self._places = {tuple(key): place for place, key in enumerate(values.keys.tolist())}
        saved.check(len(self._places) == len(values.keys), "a partition is there twice")
        self._taken = np.append(values.taken, np.full(16, EARLIEST, np.int64))
        self._last = dict(enumerate(values.last.tolist()))


# ---------------------------------------------------------------- taken matches


class TakenMatches(Declared):
    """By partition the order of the last event of the last match: later matches begin after it.

    If all events of a key are gone, its number may be used for another partition. No event of that
    partition may be simultaneous with the last match, so the oldest of the newest events is held.
    If an operator above decides which matches are taken, it reports them when they are certain.
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
        """Make room for the entries of this number of partitions."""
        if keys > len(self.orders):
            self.orders = grown(self.orders, max(keys, 2 * len(self.orders)), EARLIEST)

    def tell(self, taken: Bindings) -> None:
        """Note matches that are taken."""
        self._news.append(taken.last)

    def told(self) -> tuple[Numbers, Numbers, int]:
        """The partitions of the newly noted matches, their last events, and their number."""
        lasts = np.concatenate([np.empty(0, np.int64), *self._news])
        places, told = lasts & self._store.mask, len(lasts)
        self._news.clear()
        keys, orders = self._store.codes[self._row][places], self._store.numbers("tie")[places]
        np.maximum.at(self.orders, keys, orders)
        # The matches of a partition come in order.
        keys, newest = np.unique(keys[::-1], return_index=True)
        return keys, np.ascontiguousarray(lasts[::-1][newest]), told

    def note(self, block: Block) -> None:
        """Note the oldest event that is simultaneous with the last one of a block."""
        if len(block) and block.ties[-1] != self._newest:
            self._newest = int(block.ties[-1])
            self._oldest = int(block.numbers[np.searchsorted(block.ties, self._newest)])

    def horizon(self, first: int | None) -> int | None:
        """The oldest event that is needed; `first` is needed in any case."""
        if self._oldest == NOTHING:
            return first
        return self._oldest if first is None else min(first, self._oldest)

    def _take(self, saved: Saved, values: Any) -> None:
        saved.check(len(values.orders) > 0, "there is room for no partition")
        is_gone = 0 <= values.oldest < saved.live.first
        saved.part("oldest").check(not is_gone, "the oldest event is gone")
        super()._take(saved, values)
