"""Batches of a schema that was loaded before: the short way gives the events of the long one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sase.engine.columns import Loader, describe
from sase.errors import DataError
from tests.engine.columns.loading import load
from tests.engine.columns.plain import plain
from tests.engine.columns.test_layouts import ATTRIBUTES, ROWS, tables

NAMES = ["ts", *ATTRIBUTES]


def outcome(found: Callable[[], Any]) -> Any:
    """Events as plain values, or the message about a bad row."""
    try:
        return plain(found())
    except DataError as problem:
        return str(problem)


@given(st.data(), ROWS)
def test_it_finds_what_the_long_way_finds(data: st.DataObject, rows: list[Any]) -> None:
    """Whatever the layouts, in any order, with NULL where there may be none."""
    for row in rows:
        if data.draw(st.integers(0, 20)) == 0:
            row[data.draw(st.sampled_from(["ts", "type"]))] = None
    table = data.draw(tables(rows))
    schema = describe(table, seq=None)
    loader = Loader(schema, NAMES)
    for batch in table.to_batches(max_chunksize=data.draw(st.integers(1, 5))):
        expected = outcome(lambda batch=batch: load(batch, schema, NAMES))
        assert outcome(lambda batch=batch: loader.load(batch)) == expected


@pytest.fixture
def long_ways(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each input had that went the long way."""
    loaded, long = list[int](), Loader._load

    def watched(self: Loader, inputs: Any, *others: Any) -> Any:
        loaded.append(inputs.num_rows)
        return long(self, inputs, *others)

    monkeypatch.setattr(Loader, "_load", watched)
    return loaded


def batch(first: int, **others: Any) -> pa.RecordBatch:
    """Ten rows with a column of each kind."""
    columns = {
        "ts": pa.array(range(first, first + 10)),
        "type": pa.array(["A", "B"] * 5),
        "i": pa.array([*range(9), None]),
        "s": pa.array([*"abcdefghi", None]),
        "f": pa.array([*range(8), None, float("nan")], pa.float64()),
        "b": pa.array([True, None] * 5),
        "d": pa.array([*range(9), None], pa.decimal128(9, 2)),
    }
    return pa.record_batch({**columns, **others})


def test_it_is_taken_for_columns_of_all_kinds(long_ways: list[int]) -> None:
    """Also where times are equal or go back, and for dicts; not where a row is bad."""
    ts = pa.array([5, 4, 4, 3, 3, 3, 2, 2, 1, 0])
    batches = [batch(0), batch(10), batch(0, ts=ts), batch(0)]
    loader = Loader(describe(batches[0]), NAMES)
    for each in batches:
        loader.load(each)
    assert long_ways == [10]
    bad = batch(0, type=pa.array([*"ABABABABA", None]))
    with pytest.raises(DataError, match="every event needs a type"):
        loader.load(bad)
    loader.load(batches[1])
    assert long_ways == [10, 10]
    rows = batches[0].select(["ts", "type", "i", "s", "f"]).to_pylist()
    loader = Loader(describe(rows), ["i", "s", "f"])
    for start in range(5):
        loader.load(rows[start : start + 3])
    assert long_ways == [10, 10, 3]


def test_few_texts_keep_their_codes() -> None:
    """From batch to batch, until they become many."""
    loader = Loader(describe(batch(0)), ["s"])
    loaded = [loader.load(batch(0, s=pa.array([text] * 10))) for text in ("x", "y", "x")]
    assert [events.columns["s"].values[0] for events in loaded] == [0, 1, 0]
    assert loaded[0].type_names == loaded[2].type_names == ("A", "B")
    for number in range(1500):
        texts = [f"t{number}", None] * 5
        column = loader.load(batch(0, s=pa.array(texts))).columns["s"]
        assert column.dictionary[column.values[0]].as_py() == texts[0]
        assert len(column.dictionary) < 1200
