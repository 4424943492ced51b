"""One logical table in the many layouts that Arrow has for it, and the containers it comes in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

INDEXES = [pa.int8(), pa.int16(), pa.int32(), pa.int64()]
INDEXES += [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
STRINGS = [pa.string(), pa.large_string(), pa.string_view()]
INTEGERS = [pa.int64(), pa.int32(), pa.int16(), pa.int8(), pa.uint64()]
FLOATS = [pa.float64()]
DECIMALS = [pa.decimal128(18, 2), pa.decimal64(18, 2), pa.decimal256(40, 2), pa.decimal128(38, 2)]


@st.composite
def layouts(draw: st.DrawFn, values: Sequence[Any], types: Sequence[pa.DataType]) -> Any:
    """A chunked array of the values, in one of the types that can hold them."""
    plain = draw(st.sampled_from([t for t in types if holds(t, values)]))
    cuts = sorted(draw(st.lists(st.integers(0, len(values)), max_size=3)))
    ends = [0, *cuts, len(values)]
    chunks = [list(values[a:b]) for a, b in zip(ends, ends[1:], strict=False)]
    match draw(st.sampled_from(["plain", "dictionary", "runs"])):
        case "plain":
            made = [padded(draw, chunk, lambda v: pa.array(v, plain)) for chunk in chunks]
        case "dictionary":
            index = draw(st.sampled_from(INDEXES))
            made = [
                padded(draw, c, lambda v: with_dictionary(draw, v, plain, index)) for c in chunks
            ]
        case _:
            made = [padded(draw, chunk, lambda v: with_runs(v, plain)) for chunk in chunks]
    return pa.chunked_array(made, made[0].type)


def holds(arrow: pa.DataType, values: Sequence[Any]) -> bool:
    try:
        pa.array(values, arrow)
    except (pa.ArrowException, OverflowError):
        return False
    return True


def padded(draw: st.DrawFn, values: list[Any], make: Any) -> pa.Array:
    """An array that is a slice of a longer one."""
    before, after = draw(st.integers(0, 9)), draw(st.integers(0, 2))
    junk = values[-1:]
    if not junk:
        return make([])
    return make(junk * before + values + junk * after).slice(before, len(values))


def with_dictionary(
    draw: st.DrawFn, values: list[Any], plain: pa.DataType, index: pa.DataType
) -> pa.Array:
    """Codes into a dictionary that has values twice, NULL, and none of the values in order."""
    entries = list(dict.fromkeys(v for v in values if v is not None and v == v))
    twice = draw(st.lists(st.sampled_from(entries), max_size=2)) if entries else []
    entries = draw(st.permutations([*entries, *twice, None, *[v for v in values if v != v][:1]]))
    codes = []
    for value in values:
        places = [i for i, entry in enumerate(entries) if same(entry, value)]
        codes.append(draw(st.sampled_from([*places, None] if value is None else places)))
    return pa.DictionaryArray.from_arrays(pa.array(codes, index), pa.array(entries, plain))


def with_runs(values: list[Any], plain: pa.DataType) -> pa.Array:
    ends, entries = [], []
    for number, value in enumerate(values, 1):
        if entries and same(entries[-1], value):
            ends[-1] = number
        else:
            ends.append(number)
            entries.append(value)
    return pa.RunEndEncodedArray.from_arrays(pa.array(ends, pa.int32()), pa.array(entries, plain))


def same(left: Any, right: Any) -> bool:
    return left is right or left == right or (left != left and right != right)


class Stream:
    """It is only known to export a stream, as a query of another library does."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


class Frame(Stream):
    """It is in memory, as data frames are."""

    def __len__(self) -> int:
        return len(self.table)


class Batch:
    """It exports a batch."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self.batch.__arrow_c_array__(requested_schema)


def containers(table: pa.Table) -> list[Any]:
    """The table in everything that can hold it."""
    found = [table, table.to_reader(), Stream(table), Frame(table)]
    if all(column.num_chunks == 1 for column in table.columns):
        (batch,) = table.to_batches() or [
            pa.RecordBatch.from_arrays([c.chunk(0) for c in table.columns], table.column_names)
        ]
        found += [batch, Batch(batch)]
    return found
