"""Columns that no condition reads, of types that few have: shown by every way of running."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sase
from sase.engine.results.sinks import FileSink
from tests.faults.processes import Programs

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
    """A dictionary of which each value belongs to some rows, and one row has none."""
    return pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 1, None], pa.int8()), values)


def union(second: pa.Array | None = None, *, is_dense: bool) -> pa.UnionArray:
    second = pa.array([*"vwxyz"]) if second is None else second
    codes, values = pa.array([0, 1, 1, 0, 1], pa.int8()), [pa.array(range(5)), second]
    if is_dense:
        return pa.UnionArray.from_dense(codes, pa.array(range(5), pa.int32()), values)
    return pa.UnionArray.from_sparse(codes, values)


RUNS = pa.RunEndEncodedArray.from_arrays([2, 5], ["x", "y"])
VIEWS = pa.array([*"vwxyz"], pa.string_view())
COLUMNS = {
    "a sparse union of runs": union(RUNS, is_dense=False),
    "a dense union of runs": union(RUNS, is_dense=True),
    "a sparse union of views": union(VIEWS, is_dense=False),
    "a dense union of views": union(VIEWS, is_dense=True),
    "a union of views in lists": pa.ListArray.from_arrays(range(6), union(VIEWS, is_dense=False)),
    "runs of a union": pa.RunEndEncodedArray.from_arrays([2, 5], union(is_dense=False).slice(3)),
    "a sparse union": union(is_dense=False),
    "a dense union": union(is_dense=True),
    "runs in a struct": pa.StructArray.from_arrays(
        [pa.RunEndEncodedArray.from_arrays([2, 5], ["x", "y"])], ["r"]
    ),
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
    events = events_of(column)
    expected = sase.match(QUERY, events).to_pylist()
    assert len(expected) == 10
    assert expected[0]["a"]["v"] == column[0].as_py()
    assert sorted(restarted(QUERY, events), key=str) == sorted(expected, key=str)
    assert str(sase.why(QUERY, events))


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_columns_of_odd_types_where_a_component_has_no_event(column: pa.Array) -> None:
    events = events_of(column).set_column(1, "type", [["A", "B", "D", "C", "C"]])
    values = dict(zip(range(1, 6), column.to_pylist(), strict=True))
    for query in (
        "EVENT SEQ(A a, B? b, C c)",
        "EVENT SEQ(A a, (SEQ(D d, B? b) OR SEQ(B b))+ g[], C c)",
    ):
        query += " WITHIN 9"
        expected = sase.match(query, events).to_pylist()
        shown = [row[name] for row in expected for name in ("a", "b", "c") if row.get(name)]
        shown += [i[name] for row in expected for i in row.get("g", ()) for name in i if i[name]]
        assert shown == [event | {"v": values[event["ts"]]} for event in shown]
        assert any(row.get("b", row.get("g", [{}])[0].get("b")) is None for row in expected)
        assert any(row.get("b", row.get("g", [{}])[0].get("b")) for row in expected)
        if "g[]" in query:
            assert sorted(restarted(query, events), key=str) == sorted(expected, key=str)
        else:
            streams = {"p": events.slice(0, 2), "q": events.slice(2)}
            assert sase.match(f"FROM p, q {query}", streams=streams).to_pylist() == expected


@pytest.mark.parametrize(("mode", "buffers"), [("sparse", 2), ("dense", 3)])
def test_an_empty_union_may_have_no_memory(mode: str, buffers: int) -> None:
    fields = [pa.field("0", pa.int64()), pa.field("1", pa.string_view())]
    children = [pa.array([], field.type) for field in fields]
    column = pa.Array.from_buffers(pa.union(fields, mode), 0, [None] * buffers, children=children)
    events = pa.table({"ts": pa.array([], pa.int64()), "type": pa.array([], pa.string())})
    found = sase.match("EVENT A a", events.append_column("v", column)).to_arrow()
    assert len(found) == 0 and "v" in [field.name for field in found.schema.field("a").type]


@pytest.mark.parametrize("outer", ["list", "struct", "union", "runs"])
def test_a_dictionary_of_an_extension_within_another_type(outer: str) -> None:
    """Arrow writes one and does not read it, so no snapshot has it: it is left out."""
    column = coded(pa.ExtensionArray.from_storage(Point(), pa.array([7, 8])))
    within: dict[str, Callable[[], pa.Array]] = {
        "list": lambda: pa.ListArray.from_arrays(range(6), column),
        "struct": lambda: pa.StructArray.from_arrays([column], ["x"]),
        "union": lambda: union(column, is_dense=False),
        "runs": lambda: pa.RunEndEncodedArray.from_arrays(range(1, 6), column),
    }
    events = events_of(within[outer]())
    expected = sase.match(QUERY, events.drop_columns("v")).to_pylist()
    assert sase.match(QUERY, events).to_pylist() == expected
    assert sorted(restarted(QUERY, events), key=str) == sorted(expected, key=str)
    with pytest.raises(sase.DataError, match=r"which Arrow cannot check: give its storage"):
        sase.match(QUERY, events, time="v")


def events_of(column: pa.Array) -> pa.Table:
    return pa.table({"ts": range(1, 6), "type": ["A", "B", "A", "B", "B"], "v": column})


def restarted(query: str, events: Any) -> list[Any]:
    """The matches of pushes that are cut by snapshots."""
    plan = sase.compile(query, events.schema)
    matcher, found = plan.open(), []
    for begin in range(0, len(events), 2):
        found += matcher.push(events.slice(begin, 2)).to_pylist()
        matcher = plan.restore(matcher.snapshot())
    return found + matcher.finish().to_pylist()


@pytest.mark.parametrize("outer", [None, "list", "struct"])
def test_an_extension_of_an_extension(outer: str | None) -> None:
    """Arrow's checks of one end the process: it is left out, and nothing can read it."""
    inner = pa.ExtensionArray.from_storage(pa.json_(), pa.array(["1"] * 5))
    column = pa.ExtensionArray.from_storage(pa.opaque(inner.type, "type", "vendor"), inner)
    if outer == "list":
        column = pa.ListArray.from_arrays(pa.array(range(6), pa.int32()), column)
    elif outer == "struct":
        column = pa.StructArray.from_arrays([column], ["x"])
    events = events_of(column)
    query = "EVENT SEQ(A a, B b) WITHIN 9"
    expected = sase.match(query, events.drop_columns("v")).to_pylist()
    assert len(expected) == 5
    for given in (events, events.to_reader()):
        assert sase.match(query, given).to_pylist() == expected
    found = restarted(query, events)
    assert sorted(found, key=str) == sorted(expected, key=str)
    with pytest.raises(sase.DataError, match=r"which Arrow cannot check: give its storage"):
        sase.match(query, events, time="v")
    with pytest.raises(sase.BindingError, match=r"`a.v` is a value that conditions cannot read"):
        sase.match("EVENT SEQ(A a, B b) WHERE a.v = b.v WITHIN 9", events)


