"""Numbers are found where they lie, and only where they are proved and none is NULL."""

from __future__ import annotations

import ctypes

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sase
from sase.engine.columns.gate import indexes_at, numbers_at
from sase.engine.pipeline.matcher import Matcher
from tests.engine.columns.test_gate import bits, buffer, streamed

NUMBERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
PUSHED, DICTIONARY = "fused push", pa.array(["a", "b", "c"])


def read(address: int, dtype: np.dtype[np.generic], rows: int) -> list[int]:
    """The numbers at an address."""
    return np.frombuffer(ctypes.string_at(address, rows * dtype.itemsize), dtype).tolist()


@given(st.sampled_from(NUMBERS), st.lists(st.integers(0, 2) | st.none()), st.data())
def test_numbers_of_any_slice(name: str, values: list[int | None], data: st.DataObject) -> None:
    dtype = np.dtype(name)
    whole = pa.array(values, pa.from_numpy_dtype(dtype))
    begin = data.draw(st.integers(0, len(values)))
    numbers = whole.slice(begin, data.draw(st.integers(0, len(values) - begin)))
    coded = pa.DictionaryArray.from_arrays(numbers, DICTIONARY)
    expected = numbers.to_pylist()
    for address in (numbers_at(numbers, dtype.itemsize), indexes_at(coded, dtype.itemsize)):
        assert (address is None) == (None in expected)
        if address is not None:
            assert read(address, dtype, len(numbers)) == expected


COUNTED, TWO = [None, buffer([1, 2], "i8")], pa.int64()
UNPROVED = {
    "before the memory": pa.Array.from_buffers(TWO, 2, COUNTED, offset=-1),
    "far before it": pa.Array.from_buffers(TWO, 2, COUNTED, offset=-(2**40)),
    "NULLs miscounted": pa.Array.from_buffers(TWO, 2, [bits(1, 1), COUNTED[1]], 2),
}


@pytest.mark.parametrize("name", UNPROVED)
def test_what_is_not_proved(name: str) -> None:
    numbers = UNPROVED[name]
    assert numbers_at(numbers, 8) is None
    kind, count = pa.dictionary(pa.int64(), pa.string()), numbers.null_count
    coded = pa.DictionaryArray.from_buffers(
        kind, 2, numbers.buffers(), DICTIONARY, count, numbers.offset
    )
    assert indexes_at(coded, 8) is None


TYPES = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int64()), DICTIONARY)


def batch(first: int, **others: pa.Array) -> pa.RecordBatch:
    """An `a` and a `b` with a key, and some columns in place of these."""
    columns = {"type": TYPES, "ts": pa.array([first, first + 1]), "id": pa.array([1, 1])}
    return pa.record_batch(columns | others)


def matcher_of(first: pa.RecordBatch) -> Matcher:
    return sase.compile("EVENT SEQ(a a, b b) WHERE [id] WITHIN 10", first).open()


@pytest.mark.parametrize("column", ["type", "ts", "id"])
@pytest.mark.parametrize("name", UNPROVED)
def test_a_push_of_what_is_not_proved(name: str, column: str) -> None:
    """It is refused, whatever was pushed before, and the matcher goes on without it."""
    matcher, bad = matcher_of(batch(0)), UNPROVED[name]
    for first in range(0, 100, 10):
        assert len(matcher.push(batch(first))) == 1
    if column == "type":
        bad = pa.DictionaryArray.from_buffers(
            TYPES.type, 2, bad.buffers(), DICTIONARY, bad.null_count, bad.offset
        )
    for hostile in (batch(100, **{column: bad}), pa.table(batch(100, **{column: bad}))):
        with pytest.raises(sase.DataError, match=f"`{column}`"):
            matcher.push(hostile)
    assert len(matcher.push(batch(200))) == 1
    assert [use.events for use in matcher.finish().report.fused if use.path == PUSHED] == [20]


def test_lengths_beyond_the_memory() -> None:
    count = 1234
    columns = {
        "type": pa.DictionaryArray.from_arrays(pa.array([0, 1] * (count // 2)), DICTIONARY),
        "ts": pa.array(range(count)),
        "id": pa.array([n % 7 for n in range(count)]),
    }
    good = pa.table(columns)
    matcher = matcher_of(good.to_batches()[0])
    matcher.push(good)
    for more in (count + 1, 8 * count, 2**40):
        with pytest.raises(sase.DataError, match="is not what it says"):
            matcher.push(streamed(good, {count: more}))
