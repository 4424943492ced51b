"""Bad rows in quarantine: the events are those of the other rows, and every bad one is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sase.binding import Schema
from sase.binding.types import FLOAT, INTEGER, STRING
from sase.engine.columns import Events, Inputs, Loader, describe
from sase.engine.columns.arrow.input import opened
from sase.engine.columns.decode.quarantine import quarantined
from sase.errors import DataError, SchemaError
from tests.engine.columns.layouts import DECIMALS, STRINGS, containers, layouts
from tests.engine.columns.loading import load
from tests.engine.columns.plain import model, plain

GREAT = 2**63
SMALL = st.integers(0, 5)
UNSIGNED = st.none() | SMALL | st.just(GREAT)
SIGNED = st.none() | st.integers(-3, 3)
# The values that a column may have, and its Arrow types.
Domain = tuple[st.SearchStrategy[Any], list[pa.DataType]]
CENTS = st.integers(-(10**4), 10**4).map(lambda n: Decimal(n).scaleb(-2))
TIMES: list[Domain] = [
    (UNSIGNED, [pa.uint64()]),
    (SIGNED, [pa.int64(), pa.int8()]),
    (
        st.sampled_from([None, 0.0, 1.5, -2.0, float("nan"), float("inf"), 1e300]),
        [pa.float64()],
    ),
]
NUMBERS: list[Domain] = [(UNSIGNED, [pa.uint64()]), (SIGNED, [pa.int64(), pa.int16()])]
DOMAINS: dict[str, list[Domain]] = {
    "ts": TIMES,
    "type": [(st.sampled_from(["A", "B", "C", None]), STRINGS)],
    "seq": NUMBERS,
    "i": NUMBERS,
    "d": [(st.none() | CENTS | st.just(Decimal(10) ** 20), DECIMALS)],
    "s": [(st.sampled_from([None, "a", "b"]), STRINGS)],
    "u": NUMBERS,  # no query names these two
    "v": [(st.just(Decimal(10) ** 20), DECIMALS)],
}
ATTRIBUTES = ["i", "d", "s"]


def put_aside(inputs: Inputs, events: Events, first: int) -> pa.Table:
    """The table of the bad rows of inputs with numbered first rows."""
    return quarantined(inputs, events.refused, np.arange(first, first + inputs.num_rows))


def is_bad(column: str, value: Any) -> bool:
    """By docs/semantics.md, Bad rows."""
    if value is None:
        return column in ("ts", "type", "seq")
    if isinstance(value, float):
        return not abs(value) < 1e12
    return abs(value) >= 10**18 if isinstance(value, int | Decimal) else False


def fault(row: Mapping[str, Any], columns: Sequence[str]) -> str | None:
    """The column that makes a row bad, the first if there are several."""
    return next((name for name in columns if is_bad(name, row[name])), None)


def comparable(value: Any) -> Any:
    """A value with something that equals itself for NaN."""
    match value:
        case list():
            return [comparable(each) for each in value]
        case dict():
            return {name: comparable(each) for name, each in value.items()}
    return "NaN" if value != value else value


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[dict[str, Any]], pa.Table]:
    """Rows, and the same as a table, each column in a layout of its own."""
    size = draw(st.integers(0, 10))
    columns, arrays = {}, {}
    for name, domains in DOMAINS.items():
        values, types = draw(st.sampled_from(domains))
        columns[name] = draw(st.lists(values, min_size=size, max_size=size))
        if not draw(st.integers(0, 3)):  # some columns are good, and some tables
            good = [value for value in columns[name] if not is_bad(name, value)]
            columns[name] = (good * size)[:size] or columns[name]
        arrays[name] = draw(layouts(columns[name], types))
    rows = [{name: columns[name][row] for name in columns} for row in range(size)]
    return rows, pa.table(arrays)


def in_raw_units(row: Mapping[str, Any]) -> dict[str, Any]:
    ts = row["ts"]
    return {**row, "ts": round(ts * 10**6) if isinstance(ts, float) else ts}


def kept(rows: list[dict[str, Any]], good: list[int], seq: str | None) -> dict[str, Any]:
    """The expected values of `plain` for the good rows."""
    found = model([in_raw_units(rows[row]) for row in good], ATTRIBUTES, seq=seq)
    return {**found, "order": [good[row] for row in found["order"]]}


@given(st.data(), tables(), st.sampled_from([None, "seq"]))
def test_the_events_are_the_good_rows(data: st.DataObject, made: Any, seq: str | None) -> None:
    """In every layout and container; the error names the first of the others."""
    rows, table = made
    columns = ["ts", "type", *([seq] if seq else []), *ATTRIBUTES]
    faults = [fault(row, columns) for row in rows]
    good = [row for row, found in enumerate(faults) if found is None]
    schema = describe(table, seq=seq)
    names = [*ATTRIBUTES, *([seq] if seq else [])]
    events = data.draw(st.sampled_from(containers(table)))
    found = load(events, schema, names, on_bad_row="quarantine")
    seen = plain(found)
    seen["columns"].pop("seq", None)
    assert seen == kept(rows, good, seq)
    bad = [row for row, column in enumerate(faults) if column is not None]
    if not bad:
        assert found.refused is None
        assert plain(load(table, schema, names)) == plain(found)
        return
    assert found.refused is not None
    assert found.refused.rows.tolist() == bad
    with pytest.raises(DataError) as caught:
        load(table, schema, names)
    assert (caught.value.row, caught.value.column) == (bad[0], faults[bad[0]])
    assert comparable(caught.value.value) == comparable(rows[bad[0]][faults[bad[0]] or ""])
    side = put_aside(opened(table), found, 7)
    assert side["sase_row"].to_pylist() == [row + 7 for row in bad]
    assert side["sase_column"].to_pylist() == [faults[row] for row in bad]
    as_given = side.drop_columns(["sase_row", "sase_column", "sase_reason"])
    assert comparable(as_given.to_pylist()) == comparable([rows[row] for row in bad])


@settings(max_examples=settings().max_examples // 2)
@given(st.data(), st.lists(tables(), min_size=2, max_size=3))
def test_a_table_for_each_type(data: st.DataObject, made: Any) -> None:
    """Tables of other columns and kinds; rows are numbered through all of them."""
    names = ["A", "B", "C"][: len(made)]
    given_tables = {}
    rows: list[tuple[str, dict[str, Any]]] = []
    kinds = {str(table["ts"].type) for _, table in made}
    assume(len({"double" in kind for kind in kinds}) == 1)
    for name, (own, table) in zip(names, made, strict=True):
        dropped = data.draw(st.lists(st.sampled_from(["u", "v"]), unique=True))
        given_tables[name] = table.drop_columns(["type", *dropped])
        rows += [(name, {k: v for k, v in row.items() if k not in dropped}) for row in own]
    inputs = opened(given_tables)
    found = load(inputs, describe(inputs), ATTRIBUTES, on_bad_row="quarantine")
    bad = [n for n, (_, row) in enumerate(rows) if fault(row, ["ts", *ATTRIBUTES])]
    side = put_aside(inputs, found, 0)
    assert side["sase_row"].to_pylist() == bad
    assert side["sase_type"].to_pylist() == [rows[row][0] for row in bad]
    for name in side.column_names:
        if name not in ("sase_row", "sase_type", "sase_column", "sase_reason"):
            wanted = [rows[row][1].get(name) for row in bad]
            values = comparable(side[name].to_pylist())
            texts = [None if value is None else str(value) for value in wanted]
            assert values in (comparable(wanted), texts)
    assert len(found) == len(rows) - len(bad)


# ------------------------------------------------------------ dicts

MIXED = st.sampled_from(
    [
        None, 1, 2, -3, 0.5, "a", "b", True, 2**70, GREAT, 2**53 + 1, b"x", [1], {"k": 1},
        date(2020, 1, 1), datetime(2020, 1, 2), Decimal("1.5"), "\ud800", float("nan"),
    ]
)  # fmt: skip
DICTS = st.lists(
    st.fixed_dictionaries(
        {"ts": st.integers(0, 9) | MIXED, "type": st.sampled_from("AB") | MIXED},
        optional={"x": MIXED, "y": MIXED},
    ),
    max_size=8,
)
KINDS = {INTEGER: (int,), FLOAT: (int, float), STRING: (str,)}


def fits(value: Any, kind: Any) -> bool:
    """Whether a value fits a column of integers, floats or strings."""
    if value is None:
        return True
    if type(value) not in KINDS[kind] or value == "\ud800":
        return False
    if type(value) is int:
        return abs(value) < GREAT if kind is INTEGER else abs(value) <= 2**53
    return True


@given(DICTS, st.sampled_from(list(KINDS)), st.data())
def test_dicts_of_known_kinds(rows: list[Any], kind: Any, data: st.DataObject) -> None:
    """The good rows are the same in any cut, for each row is judged by itself."""
    columns = (("ts", INTEGER), ("type", STRING), ("x", kind), ("y", kind))
    schema = Schema(columns=columns)
    names = [name for name in ("x",) if any(name in row for row in rows)]
    read = ["ts", "type", *names]
    good = [
        n for n, row in enumerate(rows)
        if row["ts"] is not None and row["type"] is not None
        and all(fits(row.get(name), of) for name, of in columns if name in read)
    ]  # fmt: skip
    found = load(rows, schema, names, on_bad_row="quarantine")
    assert sorted(plain(found)["order"]) == good
    loader = Loader(schema, names, on_bad_row="quarantine")
    begin, seen = 0, []
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=3)))
    for end in [*cuts, len(rows)]:
        if all(name in row for name in names for row in rows[begin:end]):
            inputs = loader.opened(rows[begin:end])
            events = loader.load(inputs)
            seen += [begin + row for row in sorted(plain(events)["order"])]
            side = put_aside(inputs, events, begin)
            assert {*seen, *side["sase_row"].to_pylist()} >= {*range(begin, end)}
        else:  # a push in which no dict has a column is no push of such events
            seen += [row for row in good if begin <= row < end]
        begin = end
    assert seen == good


@given(DICTS)
def test_dicts_of_unknown_kinds(rows: list[Any]) -> None:
    """Described rows are the loaded rows; good rows alone are readable, and as good."""
    try:
        schema = describe(rows, mends=True)
    except (SchemaError, DataError):  # no value in the time column is one
        return
    names = [name for name in ("x", "y") if (schema.attributes("A") or {}).get(name)]
    try:
        found = load(rows, schema, names, on_bad_row="quarantine")
    except (SchemaError, DataError) as problem:
        assert "no condition can" in str(problem) or "values of one type" in str(problem)
        return
    good = sorted(plain(found)["order"])
    alone = [rows[row] for row in good]
    if good and describe(alone).time_type == schema.time_type:
        assert plain(load(alone, schema, []))["ts"] == plain(found)["ts"]
    bad = [] if found.refused is None else found.refused.rows.tolist()
    assert sorted([*good, *bad]) == list(range(len(rows)))


@pytest.mark.parametrize(
    ("values", "bad"),
    [
        ([1, "a", 2], [1]),
        (["a", 1, 2], [1, 2]),  # the first value decides the type of the column
        ([None, 1, 0.5, "a", True], [3, 4]),
        ([0.5, 2**53 + 1], [1]),
        ([1, 2**70, -(2**70), 2], [1, 2]),
        ([Decimal("1.5"), 1, 0.5], [2]),
        ([date(2020, 1, 1), datetime(2020, 1, 2, 3), 5], [2]),
        (["a", "\ud800"], [1]),
        (["a", b"b"], [1]),
        ([timedelta(1), 5, None], [1]),
        ([[1], "a", 1], [0, 2]),
    ],
)
def test_what_fits_a_column_of_dicts(values: list[Any], bad: list[int]) -> None:
    rows = [{"ts": n, "type": "A", "x": value} for n, value in enumerate(values)]
    schema = describe(rows, mends=True)
    found = load(rows, schema, ["x"], on_bad_row="quarantine")
    assert found.refused is not None
    assert found.refused.rows.tolist() == bad
    assert load(rows, schema, [], on_bad_row="quarantine").refused is None
    with pytest.raises((DataError, SchemaError)):
        load(rows, describe(rows), ["x"])
    inputs = Loader(schema, ["x"], on_bad_row="quarantine").opened(rows)
    side = put_aside(inputs, found, 0)
    texts = [str(values[row]).replace("\ud800", "\\ud800") for row in bad]
    assert side["x"].to_pylist() == texts


# ------------------------------------------------------------ the table


def test_a_column_of_the_same_name_is_not_hidden() -> None:
    table = pa.table({"ts": [1, None], "type": ["A", "A"], "sase_row": [5, 6], "sase_row_": [7, 8]})
    found = load(table, describe(table), [], on_bad_row="quarantine")
    side = put_aside(opened(table), found, 0)
    assert side.column_names == [
        "sase_row__", "sase_column__", "sase_reason__", "ts", "type", "sase_row", "sase_row_",
    ]  # fmt: skip
    assert side["sase_row__"].to_pylist() == [1]
    assert side["sase_row_"].to_pylist() == [8]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([["a"], ["b"]], pa.list_(pa.string_view())),
        pa.array([b"a", b"b"], pa.binary_view()),
        pa.array([{"k": "a"}, {"k": "b"}], pa.struct([("k", pa.string_view())])),
        pa.array([[1], [2]], pa.list_view(pa.int64())),
        pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
    ],
)
def test_columns_of_any_type_are_kept(values: pa.Array) -> None:
    table = pa.table({"ts": [1, None], "type": ["A", "A"], "odd": values, "same": [1, 2]})
    table = table.rename_columns(["ts", "type", "odd", "odd"])
    found = load(table, Schema(), [], on_bad_row="quarantine")
    side = put_aside(opened(table), found, 0)
    assert [column.to_pylist() for column in side.columns[-2:]] == [[values[1].as_py()], [2]]


def test_columns_of_several_tables_lose_nothing() -> None:
    """Integers that no float has, beside floats: then both are text."""
    events = {
        "A": pa.table({"ts": pa.array([None], pa.int64()), "x": [2**53 + 1], "y": [1]}),
        "B": pa.table({"ts": pa.array([None], pa.int64()), "x": [0.5], "y": ["b"]}),
        "C": pa.table({"ts": pa.array([None], pa.int64()), "y": [[1]]}),
    }
    found = load(events, describe(events), [], on_bad_row="quarantine")
    side = put_aside(opened(events), found, 0)
    assert side["sase_type"].to_pylist() == ["A", "B", "C"]
    assert side["x"].to_pylist() == ["9007199254740993", "0.5", None]
    assert side["y"].to_pylist() == ["1", "b", "[1]"]


def test_many_bad_rows_are_one_fault() -> None:
    """Nothing is done row by row."""
    rows = 300_000
    table = pa.table({"ts": pa.nulls(rows, pa.int64()), "type": pa.nulls(rows, pa.string())})
    found = load(table, describe(table), [], on_bad_row="quarantine")
    assert found.refused is not None
    assert len(found) == 0
    assert found.refused.reasons[0][0] == "ts"
    assert not found.refused.codes.any()
    side = put_aside(opened(table), found, 0)
    assert side["sase_row"].to_numpy().tolist() == list(range(rows))


def test_integers_where_floats_are_expected() -> None:
    """In every batch, also in those that are loaded the short way."""
    schema = Schema(columns=(("ts", INTEGER), ("type", STRING), ("x", FLOAT)))
    loader = Loader(schema, ["x"])
    types = pa.array(["A", "A"]).dictionary_encode()
    for values in ([1, 2], [3, 4]):
        batch = pa.record_batch({"ts": [1, 2], "type": types, "x": values})
        assert loader.load(batch).columns["x"].values.dtype == np.float64
    with pytest.raises(DataError, match="no float has this value"):
        loader.load(pa.record_batch({"ts": [1, 2], "type": types, "x": [1, 2**53 + 1]}))
