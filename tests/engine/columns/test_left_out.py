"""Events of types that do not count: left out of a sort, and their values not decoded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sase
from sase.binding import Schema
from sase.engine.columns import loader
from sase.engine.columns.decode import numbers, projection, strings
from sase.engine.pipeline import batch

QUERIES = {
    "sequence": "EVENT SEQ(A a, B b) WHERE [k] WITHIN 40",
    "absence": "EVENT SEQ(A a, !(C c), B b) WHERE [k] WITHIN 40",
    "series": "EVENT SEQ(A a, B+ b[], C c) WHERE skip_till_next_match { [k] } WITHIN 40",
    "choice": "EVENT SEQ(A a, (B b OR C c)) WHERE [k] AND a.text != 'u1' WITHIN 40",
    # All events count in these.
    "window of events": "EVENT SEQ(A a, B b) WHERE [k] WITHIN 12 EVENTS",
    "contiguity": "EVENT SEQ(A a, B b) WHERE strict_contiguity { [k] } WITHIN 40",
}
OF_ALL = ("window of events", "contiguity")


def events(seed: int, count: int = 600) -> pa.Table:
    """Rows in no order, of five types, with ties, and with NULL in texts and keys."""
    rng = np.random.default_rng(seed)

    def texts(few: int, word: str) -> pa.Array:
        codes = rng.integers(0, few + 1, count)
        return pa.array([None if code == few else f"{word}{code}" for code in codes])

    types = np.array([*"ABCXY"])[rng.choice(5, count, p=[0.1, 0.15, 0.1, 0.35, 0.3])]
    return pa.table(
        {
            "ts": pa.array(rng.integers(0, count, count)),
            "type": pa.array(types),
            "k": texts(3, "key "),
            "text": texts(4, "u"),
        }
    )


def encoded(table: pa.Table) -> pa.Table:
    """With texts encoded already."""
    for name in ("k", "text"):
        place = table.column_names.index(name)
        table = table.set_column(place, name, table[name].dictionary_encode())
    return table


def rows_found(query: str, table: pa.Table, **options: Any) -> list[Any]:
    return sase.match(query, table, time="ts", type="type", **options).rows.to_pylist()


@pytest.fixture(params=[1, 2, 3])
def table(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> pa.Table:
    monkeypatch.setattr(strings, "MANY", 1)
    monkeypatch.setattr(projection, "MANY", 1)
    monkeypatch.setattr(numbers, "SHARE", 1)
    monkeypatch.setattr(loader, "MANY", 1)
    return events(request.param)


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("threads", [1, 3])
def test_matches_are_those_of_sorted_events(name: str, threads: int, table: pa.Table) -> None:
    """Of rows in order none is left out, and texts that are encoded already are all read."""
    order = np.argsort(table["ts"].to_numpy(), kind="stable")
    in_order = encoded(table.take(order))

    def numbered(rows: Any) -> Any:
        match rows:
            case list():
                return [*map(numbered, rows)]
            case dict():
                return {name: numbered(each) for name, each in rows.items()}
        return None if rows is None else int(order[rows])

    expected = numbered(rows_found(QUERIES[name], in_order))
    assert expected
    assert rows_found(QUERIES[name], table, threads=threads) == expected
    # Rows in order, so that only texts are left out.
    plain = table.take(order)
    assert numbered(rows_found(QUERIES[name], plain, threads=threads)) == expected


@pytest.mark.parametrize("name", QUERIES)
def test_the_report_has_all_rows(name: str, table: pa.Table) -> None:
    """Rows that are left out were read, and progress ends with them."""
    seen = list[int]()

    def progress(rows: int, total: int | None) -> None:
        seen.append(rows)

    matches = sase.match(QUERIES[name], table, time="ts", type="type", threads=1, progress=progress)
    assert len(matches) and matches.report.rows == len(table)
    assert seen == sorted(seen) and seen[-1] == len(table)


@pytest.mark.parametrize("name", QUERIES)
def test_few_are_sorted(name: str, table: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only rows of the query's types are, unless all events count."""
    sizes, usual = list[int](), loader.stream_order

    def watched(*given: Any, **others: Any) -> Any:
        found = usual(*given, **others)
        sizes.append(len(found.rows))
        return found

    monkeypatch.setattr(loader, "stream_order", watched)
    rows_found(QUERIES[name], table)
    of_types = sum(kind in QUERIES[name].split("WHERE")[0] for kind in table["type"].to_pylist())
    assert sizes == [len(table) if name in OF_ALL else of_types]


