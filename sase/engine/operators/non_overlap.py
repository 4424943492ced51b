"""Output `non_overlap`: take the first match of a partition, and the first behind each taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import EquivalenceTest
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.scan.non_overlap import select_disjoint
from sase.engine.kernels.sentinels import EARLIEST
from sase.engine.operators.bindings.bindings import Bindings, first_of, last_of
from sase.engine.operators.contract import Context, Sequences
from sase.engine.snapshots.layout import SAME, Array, Declared
from sase.engine.snapshots.saved_state import Saved

# Partitions from which on finished ones are dropped.
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

    def passing(self, below: Iterator[Sequences | Bindings]) -> Iterator[Sequences | Bindings]:
        """Yield the matches that begin behind those taken before."""
        for found in below:
            keep = self._takes(found)
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
        """The code that the events of each match agree on, whichever of them declares it."""
        mask = self._store.mask
        if isinstance(found, Bindings):
            every = codes[found.events & mask]
            return np.maximum.reduceat(every, found.begins) if found.size else every
        return np.asarray(np.max(codes[found & mask], axis=0))

    def _drop_finished(self) -> None:
        """Drop the partitions in which no match to come can overlap the last one taken."""
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
