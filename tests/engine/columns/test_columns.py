"""Columns as arrays: their types, which of them are copied, and odd layouts one by one."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sase
from sase.binding import Schema
from sase.binding.types import BOOLEAN, INTEGER, STRING, UNKNOWN, DataType, Kind
from sase.engine.columns import EventColumn, Loader, describe
from tests.engine.columns.loading import load
from tests.engine.columns.plain import decoded

ONE_TYPE: dict[str, Any] = {"type": None, "types": "A"}


def column(values: Any, arrow: pa.DataType | None = None) -> EventColumn:
    """A column `x` of values, loaded."""
    array = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values, arrow)
    table = pa.table({"ts": range(len(array)), "x": array})
    return load(table, describe(table, **ONE_TYPE), ["x"]).columns["x"]


@pytest.mark.parametrize(
    ("values", "arrow", "expected", "data_type"),
    [
        ([1, None, -1], pa.int8(), [1, None, -1], INTEGER),
        ([2**32 - 1, None], pa.uint32(), [2**32 - 1, None], INTEGER),
        ([True, None, False], pa.bool_(), [True, None, False], BOOLEAN),
        (
            [1.5, None, float("nan")],
            pa.float32(),
            [1.5, None, None],
            DataType(Kind.FLOAT, width=32),
        ),
        ([np.float16(1.5), None], pa.float16(), [1.5, None], DataType(Kind.FLOAT, width=16)),
        ([1, None], pa.timestamp("ns"), [1, None], DataType(Kind.TIMESTAMP, "ns")),
        ([1, None], pa.timestamp("s", "UTC"), [1, None], DataType(Kind.TIMESTAMP, "s")),
        ([dt.date(1970, 1, 3), None], pa.date32(), [2, None], DataType(Kind.TIMESTAMP, "d")),
        ([dt.date(1969, 12, 30), None], pa.date64(), [-2, None], DataType(Kind.TIMESTAMP, "d")),
        ([5, None], pa.duration("ms"), [5, None], DataType(Kind.INTERVAL, "ms")),
        ([Decimal("-1.20"), None], pa.decimal128(20, 2), [Decimal("-1.20"), None], None),
        ([Decimal("9.9"), None], pa.decimal32(5, 1), [Decimal("9.9"), None], None),
        ([None, None], pa.null(), [None, None], UNKNOWN),
        (["b", None, "a"], pa.string_view(), ["b", None, "a"], STRING),
    ],
)
def test_kinds(
    values: list[Any], arrow: pa.DataType, expected: list[Any], data_type: DataType | None
) -> None:
    """Whatever the width in Arrow, a kind has one kind of array once some values are taken."""
    whole = column(values, arrow)
    found = whole.take(np.arange(len(values)))
    assert decoded(whole) == decoded(found) == expected
    assert found.type == (data_type or DataType(Kind.DECIMAL, scale=arrow.scale))
    wanted = {Kind.FLOAT: np.float64, Kind.STRING: np.int32}.get(found.type.kind, np.int64)
    assert found.values.dtype == wanted
    for each in (whole, found):
        assert each.values.flags.c_contiguous
        assert not each.values.flags.writeable


def test_what_needs_no_change_is_not_copied() -> None:
    """Sorted int64 times, int64 and float64 columns, int32 codes: slices of Arrow's own memory."""
    codes = pa.array([0, 1, 0, 1, 0], pa.int32())
    table = pa.table(
        {
            "ts": [1, 2, 3, 4, 5],
            "x": [5, 6, 7, 8, 9],
            "f": [0.5] * 5,
            "type": pa.DictionaryArray.from_arrays(codes, ["A", "B"]),
        }
    )
    events = load(table.slice(1, 3), describe(table), ["x", "f", "type"])
    assert events.ts.tolist() == [2, 3, 4]
    assert events.columns["type"].values.tolist() == [1, 0, 1]
    for name, array in [("ts", events.ts), *((n, c.values) for n, c in events.columns.items())]:
        given = table[name].chunk(0)
        given = given.indices if name == "type" else given
        assert np.shares_memory(array, given.to_numpy())
    assert all(c.valid is None for c in events.columns.values())


