"""Encode many texts or numbers by kernels, in threads that fill one table.

With one thread, codes are numbered in the order in which values first occur.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from math import expm1, sqrt
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sase.engine.columns.arrays import Numbers, cuts_of
from sase.engine.columns.kept_memory import reused
from sase.engine.kernels.scan import code_table as kernel
from sase.engine.kernels.scan.text_hash import PIECE

# The first number of slots.
SLOTS = 1 << 17
# The fewest values that are worth a thread.
ENOUGH = 1 << 19


class PlainTexts(NamedTuple):
    """Texts: their offsets, their bytes, and validity bytes if some are NULL."""

    ends: NDArray[Any]
    data: NDArray[np.uint8]
    valid: NDArray[np.uint8]


class _Part(NamedTuple):
    """A range of adjacent values: the array for their codes, and the kernel that encodes them.

    The kernel takes where to begin, the table, a buffer, the codes and the thread. It returns the
    place where room ended, or `GIVEN_UP`.
    """

    codes: NDArray[np.int32]
    encode: Callable[..., int]


def text_codes(
    chunks: Sequence[PlainTexts], threads: int
) -> tuple[list[NDArray[np.int32]], pa.Array] | None:
    """Return the codes of the texts of each chunk, and the text of each code.

    None if texts are too long for a table, or collide on purpose.
    """
    codes = [_codes(len(chunk.ends) - 1) for chunk in chunks]
    table = _filled(list(_shares_of_texts(chunks, codes, threads)), kernel.WORDS)
    return None if table is None else (codes, table.texts())


def number_codes(numbers: Numbers, threads: int) -> NDArray[np.int32] | None:
    """Return the codes of whole numbers; None if they collide on purpose."""
    codes, cuts = _codes(len(numbers)), cuts_of(len(numbers), threads, ENOUGH)
    numbers = np.ascontiguousarray(numbers, np.int64)
    shares = [
        [_Part(codes[first:last], partial(kernel.encode_numbers, numbers[first:last]))]
        for first, last in pairwise(cuts)
    ]
    return None if _filled(shares, 1) is None else codes


def _filled(parts: Sequence[Sequence[_Part]], words: int) -> _Table | None:
    """Fill a table from parts, one share for each thread; None if the kernel gives up.

    `words` are kept for each value.
    """
    shares = [_Share(*each) for each in enumerate(parts)]
    table, total = _Table(len(shares), words), sum(share.total for share in shares)
    # This thread works, too: if it slept, two others would share a core.
    with ThreadPoolExecutor(max(len(shares) - 1, 1)) as pool:
        while working := [share for share in shares if not share.is_done]:
            begun = [pool.submit(share.encode, table.table) for share in working[1:]]
            if not all([working[0].encode(table.table), *(each.result() for each in begun)]):
                return None
            table.make_room(sum(share.done for share in shares), total)
        whole, tail = table.close_gaps()
        if len(tail):
            list(pool.map(lambda share: share.translate(whole, tail), shares))
    return table


def _codes(count: int) -> NDArray[np.int32]:
    """Return uninitialized codes."""
    return reused(((count + 1) // 2,)).view(np.int32)[:count]


def _shares_of_texts(
    chunks: Sequence[PlainTexts], codes: Sequence[NDArray[np.int32]], threads: int
) -> Iterator[list[_Part]]:
    """Yield the parts for each thread, with about as many texts each."""
    for first, last in pairwise(cuts_of(sum(map(len, codes)), threads, ENOUGH)):
        parts, before = [], 0
        for chunk, written in zip(chunks, codes, strict=True):
            begin, end = (min(max(cut - before, 0), len(written)) for cut in (first, last))
            before += len(written)
            if begin < end:
                ends, data, valid = chunk.ends[begin : end + 1], chunk.data, chunk.valid[begin:end]
                encode = partial(kernel.encode_texts, ends, data, data.ctypes.data, valid)
                parts.append(_Part(written[begin:end], encode))
        yield parts


class _Share:
    """The values that a thread encodes; `done` counts those encoded."""

    def __init__(self, thread: int, parts: Sequence[_Part]) -> None:
        self._thread, self._parts, self._left = thread, parts, list(parts)
        self._begin, self._before = 0, 0
        self.total = sum(len(part.codes) for part in parts)

    @property
    def done(self) -> int:
        """The number of encoded values."""
        return self._before + self._begin

    @property
    def is_done(self) -> bool:
        """Whether all values are encoded."""
        return self.done == self.total

    def encode(self, table: kernel.CodeTable) -> bool:
        """Write codes while there is room; return false if the kernel gives up."""
        room = np.empty(kernel.WORDS * PIECE, np.int64)
        while self._left:
            part = self._left[0]
            reached = part.encode(self._begin, table, room, part.codes, self._thread)
            if reached == kernel.GIVEN_UP:
                return False
            if reached < len(part.codes):
                self._begin = reached
                return True
            self._before, self._begin = self._before + reached, 0
            self._left.pop(0)
        return True

    def translate(self, whole: int, tail: NDArray[np.int32]) -> None:
        """Replace provisional codes by final ones."""
        for part in self._parts:
            kernel.translate(part.codes, tail, whole)


class _Table:
    """The table of codes; each thread gives them out in blocks of its own."""

    def __init__(self, threads: int, words: int) -> None:
        self._words = words
        self.table = _of_slots(SLOTS, words, np.zeros((threads, kernel.SIZES), np.int64))

    def __len__(self) -> int:
        return int(self.table.sizes[:, kernel.COUNT].sum())

    def make_room(self, done: int, total: int) -> None:
        """Enlarge a full table, by an estimate of the distinct values in all rows."""
        old = self.table
        if not old.sizes[:, kernel.IS_FULL].any():
            return
        old.sizes[:, kernel.IS_FULL] = 0
        wanted = 9 * distinct_among(len(self), done, total) // 4
        slots = max(2 * len(old.slots), 1 << (wanted - 1).bit_length())
        new = _of_slots(slots, self._words, old.sizes)
        kernel.move_slots(old.slots, new.slots)
        new.known[: len(old.known)] = old.known
        new.places[: len(old.places)] = old.places
        self.table = new

    def close_gaps(self) -> tuple[int, NDArray[np.int32]]:
        """Close gaps in the last blocks; return how many codes are final, and the new others."""
        counts = self.table.sizes[:, kernel.COUNT] >> kernel.BLOCK_BITS
        whole, most = (
            int(each) * len(counts) << kernel.BLOCK_BITS for each in (min(counts), max(counts) + 1)
        )
        tail = np.zeros(most - whole, np.int32)
        kernel.mark_given(self.table, whole, tail)
        given = np.flatnonzero(tail)
        if len(given) == 0 or given[-1] == len(given) - 1:
            return whole, tail[:0]
        tail[given] = np.arange(whole, len(self))
        known, places = self.table.known.reshape(-1, self._words), self.table.places
        given += whole
        known[whole : len(self)] = known[given]
        if len(places):
            places[whole : len(self)] = places[given]
        return whole, tail

    def texts(self) -> pa.Array:
        """Return the text of each code."""
        count, size = len(self), int(self.table.sizes[:, kernel.BYTES].sum())
        begins, data = reused((count + 1,)), reused((-(-size // 8),)).view(np.uint8)[:size]
        kernel.copy_texts(self.table, begins, data)
        buffers = [None, pa.py_buffer(begins), pa.py_buffer(data)]
        return pa.Array.from_buffers(pa.large_string(), count, buffers)


def distinct_among(found: int, done: int, total: int) -> int:
    """Estimate the distinct values in all rows from those found among the rows done.

    It assumes that each row draws a value at random, and rather underestimates.
    """
    if not done:  # with very many threads the first piece may lack room
        return found
    again = done - found
    again += int(2 * sqrt(again)) + 1
    least, most = found, max(done * done // again, found)
    while most - least > max(least >> 6, 1):
        drawn = (least + most) // 2
        if -drawn * expm1(-done / drawn) < done - again:
            least = drawn
        else:
            most = drawn
    return max(int(-most * expm1(-total / most)), found)


def _of_slots(count: int, words: int, sizes: NDArray[np.int64]) -> kernel.CodeTable:
    """Return an empty table of `count` slots for values of `words` words: 1 for a number."""
    slots, room = reused((count,), is_huge=True), count // 2
    slots.fill(0)
    known = reused((words * room,), is_huge=True)
    places = reused((room if words > 1 else 0,), is_huge=True)
    return kernel.CodeTable(slots, known, places, sizes)
