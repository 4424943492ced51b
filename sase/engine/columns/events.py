"""Decoded events: one array for each attribute, sorted into stream order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sase.binding.types import DataType
from sase.engine.columns.arrays import Mask, Numbers, TypeCodes
from sase.engine.resources import Check, no_check

NO_TIES = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class EventColumn:
    """The values of one attribute; entries of `values` are undefined where `valid` is false.

    Floats are float64 without NaN. Strings are codes of at most 32 bits into `dictionary` (−1 for
    NULL), which has distinct values. All others are int64: booleans 0 and 1, times in the
    resolution of `type`, decimals unscaled. A whole input column may keep narrower integers; `take`
    widens the few that it selects. Integers used as keys may have `codes`: small numbers, equal
    where the values are. Texts are `plain` if the input did not encode them.
    """

    type: DataType
    values: NDArray[Any]
    valid: Mask | None = None
    dictionary: Any = None  # a pyarrow.LargeStringArray
    codes: NDArray[np.int32] | None = None
    plain: bool = False

    def __post_init__(self) -> None:
        _freeze(self.values, self.valid, self.codes)

    @property
    def keys(self) -> NDArray[Any]:
        """Numbers that are equal where the values are, for a column of integers or texts."""
        return self.values if self.codes is None else self.codes

    def between(self, cut: slice) -> EventColumn:
        """Slice the column."""
        valid = None if self.valid is None else self.valid[cut]
        codes = None if self.codes is None else self.codes[cut]
        return replace(self, values=self.values[cut], valid=valid, codes=codes)

    def take(self, rows: slice | Numbers) -> EventColumn:
        """Select rows."""
        valid = None if self.valid is None else _at(self.valid, rows)
        values = _at(self.values, rows)
        if self.dictionary is None and values.dtype.kind != "f":
            values = values.astype(np.int64, copy=False)
        codes = None if self.codes is None else _at(self.codes, rows)
        return replace(self, values=values, valid=valid, codes=codes)


@dataclass(frozen=True, eq=False)
class Refused:
    """The bad rows, ascending; `codes` is for each an index into `reasons` (column, reason)."""

    rows: Numbers
    codes: Numbers
    reasons: tuple[tuple[str, str], ...]

    def others(self, count: int) -> Numbers:
        """Return the good rows among `count` rows."""
        good = np.ones(count, np.bool_)
        good[self.rows] = False
        return np.flatnonzero(good)


@dataclass(frozen=True, eq=False)
class Events:
    """Events in stream order: sorted by the order key, ties by input row.

    `order` maps positions to input rows, None for the identity; `tie` is the rank of the order key,
    None if all keys are distinct. Types are codes into `type_names`, −1 for none, in the width of
    the input. If the tables of several types have columns of one name but different kinds, these
    are in `by_type` under (type, name), and not in `columns`. `refused` rows have no position, and
    of a whole input perhaps a number `left_out`, of types that do not count. With imprecise times
    `ts` is the earliest and `until` the latest time.
    """

    ts: Numbers
    resolution_ns: int | None
    types: TypeCodes
    type_names: tuple[str, ...]
    columns: Mapping[str, EventColumn]
    by_type: Mapping[tuple[str, str], EventColumn] = field(default_factory=dict)
    order: Numbers | None = None
    tie: Numbers | None = None
    refused: Refused | None = None
    until: Numbers | None = None
    left_out: int = 0

    def __post_init__(self) -> None:
        _freeze(self.ts, self.until, self.types, self.order, self.tie)

    @property
    def ties(self) -> Numbers:
        """`tie` for kernels: empty if all order keys are distinct."""
        return NO_TIES if self.tie is None else self.tie

    def __len__(self) -> int:
        return len(self.ts)

    def rows_up_to(self, position: int) -> int:
        """About how many rows precede a position, of those that are good."""
        return position * (len(self) + self.left_out) // max(len(self), 1)

    def column(self, name: str, type_name: str) -> EventColumn:
        """Return the column that holds an attribute of the events of one type."""
        return self.by_type.get((type_name, name)) or self.columns[name]

    def between(self, begin: int, end: int) -> Events:
        """Slice the events from one position to another."""
        cut = slice(begin, end)
        order = None if self.order is None else self.order[cut]
        tie = None if self.tie is None else self.tie[cut]
        return self._rows(cut, lambda column: column.between(cut), order, tie)

    def at(self, positions: Numbers) -> Events:
        """Select the events at ascending positions."""
        order = positions if self.order is None else self.order[positions]
        tie = None if self.tie is None else self.tie[positions]
        return self._rows(positions, lambda column: column.take(positions), order, tie)

    def with_codes(self, codes: Mapping[str, NDArray[np.int32] | None]) -> Events:
        """Return the events with codes for the values of some columns."""
        coded = {name: replace(self.columns[name], codes=each) for name, each in codes.items()}
        return replace(self, columns={**self.columns, **coded})

    def in_order(self, order: Numbers, check: Check = no_check) -> Events:
        """Reorder events from input rows to stream order; `tie` is ordered already.

        `check` is called before each column, with the bytes of its numbers.
        """

        def taken(column: EventColumn) -> EventColumn:
            check(order.nbytes)
            return column.take(order)

        return self._rows(order, taken, order, self.tie)

    def _rows(
        self,
        rows: slice | Numbers,
        of: Callable[[EventColumn], EventColumn],
        order: Numbers | None,
        tie: Numbers | None,
    ) -> Events:
        # A column may serve several types; reorder it once.
        taken = {column: of(column) for column in {*self.columns.values(), *self.by_type.values()}}
        return replace(
            self,
            ts=_at(self.ts, rows),
            until=None if self.until is None else _at(self.until, rows),
            types=_at(self.types, rows),
            columns={name: taken[column] for name, column in self.columns.items()},
            by_type={key: taken[column] for key, column in self.by_type.items()},
            order=order,
            tie=tie,
        )

    @classmethod
    def joined(cls, parts: Sequence[Events], order: Numbers | None) -> Events:
        """Concatenate the times and types of events with the input rows `order`."""
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


def _at(values: NDArray[Any], rows: slice | Numbers) -> NDArray[Any]:
    """Select rows; `take` reads rows in no order in two thirds of the time of an index."""
    return values[rows] if isinstance(rows, slice) else values.take(rows)


def _freeze(*arrays: NDArray[Any] | None) -> None:
    """Make arrays read-only, since many parts of the engine share them."""
    for array in arrays:
        if array is not None:
            array.flags.writeable = False


# Computes the types of events from the conditions that define them.
Classify: TypeAlias = Callable[[Events], tuple[TypeCodes, tuple[str, ...]]]