def test_writable_memory_is_not_frozen_for_its_owner() -> None:
    """Arrow over a NumPy array: the events cannot be written through, the array still can."""
    owned = np.arange(3)
    found = column(pa.array(owned))
    assert np.shares_memory(found.values, owned)
    assert not found.values.flags.writeable
    assert owned.flags.writeable


def test_misaligned_memory_is_copied() -> None:
    """As it may come over a wire; compiled code would read it wrongly."""
    data = pa.py_buffer(b"\0" + np.arange(4).tobytes())
    array = pa.Array.from_buffers(pa.int64(), 4, [None, data.slice(1)])
    found = column(array)
    assert found.values.flags.aligned
    assert found.values.tolist() == [0, 1, 2, 3]


def test_codes_under_nulls_may_be_anything() -> None:
    """An index that is NULL need not be one of the dictionary."""
    index = np.array([1, 99, -5, 0], np.int8)
    buffers = [pa.py_buffer(bytes([0b1001])), pa.py_buffer(index.tobytes())]
    for values in (["a", "b"], ["a", "a"], ["a", None]):
        indices = pa.Array.from_buffers(pa.int8(), 4, buffers)
        array = pa.DictionaryArray.from_arrays(indices, values, safe=False)
        found = column(array)
        assert decoded(found) == [values[1], None, None, values[0]]
        assert all(found.values[1:3] == -1)
    nothing = pa.DictionaryArray.from_arrays(
        pa.array([None] * 2, pa.int8()), pa.array([], "string")
    )
    assert decoded(column(nothing)) == [None, None]


@pytest.mark.parametrize(
    ("index", "kept"), [("int8", "int8"), ("int16", "int16"), ("uint8", "int32")]
)
def test_indices_stay_as_narrow_as_they_are(index: str, kept: str) -> None:
    """As many values as the indices can count: nothing is added to the last of them."""
    names = [f"T{number}" for number in range(128)]
    codes = np.arange(127, -1, -1).astype(index)
    array = pa.DictionaryArray.from_arrays(pa.array(codes), names)
    assert column(array).values.dtype == kept
    table = pa.table({"ts": range(128), "type": array, "price": range(128)})
    query = "EVENT SEQ(T127 a, T0 b) WHERE a.price >= 0 AND b.price > 100"
    assert sase.match(query, table).rows.to_pylist() == [{"a": 0, "b": 127}]
    assert len(sase.match(query.replace("100", "127"), table)) == 0


def test_the_values_of_a_dictionary_are_distinct() -> None:
    """Then equal codes are equal strings, through all chunks."""
    chunks = [
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.uint8()), ["a", "b", "a"]),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 1], pa.uint8()), ["b", "c"]),
    ]
    found = column(pa.chunked_array(chunks))
    assert decoded(found) == ["a", "b", "a", "b", "c", "c"]
    assert sorted(found.dictionary.to_pylist()) == ["a", "b", "c"]
    assert found.valid is None


def test_nan_under_a_null_makes_no_mask_of_its_own() -> None:
    """NaN is NULL where it is a value."""
    data = pa.py_buffer(np.array([1.0, np.nan]).tobytes())
    array = pa.Array.from_buffers(pa.float64(), 2, [pa.py_buffer(b"\1"), data])
    assert decoded(column(array)) == [1.0, None]
    assert column([1.0, float("inf")]).valid is None


def test_only_named_columns_are_read() -> None:
    """A column that cannot be read is no error unless it is named, whatever holds it."""
    table = pa.table({"ts": [1], "type": ["A"], "odd": [[1]], "x": [2]})
    assert list(load(table, describe(table), ["x", "x"]).columns) == ["x"]
    rows = [{"ts": 1, "type": "A", "odd": 1}, {"ts": 2, "type": "A", "odd": "one"}]
    assert len(load(rows, describe(rows), [])) == 2


