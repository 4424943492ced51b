"""The kept input of a stream: few pieces, however small the pushes, and the same results."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import settings

import sase
from sase.engine.results import row_history
from sase.planning.engine_plan import Options
from tests.seeds import draw_numbers

QUERY = "EVENT SEQ(A a, B b) WHERE [id] WITHIN 600"


@pytest.fixture(autouse=True)
def larger_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests unite two pieces as soon as there are four."""
    monkeypatch.setattr(row_history, "MANY", 20)
    monkeypatch.setattr(row_history, "RUN", 4)


def rows(count: int) -> list[dict[str, Any]]:
    random = Random(1)
    return [
        {"ts": ts, "type": random.choice("ABC"), "id": random.randrange(40), "name": f"n{ts}"}
        for ts in range(count)
    ]


def results(plan: Any, parts: list[Any]) -> tuple[list[dict[str, Any]], int]:
    """The matches push by push, and the most pieces that there ever were."""
    matcher, found, most = plan.open(), list[dict[str, Any]](), 0
    for part in parts:
        found += matcher.push(part).to_pylist()
        most = max(most, len(matcher.pipeline.state.history.pieces))
    return found, most


@pytest.mark.heavy
def test_single_rows_become_few_pieces() -> None:
    """And those that the window leaves go, as before."""
    events = rows(2500)
    plan = replace(sase.compile(QUERY, events), options=Options(stack=64))
    found, most = results(plan, [[row] for row in events])
    assert found == plan.run(events).to_pylist()
    assert len(found) > 100
    assert 4 < most <= 20
    matcher = plan.open()
    for row in events:
        matcher.push([row])
    assert 600 <= sum(len(piece.events) for piece in matcher.pipeline.state.history.pieces) < 2000


@pytest.mark.parametrize("where", ["[id]", "a.id < b.id"])
def test_rows_of_no_type_of_the_query_go_too(where: str) -> None:
    """However rare those are that have one."""
    events = [{"ts": ts, "type": "ABC"[min(ts % 1000, 2)], "id": ts} for ts in range(4000)]
    plan = sase.compile(f"EVENT SEQ(A a, B b) WHERE {where} WITHIN 600", events)
    matcher = replace(plan, options=Options(stack=64)).open()
    for start in range(0, len(events), 10):
        matcher.push(events[start : start + 10])
        assert sum(len(piece.events) for piece in matcher.pipeline.state.history.pieces) < 1000


def test_batches_with_dictionaries_of_their_own() -> None:
    events = rows(600)
    parts = []
    for start in range(0, len(events), 3):
        batch = pa.RecordBatch.from_pylist(events[start : start + 3])
        parts.append(batch.set_column(1, "type", batch["type"].dictionary_encode()))
    plan = sase.compile(QUERY, parts[0].schema, types=["A", "B", "C"])
    found, most = results(plan, parts)
    assert found == plan.run(pa.Table.from_batches(parts)).to_pylist()
    assert most <= 20


def test_batches_whose_dictionaries_hold_null() -> None:
    """Their events stand side by side in a table of matches."""
    batches = []
    for start, names in ((0, ["x", None]), (4, [None, "z", "x"])):
        columns = {"ts": range(start, start + 4), "type": ["A", "B"] * 2, "id": [1] * 4}
        codes = pa.array([0, 1, len(names) - 1, None], pa.int8())
        columns["s"] = pa.DictionaryArray.from_arrays(codes, names)
        batches.append(pa.RecordBatch.from_pydict(columns))
    matcher = sase.compile(QUERY, batches[0].schema, types=["A", "B", "C"]).open()
    first, second = (matcher.push(batch).to_arrow() for batch in batches)
    assert first.schema == second.schema
    for found in (first, second):
        for match in found.to_pylist():
            for event in (match["a"], match["b"]):
                assert event["s"] == [r for b in batches for r in b.to_pylist()][event["ts"]]["s"]
    assert {row["a"]["ts"] for row in second.to_pylist()} == {0, 2, 4, 6}


