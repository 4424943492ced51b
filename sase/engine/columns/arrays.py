"""The array types that the engine passes around, how they grow, and how rows are split."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sase.engine.columns.kept_memory import mapped

Numbers: TypeAlias = NDArray[np.int64]
# Numbers in a cache line.
LINE = 8
# Bytes from which an array is worth huge pages.
HUGE = 1 << 22
# A ring of at least LARGE numbers reserves RESERVED times its room. Reserved memory is not used
# before it is written, and copying less saves more time than the fresh pages take.
LARGE, RESERVED = 1 << 16, 8
Floats: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]
TypeCodes: TypeAlias = NDArray[np.signedinteger]


def by_part(rows: Numbers, sizes: Iterable[int]) -> Iterator[Numbers]:
    """Split ascending rows by adjacent parts of some sizes; yield for each its own numbers."""
    begin = 0
    for size in sizes:
        first, last = np.searchsorted(rows, (begin, begin + size))
        yield rows[first:last] - begin
        begin += size


def deduplicated(numbers: NDArray[Any]) -> NDArray[Any]:
    """Sort and deduplicate numbers; where few are equal this is faster than np.unique."""
    numbers = np.sort(numbers)
    is_first = np.ones(len(numbers), np.bool_)
    is_first[1:] = numbers[1:] != numbers[:-1]
    return numbers[is_first]


def cuts_of(count: int, threads: int, enough: int) -> list[int]:
    """Split a count into equal shares for threads, at least `enough` each; return the bounds."""
    shares = max(min(threads, count // enough), 1)
    return [count * number // shares for number in range(shares + 1)]


def zeros(shape: tuple[int, ...], dtype: Any = np.int64) -> NDArray[Any]:
    """Return zeros that take no memory before they are written to, on huge pages if they are many.

    Random access to many small pages would miss the translation of addresses.
    """
    size = prod(shape) * np.dtype(dtype).itemsize
    if size < HUGE or not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.zeros(shape, dtype)
    return np.frombuffer(mapped(size, is_huge=True), dtype).reshape(shape)


def grown(array: NDArray[Any], room: int, fill: int = 0, *, axis: int = 0) -> NDArray[Any]:
    """Copy an array into the beginning of a larger one with `room` places on an axis."""
    shape = _shape(array, room, axis)
    # Zeros that are never written take no memory.
    larger = np.full(shape, fill, array.dtype) if fill else zeros(shape, array.dtype)
    larger[_on(axis, slice(array.shape[axis]))] = array
    return larger


def grown_records(array: Numbers, count: int) -> Numbers:
    """Copy rows into the first of `count` rows, with zeros behind them, aligned to cache lines.

    So no row crosses more lines than it must, if its width is a power of two.
    """
    width = array.shape[1]
    room = zeros((count * width + LINE,))
    begin = -(room.__array_interface__["data"][0] // room.itemsize) % LINE
    larger = room[begin : begin + count * width].reshape(count, width)
    larger[: len(array)] = array
    return larger


def grown_ring(array: NDArray[Any], room: int, numbers: Numbers, axis: int = 0) -> NDArray[Any]:
    """Copy the entries of a ring buffer with these numbers into a larger one, as `copy_ring`."""
    larger = zeros(_shape(array, room, axis), array.dtype)
    copy_ring(array, larger, numbers, axis)
    return larger


def copy_ring(array: NDArray[Any], other: NDArray[Any], numbers: Numbers, axis: int = 0) -> None:
    """Copy the entries of a ring buffer with these numbers to another; rooms are powers of two."""
    before = array[_on(axis, numbers & (array.shape[axis] - 1))]
    other[_on(axis, numbers & (other.shape[axis] - 1))] = before


def copy_stretch(array: NDArray[Any], other: NDArray[Any], begin: int, end: int) -> None:
    """Copy a range of numbers from one ring buffer to another, in contiguous pieces."""
    while begin < end:
        here, there = begin & (len(array) - 1), begin & (len(other) - 1)
        count = min(end - begin, len(array) - here, len(other) - there)
        other[there : there + count] = array[here : here + count]
        begin += count


def with_rooms(
    rings: Numbers, before: list[int], rooms: list[int], tails: list[int], counts: list[int]
) -> Numbers:
    """Return rings with larger rooms, in place if the memory is reserved; rooms are powers of two.

    Each has its numbers from a tail up to a count. In place, a number keeps its position or moves
    to an unused one.
    """
    found, most = rings, max(rooms)
    if most > rings.shape[1]:
        reserved = RESERVED * most if most >= LARGE else most
        found = zeros((len(rings), reserved, *rings.shape[2:]))
    each = zip(rings, found, before, rooms, tails, counts, strict=True)
    for old, new, old_room, room, tail, count in each:
        if found is not rings or room > old_room:
            copy_stretch(old[:old_room], new[:room], tail, count)
    return found


def _on(axis: int, places: slice | Numbers) -> tuple[slice | Numbers, ...]:
    """An index that selects places on an axis, and everything on the axes before."""
    return (*[slice(None)] * axis, places)


def _shape(array: NDArray[Any], room: int, axis: int) -> tuple[int, ...]:
    return (*array.shape[:axis], room, *array.shape[axis + 1 :])
