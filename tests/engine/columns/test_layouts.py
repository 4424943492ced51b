"""One logical table gives equal events in every layout and every container."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from sase.engine.columns import Events, describe
from tests.engine.columns.layouts import (
    DECIMALS,
    FLOATS,
    INTEGERS,
    STRINGS,
    containers,
    layouts,
)
from tests.engine.columns.loading import load
from tests.engine.columns.plain import model, plain

INT64 = st.integers(-(2**63), 2**63 - 1)
SMALL = st.integers(0, 5)
DIGITS = st.integers(-(10**18) + 1, 10**18 - 1).map(lambda n: Decimal(n).scaleb(-2))
COLUMNS: dict[str, tuple[st.SearchStrategy[Any], list[pa.DataType]]] = {
    "ts": (st.one_of(SMALL, st.integers(-(10**6), 10**6), INT64), INTEGERS),
    "type": (st.sampled_from(["A", "B", "C", "Ä"]), STRINGS),
    "seq": (SMALL, INTEGERS),
    "i": (st.none() | SMALL | INT64, INTEGERS),
    "s": (st.none() | st.sampled_from(["", "a", "b", "ßß", "a\0"]), STRINGS),
    "f": (st.none() | st.floats(), FLOATS),
    "b": (st.none() | st.booleans(), [pa.bool_()]),
    "d": (st.none() | DIGITS, DECIMALS),
}
ATTRIBUTES = [name for name in COLUMNS if name not in ("ts", "type", "seq")]
ROWS = st.lists(
    st.fixed_dictionaries({name: values for name, (values, _) in COLUMNS.items()}), max_size=12
)


@st.composite
def tables(draw: st.DrawFn, rows: list[dict[str, Any]]) -> pa.Table:
    """The rows as a table, each column in a layout of its own."""
    return pa.table(
        {
            name: draw(layouts([row[name] for row in rows], types))
            for name, (_, types) in COLUMNS.items()
        }
    )


def loaded(events: Any, **options: Any) -> Events:
    return load(events, describe(events, **options), ATTRIBUTES)


@given(st.data(), ROWS, st.sampled_from([None, "seq"]))
def test_layouts_and_containers(data: st.DataObject, rows: list[Any], seq: str | None) -> None:
    """Compared with a plain Python sort of the rows."""
    table = data.draw(tables(rows))
    events = data.draw(st.sampled_from(containers(table)))
    found = loaded(events, seq=seq)
    assert plain(found) == model(rows, ATTRIBUTES, seq=seq)
    schema = describe(table, seq=seq)
    for name, column in found.columns.items():
        assert column.type == (schema.attributes("A") or {})[name]


@settings(max_examples=settings().max_examples // 2)  # four tables an example
@given(st.data(), ROWS)
def test_a_table_for_each_type(data: st.DataObject, rows: list[Any]) -> None:
    """Rows are numbered through the tables in the order given."""
    names = ["C", "A", "Ä", "B"]
    by_type = {name: [row for row in rows if row["type"] == name] for name in names}
    events = {
        name: data.draw(st.sampled_from(containers(data.draw(tables(own)))))
        for name, own in by_type.items()
    }
    assert plain(loaded(events)) == model(
        [row for own in by_type.values() for row in own], ATTRIBUTES
    )


@given(ROWS, st.sampled_from([None, "seq"]))
def test_rows_as_dicts(rows: list[Any], seq: str | None) -> None:
    """A missing value of a row is NULL; a column of NULLs has no type."""
    given = [{name: value for name, value in row.items() if value is not None} for row in rows]
    names = [name for name in ATTRIBUTES if any(name in row for row in given)]
    found = load(given, describe(given, seq=seq), names)
    assert plain(found) == model(rows, names, seq=seq)


@given(st.data(), ROWS)
def test_types_by_condition_and_one_type(data: st.DataObject, rows: list[Any]) -> None:
    """The conditions see the columns in stream order; without a column all have the one type."""
    table = data.draw(tables(rows))
    expected = model(rows, ATTRIBUTES)
    seen: list[Events] = []

    def classify(events: Events) -> Any:
        seen.append(events)
        return (events.types + 1).astype("int16"), ("X",)

    by_condition = describe(table, types={"X": "i > 0"})
    found = load(table, by_condition, ATTRIBUTES, classify=classify)
    assert plain(found) == {**expected, "types": ["X"] * len(rows)}
    assert plain(seen[0]) == {**expected, "types": [None] * len(rows)}
    one = load(table, describe(table, type=None, types=["X"]), ATTRIBUTES)
    assert plain(one) == plain(found)
