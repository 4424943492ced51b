"""Relations of DuckDB as events, and results in its tables."""

from __future__ import annotations

from typing import Any

import duckdb
import polars as pl
import pytest

import sase

QUERY = "EVENT SEQ(A a, B b) WHERE [id] WITHIN 5"
RETURN = f"{QUERY} RETURN a.id, b.v"
# Two pairs of A and B; `broken` cannot be computed.
EVENTS = """
SELECT i AS ts, if(i % 2 = 0, 'A', 'B') AS type, i // 2 AS id, i AS v, "odd ""name", broken
FROM (SELECT i, i AS "odd ""name", error('not to be fetched') AS broken FROM range(4) _(i))
"""


@pytest.fixture
def connection() -> Any:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection


def of_values(connection: Any, value: str, time: str = "i") -> Any:
    return connection.sql(
        f"SELECT {time} AS ts, if(i % 2 = 0, 'A', 'B') AS type, i // 2 AS id, {value} AS v"
        " FROM range(4) _(i)"
    )


def test_only_the_needed_columns_are_computed(connection: Any) -> None:
    relation = connection.sql(EVENTS)
    found = sase.match(RETURN, relation)
    assert [(row["a_id"], row["b_v"]) for row in found] == [(0, 1), (1, 3)]
    assert found.rows.to_pydict() == {"a": [0, 2], "b": [1, 3]}
    assert sase.match(QUERY, relation, output="count") == 2
    named = 'EVENT SEQ(A a, B b) WHERE a.`odd "name` = 0 RETURN b.v'
    assert [row["b_v"] for row in sase.match(named, relation)] == [1, 3]
    with pytest.raises(sase.DataError, match="DuckDB cannot compute these events: .*to be fetched"):
        sase.match(QUERY, relation)  # whole events are shown
    assert [row["b_v"] for row in sase.match(RETURN, {"A": relation, "B": relation})] == [1, 3]


def test_a_lazy_frame_is_computed_likewise() -> None:
    def fail(_: Any) -> Any:
        raise AssertionError

    frame = pl.LazyFrame({"ts": [1, 2], "type": ["A", "B"], "id": [7, 7], "v": [1, 2]})
    lazy = frame.with_columns(pl.col("v").map_batches(fail, return_dtype=pl.Int64).alias("broken"))
    assert [row["b_v"] for row in sase.match(RETURN, lazy)] == [2]


def test_other_calls_take_a_relation(connection: Any) -> None:
    relation = of_values(connection, "i")
    plan = sase.compile(RETURN, relation)
    assert len(plan.run(relation)) == 2
    assert "2 found" in str(sase.explain(RETURN, relation, analyze=True))
    script = "CREATE STREAM s AS FROM shop EVENT SEQ(A a, B b) WHERE [id] RETURN a.id"
    assert len(sase.match(f"{script}; FROM s EVENT s x", streams={"shop": relation})) == 2


@pytest.mark.parametrize(
    "time",
    [
        "epoch_ms(i * 1000)::TIMESTAMP_S",
        "epoch_ms(i * 1000)::TIMESTAMP_MS",
        "epoch_ms(i * 1000)::TIMESTAMP",
        "epoch_ms(i * 1000)::TIMESTAMP_NS",
        "epoch_ms(i * 1000)::TIMESTAMPTZ",
        "epoch_ms(i * 1000)::VARCHAR",
    ],
)
def test_every_type_of_time(connection: Any, time: str) -> None:
    query = QUERY.replace("WITHIN 5", "WITHIN 5 seconds RETURN a.ts - b.ts AS took")
    took = [
        row["took"].total_seconds() for row in sase.match(query, of_values(connection, "i", time))
    ]
    assert took == [-1, -1]


@pytest.mark.parametrize(
    ("value", "condition"),
    [
        ("(i + 0.25)::DECIMAL(10, 2)", "b.v = 1.25"),
        ("(i + 0.25)::DECIMAL(38, 2)", "b.v - a.v = 1 AND b.v < 2"),
        ("i::HUGEINT", "b.v = 1"),
        ("i::UTINYINT", "b.v = 1"),
        ("i::UBIGINT", "b.v = 1"),
        ("if(i = 1, 'x', 'y')::ENUM('y', 'x', 'z')", "b.v = 'x'"),
        ("('00000000-0000-0000-0000-00000000000' || i)::UUID", "b.v LIKE '%1'"),
        ("i = 1", "b.v"),
        ("DATE '2024-01-01' + i::INT", "b.v = DATE '2024-01-02'"),
        ("if(i = 1, 'x', NULL)", "b.v = 'x'"),
    ],
)
def test_values_are_read_exactly(connection: Any, value: str, condition: str) -> None:
    query = f"EVENT SEQ(A a, B b) WHERE [id] AND {condition} RETURN b.id"
    assert [row["b_id"] for row in sase.match(query, of_values(connection, value))] == [0]


