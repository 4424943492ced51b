"""Codes for the values of equivalence attributes: small integers that index partitions.

For dense integers a code is the distance from the least value. With some hundred thousand keys this
is twice as fast as a hash table. Otherwise a hash table assigns codes and recycles those of keys
without a live event, so that there are few codes even if keys never repeat.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.engine.columns.arrays import Numbers, zeros
from sase.engine.expressions import Vector
from sase.engine.kernels.expressions.operations import EXACT, FLOAT, INTEGER
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.scan.key_hash import KEY, USED, KeyTable, compose, encode, recycle
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.snapshots.saved_state import Saved
from sase.planning.cost_values import FEWEST_BITS, dense_bits

# The first capacity of a table.
ROOM = 1 << 10
# A larger table has at most about this many times the capacity for the assigned codes.
SPARSEST = 8
# From this number of slots on, which no cache holds, a table is filled to three quarters. Smaller
# ones are filled to one half, which is faster, as their neighbouring slots are in the cache.
LARGE = 1 << 23
WIDEST = 1 << FEWEST_BITS
BITS = 1


class KeyDictionary:
    """Codes of the values of a key.

    A value is one number. Once values of several kinds occur, it is two numbers: class and number.
    """

    def __init__(self, values: int = 1, *, streaming: bool = False) -> None:
        self._streaming = streaming
        # The most bits of dense codes, if less than the usual limit.
        self.bits: int | None = None
        # The tag of each value; None if it may have several kinds.
        self._tags: list[int | None] = [INTEGER] * values
        # For each value its least, its bits in a code, and their shift.
        self._digits: Numbers | None = None
        self._table: KeyTable | None = None
        self.size = 1  # all codes are less
        self._most = 0  # codes in use above which a table recycles

    def encode_vectors(self, vectors: Sequence[Vector], numbers: Numbers) -> Numbers:
        """The codes of keys, given as vectors; `NOTHING` if a value is NULL."""
        masks = [vector.valid for vector in vectors if vector.valid is not None]
        known = reduce(np.logical_and, masks) if masks else None
        if not len(numbers) or known is not None and not known.any():
            return np.full(len(numbers), NOTHING, np.int64)
        rows = [
            row
            for place, vector in enumerate(vectors)
            for row in self._rows(place, vector, numbers)
        ]
        stacked = rows[0][np.newaxis] if len(rows) == 1 else np.stack(rows)
        return self.codes(stacked, known, numbers)

    def codes(self, rows: Numbers, known: NDArray[np.bool_] | None, numbers: Numbers) -> Numbers:
        """The codes of keys, a column for each, of events by number; `NOTHING` if not known."""
        codes = np.zeros(rows.shape[1], np.int64)
        if known is not None:
            codes[~known] = NOTHING
            codes[known] = self.codes(np.ascontiguousarray(rows[:, known]), None, numbers[known])
            return codes
        if self._table is None:
            rows = frozen(rows)
            if self._digits is not None and compose(rows, self._digits, codes):
                return codes
            if self.fit(rows, rows.shape[1]):
                if self._digits is not None:
                    compose(rows, self._digits, codes)
                return codes
            self._hash(len(rows), numbers)
        self._encode(rows, numbers, codes)
        return codes

    @property
    def digits(self) -> Numbers | None:
        """The digits of dense codes of integers, in the form that kernels take."""
        return self._digits if self.is_open else None

    @property
    def is_open(self) -> bool:
        """Whether codes are dense, or may still become so."""
        return self._table is None and self._tags.count(INTEGER) == len(self._tags)

    def fit(self, rows: Numbers, events: int, codes: int = 0) -> bool:
        """Whether the keys of this many events get dense codes; the range of the first may grow.

        Up to `codes` are dense in any case.
        """
        if self._table is not None:
            return False
        if not rows.shape[1]:
            return True
        least, most = rows.min(axis=1).tolist(), rows.max(axis=1).tolist()
        most_bits = self._most_bits(events, codes) if self.bits is None else self.bits
        if self._digits is None:
            begins = [0 if counts_from_zero(low) else low for low in least]
            widths = [_bits(low, high) for low, high in zip(begins, most, strict=True)]
            shifts = [sum(widths[number + 1 :]) for number in range(len(widths))]
            if sum(widths) > most_bits:
                return False
            self._digits = np.array([begins, widths, shifts], np.int64).T.copy()
            self.size = 1 << sum(widths)
            return True
        begins, widths, shifts = self._digits.T.tolist()
        needed = [_bits(low, high) for low, high in zip(begins, most, strict=True)]
        if any(low < begin for low, begin in zip(least, begins, strict=True)):
            return False
        if needed[0] + shifts[0] > most_bits:
            return False
        if any(need > width for need, width in zip(needed[1:], widths[1:], strict=True)):
            return False
        self._digits[0, BITS] = max(needed[0], widths[0])
        self.size = 1 << int(self._digits[:, BITS].sum())
        return True

    def recycle(self, horizon: int) -> None:
        """Recycle the codes of keys without an event from the horizon on, once they are many."""
        table = self._table
        if table is None or _used(table) <= self._most:
            return
        in_use = np.flatnonzero(table.entries[: table.sizes[0], USED] >= max(horizon, 0))
        wanted, now = _slots(max(4 * len(in_use), ROOM)), len(table.slots)
        slots = min(max(wanted, _slots(int(in_use.max(initial=0)) + 1)), 2 * now)
        if slots == now:
            table.slots.fill(NOTHING)
            recycle(table, horizon, table)
        else:
            self._set_table(_rebuilt(table, slots, horizon))
        self._most = _most_used(_room(wanted))

    def checkpoint(self) -> dict[str, Any]:
        """The state as arrays and plain values."""
        return {
            "tags": self._tags,
            "digits": self._digits,
            "table": None if self._table is None else _saved(self._table),
            "size": self.size,
            "most": self._most,
        }

    def restore(self, saved: Saved) -> None:
        """Continue from a checkpoint."""
        parts = saved.part("tags").parts(len(self._tags))
        self._tags = [None if part.is_none else part.number(0, 255) for part in parts]
        known = [tag for tag in self._tags if tag is not None]
        saved.check(all(tag == INTEGER or tag >= EXACT for tag in known), "there is no such kind")
        digits, table = saved.part("digits"), saved.part("table")
        self._table = None if table.is_none else self._restored_table(table)
        # If there is a table, the digits are older than it and no longer read.
        is_dense = self._table is None and not digits.is_none
        self._digits = self._restored_digits(digits) if is_dense else None
        self._most = saved.part("most").count()
        size = 1 if self._digits is None else 1 << int(self._digits[:, BITS].sum())
        size = size if self._table is None else len(self._table.entries)
        self.size = saved.part("size").number(size, size)

    @property
    def _rows_of_keys(self) -> int:
        """The numbers of a key: two for each value that may have several kinds."""
        return len(self._tags) + self._tags.count(None)

    def _restored_digits(self, saved: Saved) -> Numbers:
        """The digits of dense codes: the values of a key are adjacent in a code."""
        digits = saved.array(self._rows_of_keys, 3)
        bits = digits[:, BITS]
        most = self._most_bits(0)
        saved.check(bool(((bits > 0) & (bits <= most)).all()), "the key has more bits than a code")
        saved.check(int(bits.sum()) <= most, "there are too many bits")
        shifts = np.append(np.cumsum(bits[::-1])[::-1][1:], 0)
        saved.check(bool((digits[:, 2] == shifts).all()), "the numbers of a key meet")
        return digits

    def _restored_table(self, saved: Saved) -> KeyTable:
        """A table of the assigned codes; unused ones are free."""
        entries = saved.part("entries").array(None, KEY + self._rows_of_keys)
        used = entries[:, USED]
        saved.check(bool((used >= NOTHING).all()), "there is no such event")
        saved.check(not len(used) or used[-1] != NOTHING, "the last code is not in use")
        count, part = len(entries), saved.part("slots")
        slots = part.number(_slots(count), _slots(max(ROOM, SPARSEST * count)))
        part.check(slots == _power(slots), f"{slots} is no power of two")
        old = _empty(2, self._rows_of_keys)._replace(entries=entries)
        old.sizes[0] = count
        return _rebuilt(old, slots, 0)

    def _rows(self, place: int, vector: Vector, numbers: Numbers) -> list[Numbers]:
        """The values of a vector as rows of numbers, in the form of earlier ones."""
        if self._digits is None and self._table is None and has_exact_numbers(vector):
            assert isinstance(vector.tag, int)
            self._tags[place] = vector.tag
        if has_exact_numbers(vector) and vector.tag == self._tags[place]:
            return [np.asarray(vector.values, np.int64)]
        if self._tags[place] is not None:
            self._mix(place, numbers)
        return normalized(vector)

    def _mix(self, place: int, numbers: Numbers) -> None:
        """Add a class to the number of a value, also in the existing keys."""
        tag, self._tags[place] = self._tags[place], None
        assert tag is not None
        if self._table is None and self._digits is not None:
            self._hash(len(self._digits), numbers)
        if self._table is None:
            return
        row = place + self._tags[:place].count(None)
        used, *keys = self._table.entries[: self._table.sizes[0]].T
        keys[row : row + 1] = normalized(Vector(keys[row], tag))
        old = self._table._replace(entries=np.column_stack([used, *keys]))
        self._table = _rebuilt(old, len(old.slots), 0)

    def _most_bits(self, events: int, codes: int = 0) -> int:
        return dense_bits(0) if self._streaming else dense_bits(events, codes)

    def _hash(self, rows: int, numbers: Numbers) -> None:
        """Change to a table; assigned codes stay."""
        given = np.arange(0 if self._digits is None else self.size, dtype=np.int64)
        self._set_table(_empty(_slots(max(ROOM, 2 * len(given))), rows))
        if self._digits is not None:
            keys = [
                (given >> shift & ((1 << bits) - 1)) + least
                for least, bits, shift in self._digits.tolist()
            ]
            used = np.full(len(given), numbers[0] if len(numbers) else 0)
            self._encode(np.stack(keys), used, given.copy())

    def _encode(self, rows: Numbers, numbers: Numbers, codes: Numbers) -> None:
        start, keys = 0, frozen(rows)
        while True:
            assert self._table is not None
            start = encode(keys, numbers, self._table, start, codes)
            if start == len(codes):
                return
            self._set_table(_rebuilt(self._table, 2 * len(self._table.slots), 0))

    def _set_table(self, table: KeyTable) -> None:
        self._table, self.size = table, len(table.entries)
        self._most = _most_used(self.size)


def counts_from_zero(least: int) -> bool:
    """Whether dense codes start at 0 for this least key: a smaller one may come."""
    return 0 <= least < WIDEST // 4


def _used(table: KeyTable) -> int:
    return int(table.sizes[0] - table.sizes[1])


def _saved(table: KeyTable) -> dict[str, Any]:
    """The entries by code; they determine which codes are free."""
    return {"slots": len(table.slots), "entries": table.entries[: table.sizes[0]]}


def _most_used(room: int) -> int:
    return room * 7 // 8


def _room(slots: int) -> int:
    """The most codes that a table with this number of slots assigns."""
    return slots // 2 if slots < LARGE else slots // 4 * 3


def _slots(count: int) -> int:
    """The slots of the smallest table with room for `count` codes."""
    slots = _power(2 * count)
    return slots // 2 if _room(slots // 2) >= count else slots


def _power(least: int) -> int:
    """The least power of two that is at least this number."""
    return 1 << (least - 1).bit_length()


def _bits(least: int, most: int) -> int:
    return max(most - least, 1).bit_length()


def _empty(slots: int, rows: int) -> KeyTable:
    empty = zeros((slots,), np.int32)
    empty.fill(NOTHING)
    # The other arrays take no memory before codes are assigned.
    entries, free = zeros((_room(slots), KEY + rows)), zeros((_room(slots),))
    return KeyTable(empty, entries, free, np.zeros(2, np.int64))


def _rebuilt(old: KeyTable, slots: int, horizon: int) -> KeyTable:
    """A table with this number of slots and the keys used from an event on."""
    table = _empty(slots, old.entries.shape[1] - KEY)
    recycle(old, horizon, table)
    return table


def has_exact_numbers(vector: Vector) -> bool:
    """Whether values of the same tag are equal if their numbers are."""
    return isinstance(vector.tag, int) and vector.tag != FLOAT


def normalized(vector: Vector) -> list[Numbers]:
    """Class and number of each value: an integral float is an integer, a decimal may be a float."""
    bits = np.ascontiguousarray(vector.values).view(np.int64)
    tags = np.broadcast_to(vector.tag, bits.shape)
    classes, numbers = np.full(len(bits), INTEGER, np.int64), bits.copy()
    reals = bits.view(np.float64)
    is_real = tags == FLOAT
    if vector.valid is not None:
        is_real = is_real & vector.valid
    whole = is_real.copy()
    whole[is_real] = (
        (np.floor(reals[is_real]) == reals[is_real]) & (reals[is_real] >= -(2.0**63))
        & (reals[is_real] < 2.0**63)
    )  # fmt: skip
    numbers[whole] = reals[whole].astype(np.int64)
    classes[is_real & ~whole] = FLOAT
    for place in np.flatnonzero(tags >= EXACT):
        classes[place], numbers[place] = _simplest(int(bits[place]), int(tags[place]) - EXACT)
    return [classes, numbers]


def _simplest(units: int, scale: int) -> tuple[int, int]:
    """A decimal or time as an equal integer, float, or decimal with the fewest digits."""
    value = Fraction(units, 10**scale)
    if value.denominator == 1:
        return INTEGER, int(value)
    if Fraction(float(value)) == value:
        return FLOAT, int(np.float64(float(value)).view(np.int64))
    while units % 10 == 0:
        units, scale = units // 10, scale - 1
    return EXACT + scale, units
