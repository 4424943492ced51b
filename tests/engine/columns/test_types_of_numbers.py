"""Columns of types that hold integers or truth values: their texts are the names of the types."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

import sase

TYPES: dict[str, list[Any]] = {"integers": [1, -2, 1, 3], "booleans": [True, False, True, False]}
QUERIES = {
    "integers": "EVENT SEQ(`1` a, `-2` b, ANY(`1`, `3`) c) RETURN a.ts AS first, c.type AS last",
    "booleans": "EVENT SEQ(true a, false b, ANY(true, false) c)"
    " RETURN a.ts AS first, c.type AS last",
}
EXPECTED: dict[str, list[Any]] = {
    "integers": [(0, 1), (0, 3)],
    "booleans": [(0, True), (0, False)],
}

both = pytest.mark.parametrize("kind", TYPES)


def table_of(kind: str) -> pa.Table:
    return pa.table({"ts": range(4), "type": TYPES[kind]})


def run_ends(table: pa.Table) -> pa.Table:
    ends = pa.RunEndEncodedArray.from_arrays(
        pa.array([1, 2, 3, 4], pa.int32()), table["type"].chunk(0)
    )
    return table.set_column(1, "type", ends)


TABLES: dict[str, Callable[[pa.Table], Any]] = {
    "table": lambda table: table,
    "narrow": lambda t: (
        t if t["type"].type == pa.bool_() else t.set_column(1, "type", t["type"].cast("int8"))
    ),
    "chunks": lambda table: pa.concat_tables([table.slice(0, 1), table.slice(1)]),
    "dictionary": lambda table: table.set_column(1, "type", table["type"].dictionary_encode()),
    "run ends": run_ends,
    "dicts": lambda table: table.to_pylist(),
    "frame": lambda table: table.to_pandas(),
    "category": lambda table: table.to_pandas().astype({"type": "category"}),
    "reader": lambda table: table.to_reader(),
}


@both
@pytest.mark.parametrize("layout", TABLES)
def test_tables(kind: str, layout: str) -> None:
    found = sase.match(QUERIES[kind], TABLES[layout](table_of(kind)))
    assert [(row["first"], row["last"]) for row in found] == EXPECTED[kind]


@both
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "arrow"])
def test_files(kind: str, suffix: str, tmp_path: Path) -> None:
    path, table = tmp_path / f"events.{suffix}", table_of(kind)
    if suffix == "csv":
        pa.csv.write_csv(table, path)
    elif suffix == "jsonl":
        path.write_text(table.to_pandas().to_json(orient="records", lines=True), encoding="utf-8")
    elif suffix == "parquet":
        pa.parquet.write_table(table, path, row_group_size=1)
    else:
        pa.feather.write_feather(table, path)
    found = sase.match(QUERIES[kind], str(path))
    assert [(row["first"], row["last"]) for row in found] == EXPECTED[kind]


@both
@pytest.mark.parametrize("layout", ["table", "dictionary", "dicts"])
def test_pushes(kind: str, layout: str) -> None:
    table = table_of(kind)
    plan = sase.compile(QUERIES[kind], table)
    whole, parts = plan.open(), plan.open()
    found = [*whole.push(TABLES[layout](table)), *whole.finish()]
    cut = [m for n in range(4) for m in parts.push(TABLES[layout](table.slice(n, 1)))]
    assert found == [*cut, *parts.finish()]
    assert [(row["first"], row["last"]) for row in found] == EXPECTED[kind]
    state = sase.Plan.from_json(plan.to_json()).open()
    state.push(TABLES[layout](table.slice(0, 2)))
    again = plan.restore(state.snapshot())
    assert [*again.push(TABLES[layout](table.slice(2)))] == found


@both
def test_many_events_in_threads_and_by_every_recipe(kind: str) -> None:
    table = pa.concat_tables([table_of(kind)] * 20_000)
    table = table.set_column(0, "ts", pa.array(range(len(table))))
    texts = table.set_column(1, "type", table["type"].cast(pa.string()))
    query = QUERIES[kind].partition("RETURN")[0] + "WITHIN 5 RETURN a.ts AS first, c.ts AS last"
    expected = sase.match(query, texts).to_arrow()
    assert len(expected) > 20_000
    for options in ({"threads": 2}, {"plan": "ais_windows"}, {"plan": "tree_bushy"}):
        assert sase.match(query, table, **options).to_arrow() == expected


def test_conditions_read_the_column_as_it_is() -> None:
    table = table_of("integers")
    found = sase.match("EVENT ANY a WHERE a.type < 2 RETURN a.type", table)
    assert [row["a_type"] for row in found] == [1, -2, 1]
    with pytest.raises(sase.BindingError, match="`a.type` is an integer and `'1'` is a string"):
        sase.match("EVENT ANY a WHERE a.type = '1'", table)


def test_a_type_that_is_not_there_is_named() -> None:
    table = table_of("integers")
    found = sase.match("EVENT SEQ(`1` a, `4` b)", table)
    assert found.report.warnings == ("no event of type `4` occurred",)
    coded = TABLES["dictionary"](table)
    with pytest.raises(sase.BindingError, match="no event type `4`(.|\n)*the types are 1, -2, 3"):
        sase.match("EVENT SEQ(`1` a, `4` b)", coded)


def test_a_row_without_a_type_is_bad() -> None:
    rows = [
        {"ts": 1, "type": 1},
        {"ts": 2, "type": None},
        {"ts": 3, "type": "x"},
        {"ts": 4, "type": 2},
    ]
    for events in (rows[:2] + rows[3:], pa.Table.from_pylist(rows[:2] + rows[3:])):
        found = sase.match("EVENT SEQ(`1` a, `2` b)", events, on_bad_row="quarantine")
        assert (len(found), found.report.bad) == (1, 1)
    found = sase.match("EVENT SEQ(`1` a, `2` b)", rows, on_bad_row="quarantine")
    assert found.report.quarantined["sase_row"].to_pylist() == [1, 2]


def test_other_numbers_are_no_names() -> None:
    with pytest.raises(
        sase.SchemaError, match="has the type float, and should hold the types' names, as"
    ):
        sase.match("EVENT A a", pa.table({"ts": [1], "type": [1.5]}))


@both
def test_a_script(kind: str) -> None:
    script = f"{QUERIES[kind]}; {QUERIES[kind]}"
    found = sase.Script(script, table_of(kind)).run(table_of(kind))
    assert [len(each) for each in found.values()] == [2, 2]


def test_a_category_of_a_frame_names_its_types() -> None:
    frame = pd.DataFrame({"ts": [1, 2], "type": pd.Categorical([1, 2])})
    assert len(sase.match("EVENT SEQ(`1` a, `2` b)", frame)) == 1