@pytest.mark.parametrize(
    "value",
    ["'x'::BLOB", "[i]", "{'x': i}", "MAP {'x': i}", "'1'::BIT", "TIME '10:00:00'", "1::BIGNUM"],
)
def test_values_that_no_condition_reads_are_shown(connection: Any, value: str) -> None:
    relation = of_values(connection, value)
    assert len(sase.match("EVENT SEQ(A a, B b) WHERE [id]", relation).to_arrow()) == 2
    with pytest.raises(sase.BindingError, match="they cannot be compared") as problem:
        sase.match("EVENT SEQ(A a, B b) WHERE a.v = b.v", relation)
    # A list has elements, a struct has fields.
    hint = {"[": "a.v[1]", "{": "a.v.x"}.get(value[0], "cast the column to a text or a number")
    assert hint in str(problem.value)


def test_numbers_beyond_the_range_are_bad_rows(connection: Any) -> None:
    relation = of_values(connection, "if(i < 2, i::HUGEINT, i::HUGEINT << 100)")
    with pytest.raises(sase.DataError, match="row 2 .*at most 18 digits"):
        sase.match(f"{QUERY} RETURN b.v", relation)
    found = sase.match(f"{QUERY} RETURN b.v", relation, on_bad_row="quarantine")
    assert found.rows.to_pydict() == {"a": [0], "b": [1]}
    assert found.report.bad == 2


def test_a_unit_that_the_first_time_shows_is_hinted(connection: Any) -> None:
    relation = of_values(connection, "i", "1704067200000 + i")
    with pytest.raises(sase.BindingError, match='say  time_unit="ms"'):
        sase.match(f"{QUERY} seconds", relation)


# ---------------------------------------------------------------- results


def test_results_are_a_relation_or_a_table(connection: Any) -> None:
    matches = sase.match(RETURN, of_values(connection, "i"))
    assert matches.to_duckdb(connection).aggregate("sum(b_v)").fetchall() == [(4,)]
    table = matches.to_duckdb(connection, "found")
    assert table.fetchall() == [(0, 1, 0, 1, 1), (1, 3, 2, 3, 3)]
    assert connection.sql("SELECT max(b_v) FROM found").fetchall() == [(3,)]
    whole = sase.match(QUERY, of_values(connection, "i"))
    whole.to_duckdb(connection, "whole", flat=True)
    assert connection.sql("SELECT sum(a_v), sum(b_v) FROM whole").fetchall() == [(2, 4)]
    assert whole.to_duckdb(connection, flat=True).columns[:3] == ["a_ts", "a_type", "a_id"]
    assert whole.to_duckdb(connection).select("a.v").fetchall() == [(0,), (2,)]


def test_without_matches_the_table_has_its_columns(connection: Any) -> None:
    empty = sase.match(
        f"{QUERY.replace('[id]', '[id] AND a.v > 9')} RETURN a.id", of_values(connection, "i")
    )
    assert empty.to_duckdb(connection, "found").columns == [
        "a_id",
        "ts_start",
        "ts_end",
        "detected_at",
    ]


def test_a_failed_run_leaves_no_table_and_its_own_error(connection: Any) -> None:
    matches = sase.match(RETURN, of_values(connection, "i"), max_matches=1)
    with pytest.raises(sase.BudgetError, match="more than 1 matches"):
        matches.to_duckdb(connection, "found")
    assert connection.sql("SHOW TABLES").fetchall() == []


def test_a_table_is_not_overwritten(connection: Any) -> None:
    matches = sase.match(RETURN, of_values(connection, "i"))
    matches.to_duckdb(connection, "found")
    with pytest.raises(sase.DataError, match="cannot make the table `found`.*choose another name"):
        matches.to_duckdb(connection, "found")
    with pytest.raises(sase.SaseError, match="this is of type str: give one, such as"):
        matches.to_duckdb("found")
