"""Columns that no condition reads, of types that few have: shown by every way of running."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
import pytest

import sase

QUERY = "EVENT SEQ(A a, (SEQ(B b))+ g[]) WITHIN 9"


class Point(pa.ExtensionType):
    """As most define theirs: a class that compares has no hash."""

    def __init__(self) -> None:
        super().__init__(pa.int64(), "test.point")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point)

    __hash__ = None  # type: ignore[assignment]


def coded(values: pa.Array) -> pa.DictionaryArray:
    """A dictionary of which each value stands for some rows, and one row has none."""
    return pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 1, None], pa.int8()), values)


COLUMNS = {
    "an extension type": pa.ExtensionArray.from_storage(Point(), pa.array(range(5))),
    "a dictionary of lists": coded(pa.array([[5], [6, 7]])),
    "a dictionary of structs": coded(pa.array([{"a": 1}, {"a": None}])),
    "a dictionary of a dictionary": coded(pa.array(["x", "y"]).dictionary_encode()),
    "a dictionary with NULL": coded(pa.array(["x", None])),
    "runs": pa.RunEndEncodedArray.from_arrays([2, 5], ["x", "y"]),
    "views": pa.array(["x", "y", None, "z", "x"], pa.string_view()),
    "views of lists": pa.array([[1], [], None, [2], [3]], pa.list_view(pa.int8())),
    "maps": pa.array([[("a", 1)], [], None, [], []], pa.map_(pa.string(), pa.int64())),
    "bytes": pa.array([b"\xff", b"", None, b"a", b"b"], pa.large_binary()),
    "decimals of 256 bits": pa.array([1, 2, 3, 4, 5]).cast(pa.decimal256(60, 3)),
    "long durations": pa.array([timedelta(days=10**6)] * 5, pa.duration("s")),
    "half floats": pa.array([1.0, 2.0, 3.0, 4.0, 5.0], pa.float16()),
    "nothing": pa.nulls(5),
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_columns_of_odd_types(column: pa.Array) -> None:
    events = pa.table({"ts": range(1, 6), "type": ["A", "B", "A", "B", "B"], "v": column})
    expected = sase.match(QUERY, events).to_pylist()
    assert len(expected) == 10
    assert expected[0]["a"]["v"] == column[0].as_py()
    plan = sase.compile(QUERY, events)
    matcher, found = plan.open(), []
    for begin in range(0, 5, 2):
        found += matcher.push(events.slice(begin, 2)).to_pylist()
        matcher = plan.restore(matcher.snapshot())
    assert sorted([*found, *matcher.finish().to_pylist()], key=str) == sorted(expected, key=str)
    assert str(sase.why(QUERY, events))
