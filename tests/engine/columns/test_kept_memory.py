"""Large memory is used again, and no two arrays that live share any."""

from __future__ import annotations

import gc
import threading
from collections import deque

import numpy as np
import pyarrow as pa
import pytest

from sase.engine.columns import kept_memory, result_memory
from sase.engine.columns.arrow.small_chunks import copied
from sase.engine.columns.kept_memory import KEPT, LARGE, kept_bytes, reused
from sase.engine.columns.result_memory import ResultMemory

NUMBERS = LARGE // 8


def address(array: np.ndarray) -> int:
    return int(array.ctypes.data)


@pytest.fixture
def nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory of other users is not taken, neither now nor when their garbage is found.

    Nobody looks for garbage among the objects of other tests, which are millions.
    """
    gc.freeze()
    monkeypatch.setattr(kept_memory, "_kept", deque())


@pytest.mark.skipif(not kept_memory.MAY_KEEP, reason="memory cannot be marked as free here")
@pytest.mark.usefixtures("nothing_is_kept")
def test_what_is_free_is_used_again() -> None:
    """By whoever asks for as much, or for half of it; as long as a part is held it is not free."""
    first = reused((4, NUMBERS))
    first[:] = 1
    place, part = address(first), first[1, :10]
    del first
    assert address(reused((4, NUMBERS))) != place
    assert part.tolist() == [1] * 10
    del part
    gc.collect()
    assert address(reused((3, NUMBERS))) == place
    gc.collect()
    small = reused((NUMBERS,))
    assert address(small) != place
    small[:] = 7  # all of it can be written to


@pytest.mark.skipif(not kept_memory.MAY_KEEP, reason="memory cannot be marked as free here")
@pytest.mark.usefixtures("nothing_is_kept")
def test_the_memory_of_a_copied_column_is_used_again() -> None:
    """Not before the column is gone."""
    column = pa.chunked_array([np.arange(NUMBERS), np.arange(5)])
    first, second = copied(column), copied(column)
    assert first is not None
    assert second is not None
    assert first.equals(column.combine_chunks())
    place = first.buffers()[1].address
    assert second.buffers()[1].address != place
    del first
    gc.collect()
    third = copied(column)
    assert third is not None
    assert third.buffers()[1].address == place
    assert third.equals(second)


@pytest.mark.skipif(not kept_memory.MAY_KEEP, reason="memory cannot be marked as free here")
@pytest.mark.usefixtures("nothing_is_kept")
def test_what_grows_leaves_nothing_of_what_it_has_outgrown() -> None:
    """Memory on other pages stays, and a block of the same size serves again."""
    other = reused((NUMBERS,))
    del other
    array = reused((NUMBERS,), is_huge=True)
    for times in (3, 9, 27):
        array = reused((times * NUMBERS,), is_huge=True)
        assert kept_bytes() <= (1 + times // 3) * LARGE
    place = address(array)
    del array
    gc.collect()
    assert kept_bytes() == (1 + 9 + 27) * LARGE
    assert address(reused((20 * NUMBERS,), is_huge=True)) == place


def test_no_more_is_kept_than_is_said() -> None:
    """Nor is a block that is small, or larger than all kept memory."""
    held = [reused((KEPT // 32,)) for _ in range(6)]
    large, small = reused((KEPT // 8 + 1,)), reused((10,))
    before = kept_bytes()
    del small, large
    assert kept_bytes() == before
    del held
    assert before <= kept_bytes() <= KEPT


def test_threads_share_nothing() -> None:
    """Each finds in its memory its own values, however they take turns."""
    wrong = list[int]()

    def work(number: int) -> None:
        for turn in range(30):
            array = reused((NUMBERS + turn,))
            array[:: NUMBERS // 64] = number
            if (array[:: NUMBERS // 64] != number).any():
                wrong.append(turn)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_results_share_pieces_and_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays of any sizes, each with the values that were written to it when all are there."""
    monkeypatch.setattr(result_memory, "FIRST", 100_000)
    memory, rng, found = ResultMemory(), np.random.default_rng(7), list[np.ndarray]()
    for number in range(200):
        shape = tuple(int(size) for size in rng.integers(1, 3000, rng.integers(1, 3)))
        shape = (min(shape[0], 40), *shape[1:]) if len(shape) > 1 else shape
        array = memory.empty(*shape)
        array[...] = number
        found.append(array if number % 3 else memory.copy(array))
    assert all((array == number).all() for number, array in enumerate(found))


@pytest.mark.parametrize("count", [3, 5, 8])
def test_what_is_split_off_is_written_no_more(count: int) -> None:
    """Whether it is copied or the rest of the buffer given up."""
    memory = ResultMemory()
    room = memory.empty(2, 8)
    room[...] = 1
    found, other = memory.detach(room, count)
    other[...] = 2
    assert found.shape == (2, count) and other.shape == room.shape
    assert (found == 1).all()
