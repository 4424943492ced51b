"""Values that kernels read of numbers and batches where they lie, against those of Arrow."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sase.engine.columns.arrow.gate import ExportedBatch
from sase.engine.kernels.jit import arrow_memory
from sase.engine.kernels.jit.arrow_memory import CHILDREN, DICTIONARY, form_of
from sase.engine.kernels.jit.intrinsics import LANES, low_bit

NUMBERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


@numba.njit  # type: ignore[misc, unused-ignore]
def read(batch: int, form: int, out: Any) -> bool:
    """The numbers of the first column, and whether there is no NULL among them."""
    array = arrow_memory.field(arrow_memory.field(batch, CHILDREN), 0)
    address = arrow_memory.numbers_at(array, form)
    for row in range(len(out)):
        out[row] = arrow_memory.number(address, form, row)
    return arrow_memory.is_whole(array)


@numba.njit  # type: ignore[misc, unused-ignore]
def has_dictionary(batch: int, known: Any) -> bool:
    """Whether that of the first column is a known one."""
    array = arrow_memory.field(arrow_memory.field(batch, CHILDREN), 0)
    return arrow_memory.is_same(arrow_memory.field(array, DICTIONARY), known)


@given(
    st.sampled_from(NUMBERS), st.lists(st.integers(-128, 127) | st.none(), min_size=1), st.data()
)
def test_numbers(name: str, values: list[int | None], data: st.DataObject) -> None:
    """Of any slice, also where Arrow does not know yet whether it has NULLs."""
    dtype = np.dtype(name)
    given = [None if value is None else value % 128 - 64 * (dtype.kind == "i") for value in values]
    given *= data.draw(st.sampled_from([1, 20]))
    whole = pa.array(given, pa.from_numpy_dtype(dtype))
    begin = data.draw(st.integers(0, len(given)))
    count = data.draw(st.integers(0, len(given) - begin))
    uncounted = pa.Array.from_buffers(whole.type, count, whole.buffers(), -1, begin)
    for numbers in (whole.slice(begin, count), uncounted):
        out = np.empty(count, np.int64)
        exported = ExportedBatch(pa.record_batch({"x": numbers}))
        form = form_of(8 * dtype.itemsize, is_signed=dtype.kind == "i")
        expected = given[begin : begin + count]
        assert read(exported.address, form, out) == (None not in expected)
        pairs = zip(expected, out.tolist(), strict=True)
        assert [None if e is None else o for e, o in pairs] == expected


DICTIONARY_OF_TWO = pa.array(["a", "b"])


@pytest.mark.parametrize(
    ("dictionary", "is_same"),
    [
        (DICTIONARY_OF_TWO, True),
        (pa.array(["z", "a", "b"])[1:], False),
        (DICTIONARY_OF_TWO[:1], False),
        (pa.array(["a", "b"]), False),
        (pa.array(["a", None]), False),
        (pa.array([1, 2]), False),
    ],
)
def test_dictionaries(dictionary: pa.Array, *, is_same: bool) -> None:
    """The same one is the same memory: the content of another one is not looked at."""
    buffers = [buffer.address if buffer else 0 for buffer in DICTIONARY_OF_TWO.buffers()]
    column = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), dictionary)
    exported = ExportedBatch(pa.record_batch({"x": column}))
    assert has_dictionary(exported.address, np.array([0, 2, *buffers])) == is_same


def test_nothing_is_held_any_more() -> None:
    before = pa.total_allocated_bytes()
    for _ in range(3):
        exported = ExportedBatch(pa.record_batch({"x": pa.array(range(1000))}))
        assert pa.total_allocated_bytes() > before
        del exported
        assert pa.total_allocated_bytes() == before


@numba.njit  # type: ignore[misc, unused-ignore]
def lies_between(numbers: Any, form: int, least: int, most: int, out: Any) -> int:
    """Which numbers lie between two, by place, for many at once."""
    count = 0
    for first in range(0, len(numbers) - LANES + 1, LANES):
        bits = arrow_memory.between(numbers.ctypes.data + (first << (form >> 1)), form, least, most)
        while bits != 0:
            out[count] = first + low_bit(bits)
            bits &= bits - 1
            count += 1
    return count


@given(st.sampled_from(NUMBERS[:4]), st.integers(0, 2**32), st.data())
def test_numbers_between_two(name: str, seed: int, data: st.DataObject) -> None:
    """Wherever they begin in memory, also up to the least and the greatest there are."""
    dtype = np.dtype(name)
    ends = np.iinfo(dtype)
    least, most = sorted(data.draw(st.tuples(*[st.integers(ends.min, ends.max)] * 2)))
    drawn = np.random.default_rng(seed).integers(ends.min, ends.max, 131, dtype, endpoint=True)
    drawn[[0, 65, 70]], drawn[[63, 64, 71]] = least, most
    numbers = drawn[data.draw(st.integers(0, 3)) :]
    out = np.empty(len(numbers), np.int64)
    form = form_of(8 * dtype.itemsize, is_signed=dtype.kind == "i")
    count = lies_between(numbers, form, least, most, out)
    every = numbers[:128].astype(np.int64)
    assert out[:count].tolist() == np.flatnonzero((every >= least) & (every <= most)).tolist()