def test_times_of_a_day_beyond_it_are_in_a_snapshot() -> None:
    """As they are in batches: only the memory of times is proved."""
    column = pa.array([2**30] * 5, pa.int32()).view(pa.time32("s"))
    assert len(restarted(QUERY, events_of(column))) == 10


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("s"), pa.duration("s")], ids=str)
def test_pandas_is_given_times_that_it_has_not(kind: pa.DataType) -> None:
    width = pa.int32() if kind == pa.date32() else pa.int64()
    column = pa.array([2**31 - 1 if kind == pa.date32() else 2**55] * 5, width).view(kind)
    found = sase.match("EVENT A a RETURN a.v AS v", events_of(column))
    assert len(found.to_pandas()["v"]) == 2


EMPTY = """
import os

os.dup2(1, 2)  # nothing is said beside the lines of standard output
import pyarrow as pa, sase
from sase.engine.results.sinks import FileSink

def written(column, name):
    events = pa.table({"ts": range(1, 6), "type": ["A", "B", "A", "B", "B"], "v": column})
    schema, batches = sase.match("EVENT SEQ(A a, B+ b[])", events).to_batches()
    sink = FileSink(name, schema)
    for batch in batches:
        sink.write_batch(batch)
    sink.close()

for values in (
    pa.array([], pa.string_view()),
    pa.array([], pa.string()),
    pa.array([], pa.string()).dictionary_encode(),
    pa.array([], pa.struct([("a", pa.binary_view())])),
):
    lists = pa.Array.from_buffers(pa.list_(values.type, 0), 5, [None], children=[values])
    for column in (
        lists,
        pa.StructArray.from_arrays([lists], ["x"]),
        pa.ListArray.from_arrays(range(6), lists),
    ):
        try:
            written(column, "some.parquet")
        except sase.DataError as problem:
            print(problem)
        written(column, "some.arrow")
"""


def test_lists_of_no_values_do_not_end_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forked: Programs
) -> None:
    """As Arrow's writer of Parquet does, at a check of its own."""
    monkeypatch.chdir(tmp_path)
    told = forked.printed(EMPTY).splitlines()
    assert len(told) == 12
    for line in told:
        assert line.startswith("some.parquet: such a file cannot hold these results: `a` has the")
        assert line.endswith("write .jsonl or .csv")
    assert [each.name for each in tmp_path.iterdir()] == ["some.arrow"]


ODD = {
    "bytes": pa.array([b"\xff", b"a", None, b"b", b"c"]),
    "intervals": pa.array([(1, 2, 3)] * 5, pa.month_day_nano_interval()),
    "list views": pa.array([[1]] * 5, pa.list_view(pa.int8())),
    "fixed lists": pa.array([[date(2026, 1, 1)]] * 5, pa.list_(pa.date32(), 1)),
    "maps": COLUMNS["maps"],
    "a union": COLUMNS["a dense union"],
    "runs": COLUMNS["runs"],
}


@pytest.mark.parametrize("column", ODD.values(), ids=ODD)
def test_files_of_odd_types(column: pa.Array, tmp_path: Path) -> None:
    """CSV has them as text; the error of a format without a type names one with it."""
    found = sase.match("EVENT A a", events_of(column))
    for suffix in ("csv", "jsonl", "arrow", "parquet"):
        schema, batches = found.to_batches()
        try:
            sink = FileSink(tmp_path / f"some.{suffix}", schema)
            for batch in batches:
                sink.write_batch(batch)
            sink.close()
        except sase.DataError as problem:
            assert suffix == "parquet"
            assert "such a file cannot hold these results" in str(problem)
            assert "write .jsonl or .csv" in str(problem)
    assert (tmp_path / "some.csv").read_text(encoding="utf-8").startswith('"a_ts"')
