"""Keep large freed memory for the next allocation.

A system provides fresh memory page by page, each zeroed. A run that takes hundreds of megabytes
spends a fifth of its time there, and the next run again. So up to `KEPT` bytes are kept, marked as
free: a system that lacks memory may take them.
"""

from __future__ import annotations

import ctypes
import mmap
import weakref
from collections import deque
from contextlib import suppress
from math import prod

import numpy as np
from numpy.typing import NDArray

# The least size worth keeping, and the most bytes kept in total.
LARGE, KEPT = 1 << 22, 3 << 27
# Whether memory can be marked as free; elsewhere nothing is kept.
MAY_KEEP = hasattr(mmap, "MADV_FREE")

# Kept memory, and whether it is on huge pages; the youngest last. The operations used are atomic,
# so no lock is needed.
_kept: deque[tuple[mmap.mmap, bool]] = deque()


def reused(shape: tuple[int, ...], *, is_huge: bool = False) -> NDArray[np.int64]:
    """Return uninitialized numbers, in kept memory if possible.

    Arrays that are accessed at random belong on huge pages.
    """
    size = 8 * prod(shape)
    if size < LARGE:
        return np.empty(shape, np.int64)
    memory = _taken(size, is_huge)
    if memory is None:
        if is_huge:
            _drop(size)
        memory = mapped(size, is_huge=is_huge)
    return _lent(memory, is_huge, shape)


def mapped(size: int, *, is_huge: bool) -> mmap.mmap:
    """Return fresh zeroed memory, on huge pages if the system has them."""
    try:
        memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"there is no memory for {size:,} bytes") from error
    if is_huge and hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def kept_bytes() -> int:
    """Return the number of bytes kept."""
    return sum(len(memory) for memory, _ in tuple(_kept))


def _lent(memory: mmap.mmap, is_huge: bool, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """An array over memory that is kept again once no array uses it."""
    lent = (ctypes.c_int64 * prod(shape)).from_buffer(memory)
    weakref.finalize(lent, _give_back, memory, is_huge).atexit = False
    return np.frombuffer(memoryview(lent), np.int64).reshape(shape)


def _taken(size: int, is_huge: bool) -> mmap.mmap | None:
    """Take kept memory that is large enough, and at most twice as large."""
    for _ in range(len(_kept)):
        try:
            memory, kind = _kept.pop()
        except IndexError:  # another thread was faster
            return None
        if kind == is_huge and size <= len(memory) <= 2 * size:
            return memory
        _kept.appendleft((memory, kind))
    return None


def _drop(size: int) -> None:
    """Drop smaller memory on huge pages: mostly an array has outgrown it."""
    for each in tuple(_kept):
        if each[1] and len(each[0]) < size:
            with suppress(ValueError, IndexError):  # another thread was faster
                _kept.remove(each)


def _give_back(memory: mmap.mmap, is_huge: bool) -> None:
    """Keep memory, up to the limit; otherwise free it."""
    if MAY_KEEP and len(memory) <= KEPT:
        with suppress(OSError, IndexError):  # another thread may drop the last
            memory.madvise(mmap.MADV_FREE)
            _kept.append((memory, is_huge))
            while kept_bytes() > KEPT:
                _kept.popleft()
