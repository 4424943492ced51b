"""Ring buffer of live events: by event number the columns that operators asked for.

Event `n` stands at slot `n & mask` of every array. The capacity is a power of two, doubled when
full.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.engine.blocks.block import Block, Key
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.expressions.program import Columns
from sase.engine.kernels.jit.signatures import frozen

NO_TABLES = np.zeros((0, 0), np.int64)


class EventBuffer:
    """Named numbers, codes by key, attributes as cells with tags, and types of events."""

    def __init__(self, capacity: int) -> None:
        self.first = self.next = 0
        self.names: dict[str, int] = {}
        self.keys: dict[Key, int] = {}
        self.attributes: dict[str, int] = {}
        self._capacity = capacity
        self._arrays: dict[str, NDArray[Any]] = {}
        self._tables: Numbers = frozen(NO_TABLES)
        self._columns: Columns | None = None
        # Whether event numbers are positions: all events came so far, or nothing is kept of
        # any.
        self.is_dense = True

    def keep(self, name: str) -> int:
        """Ask for a number of every event, such as its tie; return its row."""
        return self.names.setdefault(name, len(self.names))

    def keep_codes(self, key: Key) -> int:
        """Ask for the codes under a key; return their row."""
        return self.keys.setdefault(key, len(self.keys))

    def keep_attribute(self, name: str) -> int:
        """Ask for an attribute; return its row."""
        return self.attributes.setdefault(name, len(self.attributes))

    @property
    def is_needed(self) -> bool:
        """Whether anything is asked for."""
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

    def columns(self, tables: Numbers) -> Columns:
        """The attributes as programs read them."""
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

    def remember(self, block: Block) -> None:
        """Append the events of a block, with the columns that were asked for."""
        numbers = {"position": block.positions, "tie": block.ties, "ts": block.ts}
        if block.ranks is not None:
            numbers["rank"] = block.ranks
        lanes = [block.vector(name) for name in self.attributes]
        tags = [
            np.broadcast_to(lane.tag, len(block)) if lane.valid is None
            else np.where(lane.valid, lane.tag, 0)
            for lane in lanes
        ]  # fmt: skip
        if len(block):
            self.is_dense &= bool(block.positions[-1] == block.numbers[-1])
        self.append(
            len(block),
            {
                "numbers": [numbers[name] for name in self.names],
                "codes": [block.codes(key) for key in self.keys],
                "cells": [np.ascontiguousarray(lane.values).view(np.int64) for lane in lanes],
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
            "arrays": {name: array[:, places] for name, array in self._arrays.items()},
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Continue from a checkpoint."""
        self.first, self.next = saved["first"], saved["next"]
        self._capacity, self._arrays, self._columns = saved["capacity"], {}, None
        self.is_dense = saved["dense"]
        places = self._places(self.first, self.next)
        for name, kept in saved["arrays"].items():
            self._array(name)[:, places] = kept

    def _places(self, first: int, end: int) -> slice | Numbers:
        """The slots of a range of numbers: a slice where it does not wrap around."""
        start = first & self.mask
        if start + end - first <= self._capacity:
            return slice(start, start + end - first)
        return np.arange(first, end) & self.mask

    def _make_room(self, count: int) -> None:
        """Make room for some more events."""
        needed = self.next + count - self.first
        if needed <= self._capacity:
            return
        before = np.arange(self.first, self.next)
        old = before & self.mask
        while self._capacity < needed:
            self._capacity *= 2
        for name, array in self._arrays.items():
            larger = np.zeros((len(array), self._capacity), array.dtype)
            larger[:, before & self.mask] = array[:, old]
            self._arrays[name] = larger
        self._columns = None

    def _array(self, name: str) -> NDArray[Any]:
        """An array with the rows asked for, made when first used."""
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
