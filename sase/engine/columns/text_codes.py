"""Many plain texts to codes, in the order in which texts come first: by kernels, in threads.

Each thread codes a share of the rows by a table of its own. The texts of the later tables are then
looked up in the first, which gets those that are new, and the codes of their shares translated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sase.engine.columns.kept_memory import reused
from sase.engine.kernels.scan import text_codes as kernel
from sase.engine.kernels.scan.text_hash import PIECE

# The slots of a table at first, and how many times as many it has next.
SLOTS, LARGER = 1 << 14, 4
# The fewest texts that are worth a thread.
ENOUGH = 1 << 19


class PlainTexts(NamedTuple):
    """Where texts begin and the last one ends, their bytes, and a byte each if some are NULL."""

    ends: NDArray[Any]
    data: NDArray[np.uint8]
    valid: NDArray[np.uint8]


class _Part(NamedTuple):
    """Adjacent texts, and where their codes are written to."""

    texts: PlainTexts
    codes: NDArray[np.int32]


def text_codes(
    chunks: Sequence[PlainTexts], threads: int
) -> tuple[list[NDArray[np.int32]], pa.Array] | None:
    """The codes of the texts of each chunk, and the text of each code.

    None where texts are too long for a table, or were made to meet in it.
    """
    codes = [_codes(len(chunk.ends) - 1) for chunk in chunks]
    first, *others = [_Table(parts) for parts in _shares(chunks, codes, threads)]
    if not others:
        return (codes, first.texts()) if first.encode() else None
    # This thread works, too: where it slept, two others would share a core.
    with ThreadPoolExecutor(len(others)) as pool:
        begun = [pool.submit(other.encode) for other in others]
        if not first.encode() or not all(each.result() for each in begun):
            return None
        translated = []
        for other in others:
            translation = first.join(other)
            if translation is None:
                return None
            translated.append(pool.submit(other.translate, translation))
        found = first.texts()
        for each in translated:
            each.result()
    return codes, found


def _codes(count: int) -> NDArray[np.int32]:
    """Room for the codes of so many texts."""
    return reused(((count + 1) // 2,)).view(np.int32)[:count]


def _shares(
    chunks: Sequence[PlainTexts], codes: Sequence[NDArray[np.int32]], threads: int
) -> Iterator[list[_Part]]:
    """Parts for each thread, of about as many texts, one share behind the other."""
    total = sum(map(len, codes))
    cuts = np.linspace(0, total, max(min(threads, total // ENOUGH), 1) + 1, dtype=np.int64)
    for first, last in pairwise(cuts.tolist()):
        parts, before = [], 0
        for chunk, written in zip(chunks, codes, strict=True):
            begin, end = (min(max(cut - before, 0), len(written)) for cut in (first, last))
            before += len(written)
            if begin < end:
                ends, valid = chunk.ends[begin : end + 1], chunk.valid[begin:end]
                parts.append(_Part(PlainTexts(ends, chunk.data, valid), written[begin:end]))
        yield parts


class _Table:
    """The codes of the texts of some parts."""

    def __init__(self, parts: list[_Part]) -> None:
        self.parts = parts
        self._table = _of_slots(SLOTS)

    def encode(self) -> bool:
        """Write the codes of all texts; false if these are given up."""
        room = np.empty(kernel.WORDS * PIECE, np.int64)
        return all(self._encode(part, room) for part in self.parts)

    def _encode(self, part: _Part, room: NDArray[np.int64]) -> bool:
        ends, data, valid = part.texts
        address, codes = data.ctypes.data, part.codes
        return self._fills(
            codes,
            lambda begin, table: kernel.encode_texts(
                ends, data, address, valid, begin, table, room, codes
            ),
        )

    def join(self, other: _Table) -> NDArray[np.int32] | None:
        """Add the texts of another table; return their codes here, None if they are given up."""
        codes, known = np.empty(len(other), np.int32), other._table
        is_done = self._fills(
            codes, lambda begin, table: kernel.join_texts(known, begin, table, codes)
        )
        return codes if is_done else None

    def _fills(
        self, codes: NDArray[np.int32], step: Callable[[int, kernel.TextTable], int]
    ) -> bool:
        """Write codes by steps that end where the table is full, which then grows, or give up."""
        begin = step(0, self._table)
        while begin not in (len(codes), kernel.GIVEN_UP):
            self._grow()
            begin = step(begin, self._table)
        return begin == len(codes)

    def translate(self, translation: NDArray[np.int32]) -> None:
        """Translate the codes of all texts."""
        for part in self.parts:
            kernel.translate(part.codes, translation)

    def __len__(self) -> int:
        return int(self._table.sizes[kernel.COUNT])

    def texts(self) -> pa.Array:
        """The text of each code."""
        count, size = self._table.sizes.tolist()
        begins, data = np.empty(count + 1, np.int64), np.empty(size, np.uint8)
        kernel.copy_texts(self._table, begins, data)
        buffers = [None, pa.py_buffer(begins), pa.py_buffer(data)]
        return pa.Array.from_buffers(pa.large_string(), count, buffers)

    def _grow(self) -> None:
        """Make room for more texts."""
        old, count = self._table, len(self)
        new = _of_slots(LARGER * len(old.slots))
        kernel.move_slots(old.slots, new.slots)
        new.known[: kernel.WORDS * count] = old.known[: kernel.WORDS * count]
        new.places[:count], new.sizes[:] = old.places[:count], old.sizes
        self._table = new


def _of_slots(count: int) -> kernel.TextTable:
    """An empty table of so many slots."""
    slots, room = reused((count,), is_huge=True), count // 2
    slots.fill(0)
    known, places = (reused((width * room,), is_huge=True) for width in (kernel.WORDS, 1))
    return kernel.TextTable(slots, known, places, np.zeros(2, np.int64))
