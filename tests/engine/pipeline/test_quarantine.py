"""Queries over events with bad rows: the matches are those of the other rows, by every way in."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sase
from sase.errors import DataError, PlanError
from sase.planning.engine_plan import Options
from tests.engine.columns.layouts import containers

GREAT = 2**63
QUERIES = [
    "EVENT SEQ(A a, B b) WITHIN 4",
    "EVENT SEQ(A a, B b) WHERE a.x <= b.x WITHIN 4 EVENTS",
    "EVENT SEQ(A a, !(C c), B b) WHERE a.x = b.x WITHIN 6",
    "EVENT SEQ(ANY a, B b) WHERE b.x > 0 WITHIN 3 EVENTS RETURN a.x AS x, b.s AS s LIMIT 5",
    "EVENT SEQ(A a, !(B b)) WITHIN 2",
]
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "ts": st.integers(0, 12) | st.sampled_from([None, GREAT]),
            "type": st.sampled_from(["A", "B", "C", "A", "B", None]),
            "n": st.integers(0, 3) | st.none(),
            "x": st.sampled_from([0, 1, 2, None, GREAT]),
            "s": st.sampled_from(["p", "q", None]),
            "u": st.sampled_from([0, GREAT, None]),
        }
    ),
    min_size=3,
    max_size=25,
)
TYPES = {"ts": "uint64", "type": "string", "n": "int8", "x": "uint64", "s": "string", "u": "uint64"}
ARROW = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in TYPES.items()])


def first_fault(row: dict[str, Any], query: str, seq: str | None) -> str | None:
    """The column that makes a row bad for a query."""
    named = ["ts", "type", *([seq] if seq else []), *(["x"] if ".x" in query else [])]
    for name in named:
        if row[name] == GREAT or (row[name] is None and name != "x"):
            return name
    return None


@given(ROWS, st.sampled_from(QUERIES), st.sampled_from([None, "n"]), st.data())
def test_matches_are_those_of_the_good_rows(
    rows: list[Any], query: str, seq: str | None, data: st.DataObject
) -> None:
    """With the row numbers of the input."""
    table = pa.Table.from_pylist(rows, ARROW)
    faults = [first_fault(row, query, seq) for row in rows]
    good = [row for row, fault in enumerate(faults) if fault is None]
    bad = [row for row, fault in enumerate(faults) if fault is not None]
    expected = sase.match(query, table.take(pa.array(good, pa.int64())), seq=seq)
    events = data.draw(st.sampled_from(containers(table)))
    found = sase.match(query, events, seq=seq, on_bad_row="quarantine")
    assert found.to_pylist() == expected.to_pylist()
    assert found.rows.to_pylist() == [
        {name: good[row] for name, row in match.items()} for match in expected.rows.to_pylist()
    ]
    report = found.report
    assert report.bad == len(bad)
    assert report.warnings == expected.report.warnings
    assert report.rows == expected.report.rows + len(bad)
    assert report.quarantined["sase_row"].to_pylist() == bad
    assert report.quarantined["sase_column"].to_pylist() == [faults[row] for row in bad]
    assert report.quarantined.drop_columns(
        ["sase_row", "sase_column", "sase_reason"]
    ).to_pylist() == [rows[row] for row in bad]
    if bad:
        with pytest.raises(DataError) as caught:
            sase.match(query, table, seq=seq)
        assert (caught.value.row, caught.value.column) == (bad[0], faults[bad[0]])
    else:
        again = sase.match(query, table, seq=seq)
        assert again.rows == found.rows
        assert again.report.quarantined is None


@given(ROWS, st.sampled_from(QUERIES), st.data())
def test_pushed_in_pieces(rows: list[Any], query: str, data: st.DataObject) -> None:
    """The same matches and the same bad rows in any cut; numbered from the first row pushed."""
    times = iter(sorted(row["ts"] for row in rows if row["ts"] not in (None, GREAT)))
    rows = [row if row["ts"] in (None, GREAT) else {**row, "ts": next(times)} for row in rows]
    as_dicts = data.draw(st.booleans())
    table = pa.Table.from_pylist(rows, ARROW)
    if as_dicts:  # a column that Arrow cannot read and no query names is not shown
        table = table.drop_columns(["u"] if ".x" in query else ["u", "x"])
        rows = table.to_pylist()
    plan = sase.compile(query, table, on_bad_row="quarantine")
    whole = plan.run(table)
    matcher = plan.open()
    found, told, begin = [], [], 0
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=6)))
    for end in [*cuts, len(rows)]:
        part = rows[begin:end] if as_dicts else table.slice(begin, end - begin)
        matches = matcher.push(part)
        found += zip(matches.to_pylist(), matches.rows.to_pylist(), strict=True)
        told += matches.report.quarantined["sase_row"].to_pylist()
        assert matches.report.bad == matches.report.quarantined.num_rows
        begin = end
    last = matcher.finish()
    found += zip(last.to_pylist(), last.rows.to_pylist(), strict=True)
    assert found == list(zip(whole.to_pylist(), whole.rows.to_pylist(), strict=True))
    assert told == whole.report.quarantined["sase_row"].to_pylist()
    assert (last.report.bad, last.report.quarantined) == (whole.report.bad, None)


def test_types_by_condition_and_one_type() -> None:
    """Conditions apply to good rows only, and the columns that they name count as named."""
    table = pa.table(
        {"ts": [1, None, 3, 4], "x": pa.array([1, 1, GREAT, 2], pa.uint64()), "y": [1, 2, 3, 4]}
    )
    options: dict[str, Any] = {"on_bad_row": "quarantine"}
    by_condition = sase.match(
        "EVENT SEQ(A a, B b) WITHIN 9", table, types={"A": "x = 1", "B": "x > 1"}, **options
    )
    assert by_condition.rows.to_pylist() == [{"a": 0, "b": 3}]
    assert by_condition.report.quarantined["sase_column"].to_pylist() == ["ts", "x"]
    one = sase.match("EVENT SEQ(A a, A b) WITHIN 9", table, type=None, types="A", **options)
    assert one.rows.to_pylist() == [{"a": 0, "b": 2}, {"a": 2, "b": 3}, {"a": 0, "b": 3}]
    assert str(one.report).splitlines()[:2] == ["4 rows read", "1 bad rows in quarantine"]


def test_dicts_without_a_type_in_common() -> None:
    rows = [
        {"ts": 1, "type": "A", "x": 1, "y": "u"},
        {"ts": "soon", "type": "A", "x": 1},
        {"ts": 3, "type": 5, "x": 1},
        {"ts": 4, "type": "B", "x": "many"},
        {"ts": 2, "type": "B", "x": 2, "y": 3},
        {"ts": 5, "type": "B", "x": 2**70},
        {"type": "B", "x": 2},
    ]
    found = sase.match(
        "EVENT SEQ(A a, B b) WHERE a.x < b.x WITHIN 9", rows, on_bad_row="quarantine"
    )
    assert found.rows.to_pylist() == [{"a": 0, "b": 4}]
    assert found[0]["b"] == {"ts": 2, "type": "B", "x": 2}  # `y` has no type, and is not named
    side = found.report.quarantined
    assert list(
        zip(side["sase_row"].to_pylist(), side["sase_column"].to_pylist(), strict=True)
    ) == [(1, "ts"), (2, "type"), (3, "x"), (5, "x"), (6, "ts")]
    assert side["ts"].to_pylist() == ["soon", "3", "4", "5", None]
    assert side["y"].to_pylist() == [None] * 5
    unnamed = sase.match("EVENT SEQ(A a, B b) WITHIN 9", rows, on_bad_row="quarantine")
    assert unnamed.report.bad == 3


def test_a_table_for_each_type() -> None:
    events = {
        "A": pa.table({"ts": [1, 2], "x": pa.array([GREAT, 1], pa.uint64())}),
        "B": pa.table({"ts": [3, None, 5], "z": ["p", "q", "r"]}),
    }
    found = sase.match("EVENT SEQ(A a, B b) WHERE a.x > 0", events, on_bad_row="quarantine")
    assert found.rows.to_pylist() == [{"a": 1, "b": 2}, {"a": 1, "b": 4}]
    assert found.to_pylist()[1]["b"] == {"ts": 5, "z": "r"}
    assert found.report.quarantined.to_pylist() == [
        {
            "sase_row": 0, "sase_type": "A", "sase_column": "x", "ts": 1, "x": GREAT, "z": None,
            "sase_reason": "the greatest integer is 9223372036854775807; leave the row out, or give"
            " a time in a coarser unit, an identifier as text, another number as a float",
        },
        {
            "sase_row": 3, "sase_type": "B", "sase_column": "ts", "ts": None, "x": None, "z": "q",
            "sase_reason": "every event needs a time; fill it in, or leave the row out",
        },
    ]  # fmt: skip


def test_warnings_come_also_with_bad_rows() -> None:
    """Types that never occurred in a good row, and the row of the input in which one overflowed."""
    table = pa.table(
        {"ts": [None, 1, 2, 3], "type": ["Exit", "A", "B", "A"], "x": [1, GREAT - 1, 1, 1]}
    )
    query = "EVENT SEQ(A a, B b, !(Exit e)) WHERE a.x + 1 > 0 WITHIN 5"
    for plan in ("basic", "optimized"):
        compiled = sase.compile(query, table, plan=plan, on_bad_row="quarantine")
        whole = compiled.run(table)
        absent, overflow = whole.report.warnings
        assert absent == "no event of type `Exit` occurred"
        assert overflow.endswith("1 times and was NULL there, for example in row 1")
        matcher = replace(compiled, options=Options(stack=1, block=1)).open()
        for begin in range(4):
            matcher.push(table.slice(begin, 1))
        for time in range(100, 200, 10):  # until the event of the example is forgotten
            matcher.push(pa.table({"ts": [time, time + 1], "type": ["A", "B"], "x": [1, 1]}))
        assert plan == "basic" or matcher.pipeline.state.history.pieces[0].begin > 1
        _, again = matcher.finish().report.warnings
        assert again.endswith(" times and was NULL there, for example in row 1")


def test_bad_rows_are_never_late_and_late_rows_keep_their_numbers() -> None:
    table = pa.table({"ts": [1, None, 5, 3, 6], "type": ["A", "A", "B", "B", "C"]})
    plan = sase.compile("EVENT SEQ(A a, C c) WITHIN 9", table, on_bad_row="quarantine")
    for cuts in ([5], [1, 4], [2, 2, 1], [3, 2]):
        matcher, begin, bad = plan.open(), 0, 0
        found = []
        for size in cuts:
            matches = matcher.push(table.slice(begin, size))
            found += matches.rows.to_pylist()
            bad += matches.report.bad
            begin += size
        assert (found, bad) == ([{"a": 0, "c": 4}], 1)
        assert matcher.late.to_pylist() == [{"#row": 3, "ts": 3, "type": "B"}]
        report = matcher.finish().report
        assert (report.rows, report.bad, report.late) == (5, 1, 1)


def test_batches_of_the_short_way_have_a_table_too() -> None:
    types = pa.array(["A", "B"]).dictionary_encode()
    schema = pa.schema({"ts": pa.int64(), "type": types.type})
    matcher = sase.compile("EVENT SEQ(A a, B b)", schema, on_bad_row="quarantine").open()
    for start in (1, 3, 5):
        report = matcher.push(pa.record_batch([np.array([start, start + 1]), types], schema)).report
        assert report.quarantined.num_rows == 0
        assert report.quarantined.column_names[-2:] == ["ts", "type"]
    bad = pa.record_batch([pa.array([None, 9]), types], schema)
    assert matcher.push(bad).report.bad == 1
    assert matcher.push(pa.record_batch([np.array([10, 11]), types], schema)).report.bad == 0
    assert matcher.advance(20).report.quarantined is None


def test_it_is_part_of_the_plan() -> None:
    table = pa.table({"ts": [1, None], "type": ["A", "A"]})
    plan = sase.compile("EVENT A a", table, on_bad_row="quarantine")
    for copy in (sase.Plan.from_json(plan.to_json()), pickle.loads(pickle.dumps(plan))):
        assert copy == plan
        assert copy.run(table).report.bad == 1
    usual = sase.compile("EVENT A a", table)
    assert usual != plan
    assert sase.Plan.from_json(usual.to_json()) == usual
    with pytest.raises(DataError):
        usual.run(table)


@pytest.mark.parametrize(
    ("given_name", "hint"),
    [
        ("quarantined", "; did you mean `quarantine`?"),
        ("Error", "; did you mean `error`?"),
        ("x", ""),
    ],
)
def test_a_name_that_is_not_known(given_name: str, hint: str) -> None:
    table = pa.table({"ts": [1], "type": ["A"]})
    for call in (sase.match, sase.compile):
        with pytest.raises(PlanError) as caught:
            call("EVENT A a", table, on_bad_row=given_name)
        message = f'on_bad_row={given_name!r}: it is "error" or "quarantine"{hint}'
        assert str(caught.value) == message
