"""Ring buffer of live events: the columns that operators need, by event number.

Event `n` is in slot `n & mask` of every array. The capacity is a power of two, and doubles when it
is full.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.engine.blocks.block import Block, Key
from sase.engine.columns.arrays import Numbers, grown_ring
from sase.engine.columns.decode.time_column import is_beyond
from sase.engine.kernels.expressions.checks import UNDECLARED
from sase.engine.kernels.expressions.program import Columns
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.snapshots.saved_state import Saved

NO_TABLES: Numbers = frozen(np.zeros((0, 0), np.int64))
_ARRAYS = ("numbers", "codes", "cells", "tags", "types")


class EventBuffer:
    """Named numbers, codes by key, attributes as cells with tags, and types of events."""

    def __init__(self, capacity: int) -> None:
        self.first = self.next = 0
        self.names: dict[str, int] = {}
        self.keys: dict[Key, int] = {}
        self.attributes: dict[str, int] = {}
        self._capacity = capacity
        self._arrays: dict[str, NDArray[Any]] = {}
        self._tables = NO_TABLES
        self._columns: Columns | None = None
        self._frozen_codes = NO_TABLES
        # Whether event numbers are positions: all events came so far, or none is stored.
        self.is_dense = True

    def keep(self, name: str) -> int:
        """Store a number of every event, such as its tie; return its row."""
        return self.names.setdefault(name, len(self.names))

    def keep_codes(self, key: Key) -> int:
        """Store the codes of a key; return their row."""
        return self.keys.setdefault(key, len(self.keys))

    def keep_attribute(self, name: str) -> int:
        """Store an attribute; return its row."""
        return self.attributes.setdefault(name, len(self.attributes))

    @property
    def is_needed(self) -> bool:
        """Whether anything is stored."""
        return bool(self.keys or self.attributes or self.names)

    @property
    def mask(self) -> int:
        """The mask from event numbers to slots."""
        return self._capacity - 1

    def numbers(self, name: str) -> Numbers:
        """A named number by slot."""
        row: Numbers = self._array("numbers")[self.names[name]]
        return row

    @property
    def codes(self) -> Numbers:
        """The codes by row and slot."""
        return self._array("codes")

    @property
    def frozen_codes(self) -> Numbers:
        """The codes for kernels that only read them."""
        if self._frozen_codes.base is not self.codes:
            self._frozen_codes = frozen(self.codes)
        return self._frozen_codes

    @property
    def types(self) -> NDArray[np.int16]:
        """The type codes of the plan by slot."""
        types: NDArray[np.int16] = self._array("types")[0]
        return types

    def columns(self, tables: Numbers) -> Columns:
        """The attributes in the form that programs read."""
        if self._columns is None or tables is not self._tables:
            self._tables = tables
            cells, tags, types = (frozen(self._array(n)) for n in ("cells", "tags", "types"))
            self._columns = Columns(cells, tags, types[0], tables)
        return self._columns

    @property
    def size(self) -> int:
        """The bytes of the arrays, which only grow."""
        return sum(array.nbytes for array in self._arrays.values())

    def append(self, count: int, rows: Mapping[str, list[NDArray[Any]]]) -> None:
        """Append events: for each array the values of its rows."""
        self._make_room(count)
        places = self._places(self.next, self.next + count)
        for name, values in rows.items():
            array = self._array(name)
            for row, found in zip(array, values, strict=True):
                row[places] = found
        self.next += count

    def append_block(self, block: Block) -> None:
        """Append the events of a block, with the stored columns."""
        numbers = {"position": block.positions, "tie": block.ties, "ts": block.ts}
        if block.ranks is not None:
            numbers["rank"] = block.ranks
        if "until" in self.names:
            numbers["until"] = block.until
        vectors = [block.vector(name) for name in self.attributes]
        tags = [np.broadcast_to(vector.tags, len(block)) for vector in vectors]
        if len(block):
            self.is_dense &= bool(block.positions[-1] == block.numbers[-1])
        self.append(
            len(block),
            {
                "numbers": [numbers[name] for name in self.names],
                "codes": [block.codes(key) for key in self.keys],
                "cells": [np.ascontiguousarray(vector.values).view(np.int64) for vector in vectors],
                "tags": tags,
                "types": [block.types],
            },
        )

    def free(self, horizon: int) -> None:
        """Free the events before a number."""
        self.first = max(self.first, min(horizon, self.next))

    def checkpoint(self) -> dict[str, Any]:
        """The columns of the live events."""
        places = self._places(self.first, self.next)
        return {
            "first": self.first,
            "next": self.next,
            "capacity": self._capacity,
            "dense": self.is_dense,
            "attributes": [*self.attributes],
            "arrays": {name: array[:, places] for name, array in self._arrays.items()},
        }

    def restore(self, saved: Saved) -> None:
        """Continue from a checkpoint, with room for the live events."""
        self.next = saved.part("next").count()
        self.first = saved.part("first").number(0, self.next)
        self.is_dense = saved.part("dense").flag()
        is_known = self.is_dense or "position" in self.names
        saved.check(is_known, "events are not where they are")
        kept, count = dict(saved.part("arrays").members()), self.next - self.first
        saved.check(kept.keys() <= set(_ARRAYS), "there is another array")
        saved.check(not count or len(kept) == len(_ARRAYS), "there is not every array")
        # A plan that continues another one may store the columns in another order.
        known = saved.part("attributes").texts()
        is_each = len(known) == len({*known}) and self.attributes.keys() == {*known}
        saved.check(is_each, "other attributes are kept")
        order = [known.index(name) for name in self.attributes]
        found = {name: self._restored(name, part, count) for name, part in kept.items()}
        found |= {name: found[name][order] for name in ("cells", "tags") if name in found}
        if len(found) == len(_ARRAYS):
            self._check(saved, found)
        self._arrays, self._columns = {}, None
        while self._capacity < count:
            self._capacity *= 2
        places = self._places(self.first, self.next)
        for name, array in found.items():
            self._array(name)[:, places] = array

    def _restored(self, name: str, saved: Saved, count: int) -> NDArray[Any]:
        dtype, rows = self._shape(name)
        return saved.array(rows, count, dtype=np.dtype(dtype).name)

    def _check(self, saved: Saved, found: dict[str, NDArray[Any]]) -> None:
        """Check positions, codes, types and values of live events."""
        live, numbers = saved.live, np.arange(self.first, self.next)
        for name, row in self.names.items():
            values = found["numbers"][row]
            if name == "position" and len(values):
                rises = bool((values[1:] > values[:-1]).all())  # a difference may exceed int64
                is_there = int(values[0]) >= 0 and int(values[-1]) < live.positions
                saved.check(rises and is_there, "positions are not those of the stream")
                is_same = not self.is_dense or bool((values == numbers).all())
                saved.check(is_same, "events are not where they are")
        if "until" in self.names:
            ts, until = (found["numbers"][self.names[name]] for name in ("ts", "until"))
            is_wrong = (until < ts) | is_beyond(ts, until)
            saved.check(not is_wrong.any(), "an event is at no times")
        types = found["types"][0]
        is_type = (types >= NOTHING) & (types <= live.unknown_type)
        saved.check(bool(is_type.all()), "there is no such type")
        for key, row in self.keys.items():
            codes = found["codes"][row]
            is_code = (codes >= UNDECLARED) & (codes < live.sizes[key])
            saved.check(bool(is_code.all()), "there is no such key")
        for name, row in self.attributes.items():
            live.check_values(saved, name, found["tags"][row], found["cells"][row], types)

    def _places(self, first: int, end: int) -> slice | Numbers:
        """The slots of a range of numbers: a slice if it does not wrap around."""
        start = first & self.mask
        if start + end - first <= self._capacity:
            return slice(start, start + end - first)
        return np.arange(first, end) & self.mask

    def _make_room(self, count: int) -> None:
        """Make room for more events."""
        needed = self.next + count - self.first
        if needed <= self._capacity:
            return
        before = np.arange(self.first, self.next)
        while self._capacity < needed:
            self._capacity *= 2
        for name, array in self._arrays.items():
            self._arrays[name] = grown_ring(array, self._capacity, before, axis=1)
        self._columns = None

    def _array(self, name: str) -> NDArray[Any]:
        """An array with the stored rows, made at first use."""
        if name not in self._arrays:
            dtype, rows = self._shape(name)
            self._arrays[name] = np.zeros((rows, self._capacity), dtype)
        return self._arrays[name]

    def _shape(self, name: str) -> tuple[type, int]:
        return {
            "numbers": (np.int64, len(self.names)),
            "codes": (np.int64, len(self.keys)),
            "cells": (np.int64, len(self.attributes)),
            "tags": (np.uint8, len(self.attributes)),
            "types": (np.int16, 1),
        }[name]
