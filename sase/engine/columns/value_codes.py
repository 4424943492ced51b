"""Many texts or numbers to codes: by kernels, in threads that fill one table.

By one thread codes are in the order in which values come first.
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

# The slots of a table at first.
SLOTS = 1 << 17
# The fewest values that are worth a thread.
ENOUGH = 1 << 19


class PlainTexts(NamedTuple):
    """Where texts begin and the last one ends, their bytes, and a byte each if some are NULL."""

    ends: NDArray[Any]
    data: NDArray[np.uint8]
    valid: NDArray[np.uint8]


class _Part(NamedTuple):
    """Where the codes of adjacent values are written to, and the kernel that does, of the values.

    It takes where to begin, the table, room, the codes and the thread, and returns where there was
    no more room, or `GIVEN_UP`.
    """

    codes: NDArray[np.int32]
    encode: Callable[..., int]


def text_codes(
    chunks: Sequence[PlainTexts], threads: int
) -> tuple[list[NDArray[np.int32]], pa.Array] | None:
    """The codes of the texts of each chunk, and the text of each code.

    None where texts are too long for a table, or were made to meet in it.
    """
    codes = [_codes(len(chunk.ends) - 1) for chunk in chunks]
    table = _filled(list(_shares_of_texts(chunks, codes, threads)), kernel.WORDS)
    return None if table is None else (codes, table.texts())


def number_codes(numbers: Numbers, threads: int) -> NDArray[np.int32] | None:
    """The codes of whole numbers, None where these were made to meet in a table."""
    codes, cuts = _codes(len(numbers)), cuts_of(len(numbers), threads, ENOUGH)
    numbers = np.ascontiguousarray(numbers, np.int64)
    shares = [
        [_Part(codes[first:last], partial(kernel.encode_numbers, numbers[first:last]))]
        for first, last in pairwise(cuts)
    ]
    return None if _filled(shares, 1) is None else codes


def _filled(parts: Sequence[Sequence[_Part]], words: int) -> _Table | None:
    """The table that threads fill with the values of their parts; None if these are given up.

    Of each value it knows so many words.
    """
    shares = [_Share(*each) for each in enumerate(parts)]
    table, total = _Table(len(shares), words), sum(share.total for share in shares)
    # This thread works, too: where it slept, two others would share a core.
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
    """Room for so many codes."""
    return reused(((count + 1) // 2,)).view(np.int32)[:count]


def _shares_of_texts(
    chunks: Sequence[PlainTexts], codes: Sequence[NDArray[np.int32]], threads: int
) -> Iterator[list[_Part]]:
    """Parts for each thread, of about as many texts, one share behind the other."""
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
    """The values that a thread codes, of which so many are `done`."""

    def __init__(self, thread: int, parts: Sequence[_Part]) -> None:
        self._thread, self._parts, self._left = thread, parts, list(parts)
        self._begin, self._before = 0, 0
        self.total = sum(len(part.codes) for part in parts)

    @property
    def done(self) -> int:
        """How many are coded."""
        return self._before + self._begin

    @property
    def is_done(self) -> bool:
        """Whether all are."""
        return self.done == self.total

    def encode(self, table: kernel.CodeTable) -> bool:
        """Write codes while there is room; false if they are given up."""
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
        """Translate the codes of all values."""
        for part in self._parts:
            kernel.translate(part.codes, tail, whole)


class _Table:
    """The codes of values that threads give out, each in blocks of its own."""

    def __init__(self, threads: int, words: int) -> None:
        self._words = words
        self.table = _of_slots(SLOTS, words, np.zeros((threads, kernel.SIZES), np.int64))

    def __len__(self) -> int:
        return int(self.table.sizes[:, kernel.COUNT].sum())

    def make_room(self, done: int, total: int) -> None:
        """Make room where there was none, for the values of all rows by those of the ones done."""
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
        """Move what is known of the last blocks together; return how many codes stay as they are.

        What the others become stands by their places behind these.
        """
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
        """The text of each code."""
        count, size = len(self), int(self.table.sizes[:, kernel.BYTES].sum())
        begins, data = reused((count + 1,)), reused((-(-size // 8),)).view(np.uint8)[:size]
        kernel.copy_texts(self.table, begins, data)
        buffers = [None, pa.py_buffer(begins), pa.py_buffer(data)]
        return pa.Array.from_buffers(pa.large_string(), count, buffers)


def distinct_among(found: int, done: int, total: int) -> int:
    """About how many distinct values all rows have, if so many were found among those done.

    As many as there are if each row draws one of them; rather too few than too many.
    """
    if not done:  # of very many threads not even a first piece may have had room
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
    """An empty table of so many slots, for values of so many words: one of a number."""
    slots, room = reused((count,), is_huge=True), count // 2
    slots.fill(0)
    known = reused((words * room,), is_huge=True)
    places = reused((room if words > 1 else 0,), is_huge=True)
    return kernel.CodeTable(slots, known, places, sizes)
