"""Arrays that grow: zeros on huge pages, and rings with numbers that move."""

from __future__ import annotations

import mmap

import numpy as np
import pytest

from sase.engine.columns import arrays
from sase.engine.columns.arrays import copy_stretch, grown, with_rooms, zeros


@pytest.mark.parametrize("count", [0, 10, arrays.HUGE // 8, arrays.HUGE // 8 + 5])
@pytest.mark.parametrize("is_known", [True, False])
def test_zeros_of_any_size(count: int, is_known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a system has no huge pages they are those of NumPy."""
    if not is_known:
        monkeypatch.delattr(mmap, "MADV_HUGEPAGE", raising=False)
    found = zeros((count, 2))
    assert found.shape == (count, 2)
    assert found.dtype == np.int64 and found.flags.c_contiguous
    assert not found.any()
    found[:] = 7
    larger = grown(found, count + 3)
    assert (larger[:count] == 7).all() and not larger[count:].any()


def test_zeros_without_memory() -> None:
    with pytest.raises(MemoryError, match="there is no memory for"):
        zeros((1 << 56,))


@pytest.mark.parametrize("begin", [0, 3, 6, 9, 13, 29])
@pytest.mark.parametrize("count", [0, 1, 5, 8])
@pytest.mark.parametrize("room", [8, 16, 64])
def test_a_stretch_of_a_ring(begin: int, count: int, room: int) -> None:
    """Each number is at its place in either."""
    array, other = np.zeros((8, 2), np.int64), np.zeros((room, 2), np.int64)
    numbers = np.arange(begin, begin + count)
    array[numbers & 7] = numbers[:, np.newaxis] + 1
    copy_stretch(array, other, begin, begin + count)
    assert (other[numbers & room - 1] == numbers[:, np.newaxis] + 1).all()
    assert np.count_nonzero(other) == 2 * count


@pytest.mark.parametrize("large", [16, 1 << 16])
def test_rings_that_grow_again_and_again(large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each number stays at its place: where room is reserved they are moved, and not copied."""
    monkeypatch.setattr(arrays, "LARGE", large)
    rng, tails, counts, rooms = np.random.default_rng(1), [0, 0], [0, 0], [4, 4]
    rings, copies = np.zeros((2, 4, 2), np.int64), 0
    for _ in range(20):
        for level, ring in enumerate(rings):
            tails[level] += int(rng.integers(0, counts[level] - tails[level] + 1))
            until = tails[level] + int(rng.integers(0, rooms[level] + 1))
            for number in range(counts[level], max(counts[level], until)):
                ring[number & rooms[level] - 1] = number + 1, level
            counts[level] = max(counts[level], until)
        before, rooms = rooms, [room * int(rng.integers(1, 3)) for room in rooms]
        grown_rings = with_rooms(rings, before, rooms, tails, counts)
        copies += grown_rings is not rings
        rings = grown_rings
        for level, ring in enumerate(rings):
            numbers = np.arange(tails[level], counts[level])
            found = ring[numbers & rooms[level] - 1]
            assert (found[:, 0] == numbers + 1).all() and (found[:, 1] == level).all()
    assert max(rooms) > 16 * arrays.RESERVED
    assert copies == (4 if large == 16 else 11)