@pytest.mark.parametrize(("shared", "bits"), [(0, 32), (80, 8)])
def test_dictionaries_that_have_too_many_values_together(shared: int, bits: int) -> None:
    """Their indexes become wider, in all batches of matches, unless they share many values."""
    batches = []
    for start in (0, 100):
        columns = {"ts": range(start, start + 100), "type": ["A", "B"] * 50, "id": [1] * 100}
        first = max(start - shared, 0)
        names = pa.DictionaryArray.from_arrays(
            pa.array(range(100), pa.int8()), [f"n{first + each}" for each in range(100)]
        )
        batches.append(pa.RecordBatch.from_pydict(columns | {"s": names}))
    events = [row["s"] for batch in batches for row in batch.to_pylist()]
    query = "EVENT SEQ(A a, B b) WHERE [id] WITHIN 2"
    matches = sase.match(query, pa.Table.from_batches(batches))
    schema, parts = matches.to_batches()
    found = pa.Table.from_batches(parts, schema).to_pylist()
    shown = [(match["a"]["s"], match["b"]["s"]) for match in found]
    assert shown == [*zip(events[::2], events[1::2], strict=True)]
    assert found == matches.to_pylist()
    assert schema.field("a").type.field("s").type.index_type.bit_width == bits


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        (
            (pa.array([Decimal("16777217.00")]), pa.array([1.5], pa.float32())),
            [16777217.0, 1.5],
        ),
        (
            tuple(
                pa.array([0], pa.timestamp("us", zone)) for zone in ("Europe/Berlin", "Asia/Tokyo")
            ),
            [dt.datetime.fromtimestamp(0, dt.UTC)] * 2,
        ),
    ],
)
@pytest.mark.parametrize("encode", [lambda column: column, pa.Array.dictionary_encode])
def test_types_of_one_name_meet_whatever_encodes_them(
    columns: tuple[pa.Array, ...], shown: list[Any], encode: Callable[[pa.Array], pa.Array]
) -> None:
    streams = {
        name: pa.table({"ts": [at], "v": encode(column)})
        for at, (name, column) in enumerate(zip("AB", columns, strict=True))
    }
    found = sase.match("EVENT ANY c", streams, time="ts").to_arrow()
    assert [event["v"] for event in found["c"].to_pylist()] == shown


def test_a_snapshot_while_rows_wait_whose_dictionaries_hold_null() -> None:
    """Also those within another type, which Arrow does not concatenate."""
    batches = []
    for start in (0, 2):
        names = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([f"n{start}", None]))
        columns = {"ts": [start, start + 1], "type": ["A", "B"], "id": [1, 1]}
        columns["s"] = pa.StructArray.from_arrays([names], ["name"])
        batches.append(pa.RecordBatch.from_pydict(columns))
    plan = sase.compile(
        "EVENT SEQ(A a, B b) WITHIN 2 RETURN a.ts AS t", batches[0].schema, lateness=9
    )
    matcher = plan.open()
    for batch in batches:
        matcher.push(batch)
    assert [match["t"] for match in plan.restore(matcher.snapshot()).finish().to_pylist()] == [0, 2]


def test_a_column_that_is_empty_or_missing_at_times() -> None:
    """Its values are where they were."""
    events = rows(300)
    for ts, row in enumerate(events):
        row["x"] = None if ts % 3 else ts
        if ts % 7 == 0:
            del row["x"]
    plan = sase.compile(QUERY, events)
    found, most = results(plan, [[row] for row in events])
    assert found == plan.run(events).to_pylist()
    assert most <= 20


def test_columns_that_differ_stay_apart() -> None:
    """The rest is united around them."""
    events = [row | {"x": "text" if ts == 50 else ts} for ts, row in enumerate(rows(120))]
    plan = sase.compile("EVENT SEQ(A a, B b) WHERE [id]", rows(1))
    matcher = plan.open()
    for row in events:
        matcher.push([row])
    levels = [piece.level for piece in matcher.pipeline.state.history.pieces]
    assert levels.count(None) == row_history.RUN
    assert len(levels) <= 20


