"""Codes for the values of equivalence attributes: small integers that begin a partition's arrays.

Where the keys are integers close together a code is the distance from the least. Otherwise a hash
table gives them out, and those of keys that no live event has are used again, so that the codes
stay few also where keys never repeat.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sase.engine.kernels.compiling import frozen
from sase.engine.kernels.keys import KeyTable, encode, recycle
from sase.engine.kernels.stacks import NOTHING

Numbers = NDArray[np.int64]
# The widest range of integers that are codes themselves, and the first room of a table.
WIDEST, ROOM = 1 << 18, 1 << 10


class KeyCodes:
    """The codes of one key, which is one number or several."""

    def __init__(self) -> None:
        self._least: int | None = None
        self._range = 0
        self._table: KeyTable | None = None

    @property
    def size(self) -> int:
        """All codes are less."""
        return self._range if self._table is None else len(self._table.used)

    def codes(self, rows: Numbers, known: NDArray[np.bool_] | None, numbers: Numbers) -> Numbers:
        """The codes of keys, a column each; `NOTHING` for those that are not known.

        `numbers` are those of the events that have them.
        """
        if self._table is None and len(rows) == 1:
            values = rows[0] if known is None else rows[0][known]
            if self._widened(values):
                codes = rows[0] - (self._least or 0)
                return codes if known is None else np.where(known, codes, NOTHING)
        self._hash(len(rows), numbers)
        codes = np.zeros(rows.shape[1], np.int64)
        if known is not None:
            codes[~known] = NOTHING
        self._encode(frozen(rows), numbers, codes)
        return codes

    def recycle(self, horizon: int) -> None:
        """Give up the codes of keys that no event from this one on has, once they are many."""
        table = self._table
        if table is not None and table.sizes[0] - table.sizes[1] > len(table.used) // 2:
            self._rebuild(len(table.used), horizon)
            live = int(table.sizes[0] - table.sizes[1])
            if live > len(table.used) // 4:
                self._rebuild(2 * len(table.used), horizon)

    def _widened(self, values: Numbers) -> bool:
        """Whether the values fit into the range of codes, which may grow at its end."""
        if not len(values):
            return True
        least, greatest = int(values.min()), int(values.max())
        if self._least is None:
            # Some way below, since the least of all may be still to come.
            self._least = least - 64 if least > 0 else least
            self._least = 0 if 0 <= least < WIDEST // 4 else self._least
        if least < self._least or greatest - self._least >= WIDEST:
            return False
        if greatest - self._least >= self._range:
            self._range = 1 << (greatest - self._least).bit_length()
        return True

    def _hash(self, rows: int, numbers: Numbers) -> None:
        """Go over to a table: the codes that were given out stay what they are."""
        if self._table is not None:
            return
        given = np.arange(self._range, dtype=np.int64)
        self._table = _empty(max(ROOM, 2 * self._range), rows)
        if self._range:
            used = np.full(self._range, numbers[0] if len(numbers) else 0)
            self._encode(frozen((given + (self._least or 0))[np.newaxis]), used, given.copy())

    def _encode(self, rows: Numbers, numbers: Numbers, codes: Numbers) -> None:
        start = 0
        while True:
            assert self._table is not None
            start = encode(rows, numbers, self._table, start, codes)
            if start == len(codes):
                return
            self._rebuild(2 * len(self._table.used), 0)

    def _rebuild(self, room: int, horizon: int) -> None:
        """A table of some room, with the keys that are used from an event on."""
        assert self._table is not None
        table = _empty(room, len(self._table.keys))
        recycle(self._table, horizon, table)
        self._table = table


def _empty(room: int, rows: int) -> KeyTable:
    return KeyTable(
        np.full(4 * room, NOTHING, np.int64),
        np.zeros((rows, room), np.int64),
        np.full(room, NOTHING, np.int64),
        np.zeros(room, np.int64),
        np.zeros(2, np.int64),
    )


class TextCodes:
    """Codes of strings, where they come with ever new dictionaries; also used again."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._texts: list[str] = []
        self._used = np.zeros(0, np.int64)
        self._free: list[int] = []
        self._most = ROOM

    def codes(self, texts: list[str], last: int) -> Numbers:
        """The codes of distinct strings that some event up to a number has."""
        found = np.fromiter(map(self._code, texts), np.int64, len(texts))
        if len(self._texts) > len(self._used):
            longer = np.zeros(2 * len(self._texts), np.int64)
            longer[: len(self._used)] = self._used
            self._used = longer
        self._used[found] = last
        return found

    def _code(self, text: str) -> int:
        code = self._codes.get(text)
        if code is None:
            if self._free:
                code = self._free.pop()
                self._texts[code] = text
            else:
                code = len(self._texts)
                self._texts.append(text)
            self._codes[text] = code
        return code

    def recycle(self, horizon: int) -> None:
        """Give up the codes of strings that no event from this one on has, once they are many."""
        if len(self._codes) <= self._most:
            return
        for text, code in list(self._codes.items()):
            if self._used[code] < horizon:
                del self._codes[text]
                self._free.append(code)
        self._most = max(ROOM, 2 * len(self._codes))