def test_bad_rows_of_other_types_are_found(table: pa.Table) -> None:
    """A row without a time is bad, whatever its type."""
    place = table["type"].to_pylist().index("X")
    times: list[int | None] = table["ts"].to_pylist()
    times[place] = None
    bad = table.set_column(0, "ts", pa.array(times))
    with pytest.raises(sase.DataError, match=f"row {place} "):
        rows_found(QUERIES["sequence"], bad)
    matches = sase.match(QUERIES["sequence"], bad, time="ts", type="type", on_bad_row="quarantine")
    assert len(matches) and matches.report.bad == 1
    assert matches.report.rows == len(table)


def test_tables_with_texts_of_several_types(table: pa.Table) -> None:
    """A column that is NULL, or of another type of text, in some tables is encoded whole."""
    assert table is not None  # sets the limits
    times = pa.array(range(60))
    tables = {
        "A": pa.table({"ts": times, "name": pa.array(["p", "q", None] * 20)}),
        "B": pa.table({"ts": times, "name": pa.nulls(60)}),
        "C": pa.table({"ts": times, "name": pa.array(["p"] * 60, pa.large_string())}),
        "X": pa.table({"ts": pa.array(range(400))}),
    }
    query = "EVENT SEQ(A a, C c) WHERE a.name = c.name WITHIN 2"
    rows = [{"A": n, "C": n + 1} for n in range(0, 59, 3)]
    found = sase.match(query, tables, time="ts").rows
    pairs = zip(found["a"].to_pylist(), found["c"].to_pylist(), strict=True)
    assert [{"A": a, "C": c - 120} for a, c in pairs] == rows


@pytest.mark.parametrize(
    ("kind", "is_few"),
    [
        (pa.int16(), True), (pa.int64(), True), (pa.float32(), True), (pa.float64(), True),
        (pa.duration("ms"), True), (pa.timestamp("us"), True),
        # Of these a row of any type may be bad, or each value is computed.
        (pa.uint64(), False), (pa.decimal128(21, 2), False), (pa.bool_(), False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("lacking", [0, 5])
def test_numbers_in_chunks(kind: pa.DataType, is_few: bool, lacking: int, table: pa.Table) -> None:
    """With NULL only those of types that count are decoded; else all are copied when proved."""
    values = [None if n % 7 < lacking and n % 3 else n % 5 for n in range(len(table))]
    whole = table.set_column(2, "k", pa.array(values, pa.int64()).cast(kind))
    chunks = pa.concat_tables([whole.slice(0, 100), whole.slice(100, 0), whole.slice(100)])
    for name in ("sequence", "absence", "series"):
        expected = rows_found(QUERIES[name], whole.combine_chunks())
        assert expected and rows_found(QUERIES[name], chunks) == expected
    loading = loader.Loader(Schema(), ["k"])
    in_order = chunks.take(np.argsort(chunks["ts"].to_numpy()))  # else rows are left out
    in_order = pa.concat_tables([in_order.slice(0, 100), in_order.slice(100)])
    loaded = loading.load_opened(loading.opened(in_order), only=frozenset("AB"))
    left_out = ~np.isin(loaded.types, [loaded.type_names.index(each) for each in "AB"])
    assert (not loaded.columns["k"].values[left_out].any()) == (is_few and lacking > 0)


def test_rows_read_up_to_a_limit(table: pa.Table) -> None:
    """About as many as the share of the events that were searched."""
    plan = sase.compile("EVENT A a LIMIT 1", table, time="ts", type="type").engine
    options = replace(plan.options, block=4, fused=False)
    matches = batch.run(replace(plan, options=options), table, threads=1)
    of_type = table["type"].to_pylist().count("A")
    assert len(matches) == 1
    assert matches.report.rows == 4 * len(table) // of_type < len(table) // 4