def test_the_time_as_a_column() -> None:
    """Floats are seen as the microseconds that they are counted in."""
    table = pa.table({"ts": [2.5, 0.5], "type": ["A", "A"]})
    events = load(table, describe(table), ["ts"])
    assert events.columns["ts"].type == INTEGER
    assert events.columns["ts"].values.tolist() == [500_000, 2_500_000]


def test_columns_of_one_name_and_several_kinds() -> None:
    """Each type has its own; values of one kind are brought to the finest of it."""
    events = {
        "A": pa.table({"ts": [1, 4], "x": [1, 2], "t": pa.array([1, 2], pa.timestamp("s"))}),
        "B": pa.table({"ts": [2], "x": ["one"], "t": pa.array([1500], pa.timestamp("ms"))}),
        "C": pa.table({"ts": [3], "x": pa.array([7], pa.int8())}),
    }
    schema = describe(events)
    loaded = load(events, schema, ["x", "t"])
    assert list(loaded.columns) == ["t"]
    assert decoded(loaded.column("x", "A")) == [1, None, 7, 2]
    assert loaded.column("x", "C") is loaded.column("x", "A")
    assert decoded(loaded.column("x", "B")) == [None, "one", None, None]
    assert decoded(loaded.column("t", "B")) == [1000, 1500, None, 2000]
    for name in "ABC":
        known = schema.attributes(name) or {}
        assert all(loaded.column(n, name).type == known[n] for n in ("x", "t") if n in known)


def test_decimals_of_several_scales() -> None:
    """They are brought to the largest."""
    events = {
        "A": pa.table({"ts": [1], "x": pa.array([Decimal("1.5")], pa.decimal128(9, 1))}),
        "B": pa.table({"ts": [2], "x": pa.array([Decimal("0.25")], pa.decimal128(9, 2))}),
    }
    found = load(events, describe(events), ["x"]).columns["x"]
    assert decoded(found) == [Decimal("1.50"), Decimal("0.25")]
    assert found.values.tolist() == [150, 25]


def test_what_a_batch_lacks_is_read_as_the_schema_says() -> None:
    """Rows from JSON: no point where there is no fraction, no type where there is no value."""
    schema = describe([{"ts": 1, "type": "A", "f": 0.5, "s": "a"}])
    found = load([{"ts": 1, "type": "A", "f": 2, "s": None}], schema, ["f", "s"])
    assert found.columns["f"].values.dtype == np.float64
    assert {name: decoded(c) for name, c in found.columns.items()} == {"f": [2.0], "s": [None]}
    assert found.columns["s"].type == STRING


def test_a_loader_meets_many_inputs() -> None:
    """Columns in another order, other layouts, and other dictionaries in the same place."""
    loader = Loader(Schema(), ["s", "x"])
    tables = [
        pa.table({"ts": [1], "type": ["A"], "s": ["p"], "x": [1]}),
        pa.table({"x": [1.5], "s": ["q"], "type": ["B"], "ts": [2]}),
        pa.table({"ts": [1], "type": ["C"], "s": pa.array(["r"]).dictionary_encode(), "x": [1]}),
        pa.table({"ts": [1], "type": ["C"], "s": pa.array(["z"]).dictionary_encode(), "x": [1]}),
        pa.table({"ts": [1, 2], "type": ["D", "A"], "s": ["p", None], "x": [1, 2]}),
    ]
    for table in [*tables, *reversed(tables)]:
        events = loader.load(table)
        names = [events.type_names[code] for code in events.types]
        assert names == table["type"].to_pylist()
        assert decoded(events.columns["s"]) == table["s"].to_pylist()
        assert decoded(events.columns["x"]) == table["x"].to_pylist()
