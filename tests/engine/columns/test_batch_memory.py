"""Batches are read where they lie, and only their proved parts."""

from __future__ import annotations

import ctypes
from typing import Any

import pyarrow as pa
import pytest

import sase
from sase.engine.columns.arrow.gate import ExportedBatch
from sase.engine.kernels.jit.arrow_memory import CHILDREN, OFFSET
from sase.engine.pipeline.matcher import Matcher
from tests.engine.columns.test_gate import NOT_UTF8, bits, buffer, streamed, texts

PUSHED, DICTIONARY = "fused push", pa.array(["a", "b", "c"])
COUNTED, TWO = [None, buffer([1, 2], "i8")], pa.int64()
UNPROVED = {
    "before the memory": pa.Array.from_buffers(TWO, 2, COUNTED, offset=-1),
    "far before it": pa.Array.from_buffers(TWO, 2, COUNTED, offset=-(2**40)),
    "NULLs miscounted": pa.Array.from_buffers(TWO, 2, [bits(1, 1), COUNTED[1]], 2),
}


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
    """It is refused, whatever was pushed before, and the matcher continues without it."""
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
        with pytest.raises(sase.DataError, match="differs from its description"):
            matcher.push(streamed(good, {count: more}))


class Exported:
    """A batch by the C data interface."""

    def __init__(self, *capsules: object) -> None:
        self._capsules = capsules

    def __arrow_c_array__(self, requested: object = None) -> tuple[object, ...]:
        return self._capsules


def moved(array: pa.Array, offset: int) -> pa.Array:
    """An array as another library may hand it over: with an offset of its own."""
    whole = pa.record_batch({"x": array})
    exported = ExportedBatch(whole)
    (child,) = words(words(exported.address)[CHILDREN], 1)
    words(child)[OFFSET] = offset
    return pa.record_batch(Exported(whole.schema.__arrow_c_schema__(), exported.held)).column(0)


def words(address: int, count: int = 8) -> Any:
    return (ctypes.c_int64 * count).from_address(address)


TWO_TEXTS = pa.array(["a", "b"])
# Columns that the query does not ask for.
OTHERS: dict[str, tuple[pa.Array, str | None]] = {
    "texts before the memory": (moved(TWO_TEXTS, -1), "begins 1 rows before it"),
    "texts that go back": (texts([0, 3, 1]), "differs from its description"),
    "texts that are none": (texts([0, 2, 2], NOT_UTF8), "is not UTF-8"),
    "numbers before the memory": (UNPROVED["far before it"], "rows before it"),
    "NULLs miscounted": (UNPROVED["NULLs miscounted"], "differs from its description"),
    "a dictionary before its memory": (
        pa.DictionaryArray.from_arrays(pa.array([0, 1]), moved(TWO_TEXTS, -1), safe=False),
        "begins 1 rows before it",
    ),
    "a struct of texts that go back": (
        pa.StructArray.from_arrays([texts([0, 3, 1])], ["x"]),
        "differs from its description",
    ),
    "sound texts": (TWO_TEXTS, None),
    "sound structs": (pa.array([{"x": 1}, {"x": None}]), None),
}


# Those that a fused push leaves to the loader, if it has all columns proved.
REFUSED = ("texts before the memory", "numbers before the memory", "NULLs miscounted")


@pytest.mark.parametrize("is_wide", [False, True])
@pytest.mark.parametrize("name", OTHERS)
def test_columns_that_nobody_reads(name: str, *, is_wide: bool) -> None:
    """They are proved when they are shown, or copied to be kept, and until then may be anything."""
    other, why = OTHERS[name]
    more = {f"more{n}": pa.array([1, 2]) for n in range(20 * is_wide)}
    first = batch(0, other=other, **more)
    matcher = sase.compile("EVENT SEQ(a a, b b) WHERE [id] WITHIN 10000", first.schema).open()
    found = [matcher.push(batch(begin, other=other, **more)) for begin in range(0, 400, 2)]
    assert [len(each) for each in found] == list(range(1, 201))
    taken = [use.events for use in matcher.finish().report.fused if use.path == PUSHED]
    assert taken == ([0] if name in REFUSED and not is_wide else [398])
    if why is None:
        assert len(found[-1].to_arrow()) == 200
    else:
        with pytest.raises(sase.DataError, match=why):
            found[-1].to_arrow()
