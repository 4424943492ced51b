"""What kernels read of numbers where they lie."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sase.engine.kernels.jit import arrow_memory
from sase.engine.kernels.jit.arrow_memory import form_of
from sase.engine.kernels.jit.intrinsics import LANES, low_bit

NUMBERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


@numba.njit  # type: ignore[misc, unused-ignore]
def lies_between(numbers: Any, form: int, least: int, most: int, out: Any) -> int:
    """Which numbers lie between two, by place, as far as that is asked of many at once."""
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
