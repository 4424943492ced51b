"""Bad rows: the row of the input as it was given, the column, the value, and a remedy."""

from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sase.engine.columns import describe
from sase.errors import DataError, SaseError
from tests.engine.columns.loading import load

NAN = float("nan")
GREAT = 2**63


def chunked(*values: Any, arrow: pa.DataType | None = None) -> pa.ChunkedArray:
    """One chunk for each of the lists."""
    return pa.chunked_array([pa.array(v, arrow) for v in values], arrow)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"ts": chunked([3, 2], [1, None])},
            "row 3 (from 0): `ts` is NULL: every event needs a time; fill it in, or leave the row"
            " out",
        ),
        (
            {"ts": chunked([1.0, 2.0], [NAN, 0.0])},
            "row 2 (from 0): `ts` is nan: floats are seconds",
        ),
        ({"ts": chunked([1.0, 2.0], [None, NAN])}, "row 2 (from 0): `ts` is NULL: every event"),
        ({"ts": chunked([1.0, 2.0], [3.0, 1e300])}, "row 3 (from 0): `ts` is 1e+300: floats are"),
        ({"ts": chunked([1.0, 2.0], [3.0, -float("inf")])}, "row 3 (from 0): `ts` is -inf: "),
        (
            {"ts": chunked([1, 2], [3, GREAT], arrow=pa.uint64())},
            "row 3 (from 0): `ts` is 9223372036854775808: the greatest integer is"
            " 9223372036854775807; leave the row out, or give a time in a coarser unit",
        ),
        ({"ts": pa.nulls(4)}, "row 0 (from 0): `ts` is NULL: every event needs a time"),
        (
            {"type": chunked(["A", "B"], ["A", None])},
            "row 3 (from 0): `type` is NULL: every event needs a type; fill it in, or leave the row"
            " out",
        ),
        (
            {
                "type": pa.DictionaryArray.from_arrays(
                    pa.array([0, 0, 1, 0], pa.int8()), pa.array(["A", None])
                )
            },
            "row 2 (from 0): `type` is NULL",
        ),
        (
            {"seq": chunked([1, 2], [None, 1])},
            "row 2 (from 0): `seq` is NULL: every event needs one beside its time",
        ),
        (
            {"x": chunked([1, None], [GREAT, 1], arrow=pa.uint64())},
            "row 2 (from 0): `x` is 9223372036854775808: the greatest integer",
        ),
        (
            {"x": chunked([1, 2], [10**18, 1], arrow=pa.decimal128(30, 0))},
            "row 2 (from 0): `x` is 1000000000000000000: at most 18 digits can be read; round it,"
            " or give it as a float",
        ),
        (
            {"x": chunked([Decimal("-1e25"), 2], [3, 1], arrow=pa.decimal256(60, 2))},
            "row 0 (from 0): `x` is -10000000000000000000000000.00: at most",
        ),
    ],
)
def test_the_first_bad_row(columns: dict[str, Any], message: str) -> None:
    good = {"ts": [3, 2, 1, 0], "type": ["A"] * 4, "seq": [1, 2, 3, 4], "x": [1, 2, 3, 4]}
    table = pa.table(good | columns)
    with pytest.raises(DataError) as caught:
        load(table, describe(table, seq="seq"), ["x"])
    assert str(caught.value).startswith(message)
    (column,) = columns
    assert caught.value.column == column
    assert str(caught.value.row) == message.split()[1]


def test_values_that_are_not_there_are_not_bad() -> None:
    """Under a NULL there may be a number of any size, and unnamed columns are not looked at."""
    unsigned = pa.Array.from_buffers(
        pa.uint64(), 1, [pa.py_buffer(b"\0"), pa.py_buffer(b"\xff" * 8)]
    )
    table = pa.table({"ts": [1], "type": ["A"], "x": unsigned, "y": pa.array([GREAT], pa.uint64())})
    assert len(load(table, describe(table), ["x"])) == 1


def test_rows_are_numbered_through_several_inputs() -> None:
    """And named by their own input, too."""
    events = {"A": [{"ts": 1}, {"ts": 2}], "B": [{"ts": 1}, {"ts": None}]}
    with pytest.raises(DataError) as caught:
        load(events, describe(events), [])
    assert str(caught.value).startswith("row 3 (from 0), which is row 1 of `B`: `ts` is NULL: ")
    assert caught.value.row == 3


def test_an_integer_that_no_float_is() -> None:
    schema = describe([{"ts": 1, "type": "A", "x": 0.5}])
    with pytest.raises(DataError, match=r"row 0 \(from 0\): `x` is 9007199254740993: no float"):
        load([{"ts": 1, "type": "A", "x": 2**53 + 1}], schema, ["x"])


@pytest.mark.parametrize(
    ("values", "row", "why"),
    [
        ([1, 2, "three", 4], 2, "does not go with the values before it"),
        ([1, 2**63], 1, "is beyond the integers of 64 bits"),
        ([None, True, 1], 2, "does not go with the values before it"),
        # Arrow would take these.
        ([0.5, True], 1, "does not go with the values before it"),
        ([dt.date(2020, 1, 1), 5], 1, "does not go with the values before it"),
        ([dt.date(2020, 1, 1), float("nan")], 1, "does not go with the values before it"),
        ([np.datetime64("2020", "us"), np.int64(5)], 1, "does not go with the values before it"),
        ([dt.timedelta(1), 5], 1, "does not go with the values before it"),
        (["a", b"a"], 1, "does not go with the values before it"),
        (["a", "\ud800"], 1, "is no text in Unicode"),
    ],
)
def test_rows_that_have_no_type_in_common(values: list[Any], row: int, why: str) -> None:
    """An error if the column is read, of the row from which on it has none."""
    rows = [{"ts": 1, "type": "A", "x": value} for value in values]
    schema = describe(rows)
    assert len(load(rows, schema, [])) == len(rows)
    with pytest.raises(DataError) as caught:
        load(rows, schema, ["x"])
    assert str(caught.value).startswith(f"row {row} (from 0): `x` is {values[row]!r}, which {why}")
    assert (caught.value.row, caught.value.value) == (row, values[row])
    times = [{"ts": value, "type": "A"} for value in values]
    with pytest.raises(DataError, match="`ts` is"):
        describe(times)


def test_a_reader_that_fails() -> None:
    schema = pa.schema({"ts": pa.int64(), "type": pa.string()})

    def batches() -> Any:
        yield pa.record_batch([[1], ["A"]], schema=schema)
        raise pa.ArrowInvalid("the wire is cut")

    reader = pa.RecordBatchReader.from_batches(schema, batches())
    with pytest.raises(DataError, match="cannot be read beyond row 1: the wire is cut"):
        load(reader, describe(reader), [])


def test_the_error_is_one_of_ours_and_travels() -> None:
    error = DataError("row 1: wrong", 1, "x", 2)
    copy = pickle.loads(pickle.dumps(error))
    assert isinstance(copy, SaseError)
    assert (str(copy), copy.row, copy.column, copy.value) == ("row 1: wrong", 1, "x", 2)
