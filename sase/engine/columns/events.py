"""The events of an input as columns of numbers, in stream order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sase.binding.types import DataType
from sase.engine.columns.arrays import Mask, Numbers, TypeCodes

if TYPE_CHECKING:
    from sase.engine.columns.faults import Refused


NO_TIES = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Column:
    """The values of one attribute; what stands in `values` where `valid` is false means nothing.

    Floats are float64 without NaN, strings codes of at most 32 bits into `dictionary` (−1 for
    NULL), whose values are distinct; everything else is int64: booleans 0 and 1, times in the
    resolution of `type`, decimals without their point, which `type` places. A whole column of an
    input may have narrower integers, which are made int64 when some are taken: mostly these are
    few.
    """

    type: DataType
    values: NDArray[Any]
    valid: Mask | None = None
    dictionary: Any = None  # a pyarrow.LargeStringArray

    def __post_init__(self) -> None:
        _freeze(self.values, self.valid)

    def between(self, cut: slice) -> Column:
        """The values of a range."""
        valid = None if self.valid is None else self.valid[cut]
        return replace(self, values=self.values[cut], valid=valid)

    def take(self, rows: slice | Numbers) -> Column:
        """The values of some rows."""
        valid = None if self.valid is None else self.valid[rows]
        values = self.values[rows]
        if self.dictionary is None and values.dtype.kind != "f":
            values = values.astype(np.int64, copy=False)
        return replace(self, values=values, valid=valid)


@dataclass(frozen=True, eq=False)
class Events:
    """Events in stream order: sorted by the order key, and by input row where it is equal.

    `order` gives the input row of each position, None where they are the same; `tie` the rank of
    its order key, None where every event has its own. Types are codes into `type_names`, −1 for
    an event without a type, and as narrow as they were given. Where the tables of several types
    have columns of one name and different kinds, `by_type` holds them by type and name, and
    `columns` does not. `refused` are the bad rows that were taken out: no position is theirs, and
    `order` steps over them.
    """

    ts: Numbers
    resolution_ns: int | None
    types: TypeCodes
    type_names: tuple[str, ...]
    columns: Mapping[str, Column]
    by_type: Mapping[tuple[str, str], Column] = field(default_factory=dict)
    order: Numbers | None = None
    tie: Numbers | None = None
    refused: Refused | None = None

    def __post_init__(self) -> None:
        _freeze(self.ts, self.types, self.order, self.tie)

    @property
    def ties(self) -> Numbers:
        """What `tie` is, or nothing where each event has a rank of its own: as kernels take it."""
        return NO_TIES if self.tie is None else self.tie

    def __len__(self) -> int:
        return len(self.ts)

    def column(self, name: str, type_name: str) -> Column:
        """The column that holds an attribute of the events of one type."""
        return self.by_type.get((type_name, name)) or self.columns[name]

    def between(self, begin: int, end: int) -> Events:
        """The events from one position to another."""
        cut = slice(begin, end)
        taken = {column: column.between(cut) for column in self._distinct()}
        return replace(
            self,
            ts=self.ts[cut],
            types=self.types[cut],
            columns={name: taken[column] for name, column in self.columns.items()},
            by_type={key: taken[column] for key, column in self.by_type.items()},
            order=None if self.order is None else self.order[cut],
            tie=None if self.tie is None else self.tie[cut],
        )

    @classmethod
    def joined(cls, parts: Sequence[Events], order: Numbers | None) -> Events:
        """Events one after the other, with the rows that they are, without ties and columns."""
        ts = np.concatenate([part.ts for part in parts])
        names, types = parts[0].type_names, [part.types for part in parts]
        if any(part.type_names != names for part in parts):
            names = tuple(dict.fromkeys(name for part in parts for name in part.type_names))
            codes = {name: code for code, name in enumerate(names)}
            types = [
                np.array([*(codes[name] for name in part.type_names), -1], np.int32)[part.types]
                for part in parts
            ]
        return cls(ts, parts[0].resolution_ns, np.concatenate(types), names, {}, order=order)

    def at(self, positions: Numbers) -> Events:
        """The events at some positions, ascending."""
        order = positions if self.order is None else self.order[positions]
        return replace(self.in_order(positions), order=order, tie=self._tie_at(positions))

    def _tie_at(self, positions: Numbers) -> Numbers | None:
        return None if self.tie is None else self.tie[positions]

    def in_order(self, order: Numbers) -> Events:
        """The events by input row, brought into an order; `tie` is by position already."""
        taken = {column: column.take(order) for column in self._distinct()}
        return replace(
            self,
            ts=self.ts[order],
            types=self.types[order],
            columns={name: taken[column] for name, column in self.columns.items()},
            by_type={key: taken[column] for key, column in self.by_type.items()},
            order=order,
        )

    def _distinct(self) -> set[Column]:
        """Every column once, though it may serve several types."""
        return {*self.columns.values(), *self.by_type.values()}


def _freeze(*arrays: NDArray[Any] | None) -> None:
    """Arrays that many parts of the engine share are written by none of them."""
    for array in arrays:
        if array is not None:
            array.flags.writeable = False


# Gives the types of events that have none yet, by the conditions that define them.
Classify: TypeAlias = Callable[[Events], tuple[TypeCodes, tuple[str, ...]]]