@pytest.mark.random
def test_rows_that_are_late_or_out_of_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their numbers are those of the stream of pushes."""
    events = rows(300 if settings().derandomize else 800)
    random = Random(draw_numbers(3)[2])
    mixed = sorted(events, key=lambda row: row["ts"] + random.randrange(12))
    plan = sase.compile(QUERY, events, lateness=8)

    def found() -> tuple[list[Any], list[Any]]:
        matcher, parts = plan.open(), list[Any]()
        for start in range(0, len(mixed), 2):
            parts.append(matcher.push(mixed[start : start + 2]))
        parts.append(matcher.finish())
        assert matcher.late.num_rows > 0
        numbers = [row for part in parts for row in part.rows.to_pylist()]
        return numbers, [row for part in parts for row in part.to_pylist()]

    united = found()
    assert all(mixed[row["b"]]["type"] == "B" for row in united[0])
    monkeypatch.setattr(row_history, "MANY", 10**6)
    assert united == found() != ([], [])


def batches(events: list[dict[str, Any]], size: int) -> list[pa.RecordBatch]:
    """Events cut into batches of one dictionary of types."""
    whole = pa.Table.from_pylist(events).unify_dictionaries()
    whole = whole.set_column(1, "type", whole["type"].combine_chunks().dictionary_encode())
    return [each for each in whole.to_batches(size) if each.num_rows]


def test_results_are_shown_by_the_pieces_that_have_their_events() -> None:
    """Else each push would take as long to read as the pieces of a window are many."""
    parts = batches(rows(900), 50)
    matcher, found = sase.compile(QUERY, parts[0].schema).open(), list[dict[str, Any]]()
    for part in parts:
        matches = matcher.push(part)
        history = matcher.pipeline.state.history
        for match in matches.rows.to_pylist():
            numbers = np.array([*match.values()])
            shown = history.showing(numbers).pieces
            assert len(shown) == len({number // 50 for number in match.values()})
        found += matches.to_pylist()
    assert len(history.pieces) > 5
    assert history.showing(np.array([], np.int64)).pieces == history.pieces[-1:]
    assert found == sase.match(QUERY, pa.Table.from_batches(parts)).to_pylist()


def test_pieces_whose_columns_differ_are_shown_together() -> None:
    """The types of all of them decide those of results, whichever have the events."""
    events = [row | {"x": float(ts) if ts > 80 else ts} for ts, row in enumerate(rows(120))]
    plan = sase.compile(QUERY, events[:1])
    matcher = plan.open()
    for row in events:
        kinds = matcher.push([row]).to_arrow().schema
        history = matcher.pipeline.state.history
        assert row["ts"] < 82 or history.showing(np.array([row["ts"]])) is history
    assert kinds.field("a").type.field("x").type == pa.float64()


@pytest.mark.parametrize("is_cut", [False, True], ids=["rows", "batches"])
def test_a_snapshot_has_few_pieces(*, is_cut: bool) -> None:
    """And continues with the same rows, whatever their numbers are."""
    events = rows(400)
    parts: list[Any] = batches(events, 40) if is_cut else [[row] for row in events]
    plan = sase.compile(QUERY, batches(events, 400)[0].schema if is_cut else events)
    matcher, half = plan.open(), len(parts) // 2
    for part in parts[:half]:
        matcher.push(part)
    assert len(matcher.pipeline.state.history.pieces) > 4
    again = plan.restore(matcher.snapshot())
    assert len(again.pipeline.state.history.pieces) == 1
    for part in parts[half:]:
        known, shown = matcher.push(part), again.push(part)
        assert known.rows == shown.rows
        assert known.to_pylist() == shown.to_pylist()
