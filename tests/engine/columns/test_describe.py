"""The schema of events, for binding, and mistakes in columns and arguments."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from sase.binding import Schema, bind_text
from sase.binding.types import FLOAT, INTEGER, STRING, UNKNOWN, DataType, Kind
from sase.engine.columns import describe, opened
from sase.engine.sources import open_tables
from sase.errors import BindingError, DataError, SchemaError
from tests.engine.columns.layouts import Frame, Stream
from tests.engine.columns.loading import load

TABLE = pa.table({"ts": [1], "type": ["A"], "x": [1.5], "n": [None], "deep": [[1]]})
DICTIONARY = TABLE.set_column(1, "type", pa.array(["B", "A"]).dictionary_encode().slice(1))


def test_a_wide_table() -> None:
    schema = describe(TABLE, time_unit="ms")
    assert schema.types is None
    assert schema.attributes("any") == {
        "ts": INTEGER,
        "type": STRING,
        "x": FLOAT,
        "n": UNKNOWN,
        "deep": DataType(Kind.OTHER),
    }
    assert (schema.nanoseconds, schema.type, schema.seq) == (10**6, "type", None)


@pytest.mark.parametrize(
    ("events", "names"),
    [
        (DICTIONARY, ("B", "A")),
        (Frame(DICTIONARY), ("B", "A")),
        (DICTIONARY.to_batches()[0], ("B", "A")),
        (
            pa.concat_tables(
                [DICTIONARY, TABLE.set_column(1, "type", pa.array(["C"]).dictionary_encode())]
            ),
            ("B", "A", "C"),
        ),
        (DICTIONARY.to_reader(), None),
        (Stream(DICTIONARY), None),
        (TABLE, None),
        (DICTIONARY.schema.empty_table(), None),
    ],
)
def test_a_dictionary_tells_the_types(events: Any, names: tuple[str, ...] | None) -> None:
    """Where it is at hand before anything is read."""
    assert describe(events).type_names == names


def test_a_schema_is_described_without_reading() -> None:
    """A reader has all its rows afterwards."""
    inputs = opened(Stream(TABLE))
    assert len(load(inputs, describe(inputs), ["x"])) == 1
    reader = TABLE.to_reader()
    assert len(load(reader, describe(reader), ["x"])) == 1


def test_types_with_their_attributes() -> None:
    schema = describe(TABLE, types={"A": ["x"], "B": []})
    assert schema.attributes("A") == {"ts": INTEGER, "type": STRING, "x": FLOAT}
    assert schema.attributes("B") == {"ts": INTEGER, "type": STRING}
    assert schema.time_type == INTEGER
    assert describe(TABLE, types=["A", "B"]).type_names == ("A", "B")
    assert describe(TABLE, types={"A": None, "B": ["x"]}).attributes("A") == describe(
        TABLE
    ).attributes("A")


def test_types_by_condition_and_one_type() -> None:
    schema = describe(TABLE, types={"Big": "x > 1", "Small": "x <= 1"})
    assert (schema.type, schema.type_names) == (None, ("Big", "Small"))
    assert schema.definitions == (("Big", "x > 1"), ("Small", "x <= 1"))
    for types in ("A", ["A"], {"A": None}):
        schema = describe(TABLE, type=None, types=types)
        assert (schema.type, schema.type_names) == (None, ("A",))
        events = load(TABLE, schema, [])
        assert (events.types.tolist(), events.type_names) == ([0], ("A",))


def test_a_table_for_each_type() -> None:
    events = {"A": [{"ts": 1, "x": 1}], "B": [{"ts": 2, "y": "p"}]}
    schema = describe(events)
    assert schema.type_names == ("A", "B")
    assert schema.attributes("B") == {"ts": INTEGER, "y": STRING}
    with pytest.raises(BindingError, match="has no attribute `y`"):
        bind_text("EVENT A a WHERE a.y = 'p'", schema)


def test_float_times_count_microseconds() -> None:
    """So a difference of them is an integer, and can be compared with an interval."""
    schema = describe(pa.table({"ts": [1.5], "type": ["A"]}))
    assert (schema.time_type, schema.nanoseconds) == (FLOAT, 1000)
    assert (schema.attributes("A") or {})["ts"] == INTEGER
    bind_text("EVENT SEQ(A a, A b) WHERE b.ts - a.ts < 5 seconds WITHIN 1 minute", schema)


@pytest.mark.parametrize("events", [[], {"A": [], "B": []}, {}])
def test_nothing_at_all(events: Any) -> None:
    """An empty list says nothing of its columns, so every name is allowed."""
    schema = describe(events)
    assert schema.attributes("A") is None or not schema.type_names or schema.columns is None
    found = load(events, schema, ["x"])
    assert len(found) == 0
    assert len(found.columns["x"].values) == 0


def test_rows_without_columns_are_rows() -> None:
    with pytest.raises(SchemaError, match="there is no time column `ts`"):
        describe([{}])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time": "tsx"}, "there is no time column `tsx`: did you mean `ts`?"),
        (
            {"type": "kind"},
            "there is no type column `kind`: there are ts, type, x, n, deep; name it",
        ),
        ({"seq": "sq"}, "there is no seq column `sq`"),
        (
            {"time": "type"},
            "the time column `type` has the type string, and should hold timestamps",
        ),
        ({"time": "deep"}, "the time column `deep` has the type list<"),
        ({"type": "x"}, "the type column `x` has the type float, and should hold the types' names"),
        ({"seq": "x"}, "the seq column `x` has the type float, and should hold integers"),
        ({"type": None}, "without a type column all events have one type"),
        ({"type": None, "types": ["A", "B"]}, "without a type column all events have one type"),
        ({"types": {"A": ["y"]}}, "there is no column `y`, which type `A` should have"),
        (
            {"types": {"A": ["x"], "B": "x > 1"}},
            "types: `B` is defined by a condition and `A` is not",
        ),
        ({"time_unit": "msec"}, "`msec` is not a unit of time; did you mean"),
        (
            {"time": "x", "time_unit": "s"},
            "time_unit is the unit of integers, and `x` has the type",
        ),
    ],
)
def test_wrong_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        describe(TABLE, **options)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("xx", "there is no column `xx`: did you mean `x`?"),
        ("deep", "`deep` has the type list<"),
    ],
)
def test_a_column_that_cannot_be_read(name: str, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        load(TABLE, describe(TABLE), [name])
    assert message in str(caught.value)


def test_binary_is_no_string() -> None:
    table = TABLE.append_column("raw", pa.array([b"a"]))
    with pytest.raises(SchemaError, match="`raw` has the type binary, which no condition can read"):
        load(table, describe(table), ["raw"])


def test_columns_of_one_name() -> None:
    table = TABLE.append_column("x", pa.array([1]))
    with pytest.raises(SchemaError, match="there are several columns `x`: rename all but one"):
        load(table, Schema(), ["x"])


def test_a_column_of_another_kind_than_the_query_was_compiled_for() -> None:
    other = TABLE.set_column(2, "x", pa.array(["1.5"]))
    with pytest.raises(SchemaError, match="has the type string here, and the query was compiled"):
        load(other, describe(TABLE), ["x"])


def test_what_lacks_a_type_is_refused() -> None:
    with pytest.raises(SchemaError, match="the events have no type: name the column"):
        load(TABLE, Schema(type=None), [])
    with pytest.raises(ValueError, match="needs `classify`"):
        load(TABLE, describe(TABLE, types={"A": "x > 1"}), [])
    with pytest.raises(SchemaError, match=r"a dict of events gives the types: leave out  types=…"):
        describe({"A": TABLE}, types=["A"])


def test_types_by_the_thousand() -> None:
    names = [str(n) for n in range(40_000)]
    table = pa.table({"ts": range(40_000), "type": names})
    with pytest.raises(SchemaError, match="`type` names 40000 types, and there can be 32767"):
        load(table, describe(table), [])


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ("events.parquet", "there is no such file or folder"),
        ([1, 2], "these events are of type list, with a member of type int: give"),
        ({"ts": [1], "type": ["A"]}, "`ts` is of type list, with a member of type int: if these"),
        ({1: TABLE}, "a dict of events names their types, and 1 is no name"),
        (None, "these events are of type NoneType: give the path of files, a pyarrow table"),
    ],
)
def test_what_cannot_be_events(events: Any, message: str) -> None:
    with pytest.raises(DataError) as caught:
        describe(open_tables(events))
    assert message in str(caught.value)
