"""Large memory that is kept, when it is free, for whoever asks next.

A system hands out fresh memory page by page, each zeroed: a run that takes hundreds of megabytes
spends a fifth of its time there, and gives them back at its end for the next one to ask again. So
up to `KEPT` bytes are kept. They are marked as free, and a system that lacks memory takes them.
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

# What is smaller is not worth keeping, and so many bytes are kept.
LARGE, KEPT = 1 << 22, 3 << 27
# What can be marked as free: elsewhere nothing is kept.
MAY_KEEP = hasattr(mmap, "MADV_FREE")

# On huge pages or not, the youngest last. Whoever takes or gives does so at once: no thread waits
# for another.
_kept: deque[tuple[mmap.mmap, bool]] = deque()


def reused(shape: tuple[int, ...], *, is_huge: bool = False) -> NDArray[np.int64]:
    """Return numbers that are anything, in memory that was used before if there is some.

    What is looked up all over is to be on huge pages.
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
    """Return fresh memory, which is zero, on huge pages where the system has such."""
    try:
        memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"there is no memory for {size:,} bytes") from error
    if is_huge and hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def kept_bytes() -> int:
    """Return how many bytes are kept."""
    return sum(len(memory) for memory, _ in tuple(_kept))


def _lent(memory: mmap.mmap, is_huge: bool, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Numbers in memory that is kept when no array is made of it any more."""
    lent = (ctypes.c_int64 * prod(shape)).from_buffer(memory)
    weakref.finalize(lent, _give_back, memory, is_huge).atexit = False
    return np.frombuffer(memoryview(lent), np.int64).reshape(shape)


def _taken(size: int, is_huge: bool) -> mmap.mmap | None:
    """Take what is large enough and no more than twice as large, if there is any."""
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
    """Keep nothing on huge pages that is smaller: what grows has outgrown it, mostly."""
    for each in tuple(_kept):
        if each[1] and len(each[0]) < size:
            with suppress(ValueError, IndexError):  # another thread was faster
                _kept.remove(each)


def _give_back(memory: mmap.mmap, is_huge: bool) -> None:
    """Keep memory, if so much may be kept; else it is the system's again."""
    if MAY_KEEP and len(memory) <= KEPT:
        with suppress(OSError, IndexError):  # another thread may give up the last
            memory.madvise(mmap.MADV_FREE)
            _kept.append((memory, is_huge))
            while kept_bytes() > KEPT:
                _kept.popleft()
