"""Results with repeated groups: lists of structs, rows, RETURN, and unknown values."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest

import sase
from sase.errors import BudgetError

EVENTS = [
    {"ts": ts, "type": kind, "v": value, "id": 1}
    for ts, kind, value in [
        (1, "X", 0), (2, "A", 4), (3, "B", 5), (4, "C", 6), (5, "C", 7), (6, "A", 2), (7, "Y", 9),
    ]
]  # fmt: skip
QUERY = "EVENT SEQ(X x, (SEQ(A a, B? b) OR C+ c[])+ g[], Y y) WHERE strict_contiguity"


def event(ts: int) -> dict[str, Any]:
    return EVENTS[ts - 1]


def found(query: str = QUERY, **options: Any) -> sase.Matches:
    return sase.match(query, EVENTS, **options)


def test_a_group_is_a_list_of_structs_with_a_field_for_each_variable_inside() -> None:
    first, second = found()
    assert second["g"] == [
        {"a": event(2), "b": event(3), "c": []},
        {"a": None, "b": None, "c": [event(4), event(5)]},
        {"a": event(6), "b": None, "c": []},
    ]
    assert [each["c"] for each in first["g"]] == [[], [event(4)], [event(5)], []]
    assert (first["x"], first["y"], first["detected_at"]) == (event(1), event(7), 7)


def test_rows_have_the_same_shape() -> None:
    assert found().rows.to_pylist()[1] == {
        "x": 0,
        "g": [
            {"a": 1, "b": 2, "c": []},
            {"a": None, "b": None, "c": [3, 4]},
            {"a": 5, "b": None, "c": []},
        ],
        "y": 6,
    }


def test_the_schema_is_that_of_results_also_without_any() -> None:
    none = found("EVENT SEQ(X x, (SEQ(A a, B? b) OR C+ c[])+ g[], Y y) WHERE x.v = 1")
    assert len(none) == 0
    assert none.to_arrow().schema == found().to_arrow().schema
    assert none.rows.schema == found().rows.schema
    kind = none.rows.schema.field("g").type
    fields = [("a", pa.int64()), ("b", pa.int64()), ("c", pa.list_(pa.int64()))]
    assert kind == pa.list_(pa.struct(fields))


def test_groups_beside_each_other_and_one_that_is_left_out() -> None:
    rows = found("EVENT SEQ(X x, (A a)* g[], (B b OR C c)+ h[], (D d)* k[])").rows.to_pylist()
    assert {"x": 0, "g": [{"a": 1}], "h": [{"b": 2, "c": None}], "k": []} in rows
    assert {"x": 0, "g": [], "h": [{"b": 2, "c": None}], "k": []} in rows


def test_slices_pieces_and_copies_are_alike() -> None:
    query = "EVENT SEQ(X x, (SEQ(A a, B? b) OR C+ c[])+ g[], Y y)"
    whole = found(query).to_pylist()
    assert len(whole) > 20
    matches = found(query)
    assert matches[3:5] == whole[3:5]
    assert [matches[place] for place in range(len(whole))] == whole
    assert pickle.loads(pickle.dumps(matches)).to_pylist() == whole
    assert found(query, plan="nfab").to_pylist() == whole
    batches = [row for batch in found(query).to_reader() for row in batch.to_pylist()]
    assert batches == whole


def test_return_and_having_name_iterations() -> None:
    query = f"""{QUERY} HAVING g.len > 2 AND sum(g[].a.v) = 6
    RETURN g.len, g[1].a.v, g[g.len].a.v, g[g.len].b.v, count(g[].b.v), avg(g[].a.v) AS mean"""
    columns = ("g_len", "g_1_a_v", "g_last_a_v", "g_last_b_v", "count_g_b_v", "mean")
    returned = [{name: row[name] for name in columns} for row in found(query)]
    four = {"g_last_a_v": 2, "g_last_b_v": None, "count_g_b_v": 1, "mean": 3.0}
    assert returned == [{"g_len": 4, "g_1_a_v": 4, **four}, {"g_len": 3, "g_1_a_v": 4, **four}]


def test_an_event_of_an_iteration_is_shown_apart_from_its_attributes() -> None:
    text = str(found("EVENT (SEQ(A a, B b))+ g[] WHERE strict_contiguity"))
    assert "[a=(ts=2 v=4 id=1) b=(ts=3 v=5 id=1)]" in text


def test_a_match_beyond_the_most_is_named_by_its_rows() -> None:
    query = "EVENT SEQ(X x, (SEQ(A a, B? b) OR C+ c[])+ g[], Y y)"
    with pytest.raises(BudgetError, match="match 1 begins with input row 0 and ends with row 6"):
        found(query, max_matches=1).to_pylist()


def test_matches_are_counted_and_held_one_by_one() -> None:
    query = "EVENT SEQ(X x, (SEQ(A a, B? b) OR SEQ(A a, B b))+ g[], Y y)"
    count = sase.match(query, EVENTS, output="count")
    assert (count, count.is_counted) == (len(found(query)), False)
    assert any(
        "an iteration of a repeated group is several events" in n for n in count.report.notes
    )
    held = sase.match(query, EVENTS, output="compressed")
    assert held.count() == len(found(query))
    assert held.expand().rows.equals(found(query).rows)


def test_non_overlap_takes_the_first() -> None:
    query = "EVENT (C c)+ g[]"
    rows = found(query, output="non_overlap").rows.to_pylist()
    assert rows == [{"g": [{"c": 3}]}, {"g": [{"c": 4}]}]


def test_a_plan_in_json_has_iterations() -> None:
    plan = sase.compile(QUERY, EVENTS)
    assert sase.Plan.from_json(plan.to_json()).run(EVENTS).to_pylist() == found().to_pylist()


def test_why_says_what_stops_one_iteration_and_what_it_leaves_aside() -> None:
    query = """EVENT SEQ(X x, (SEQ(A a, B b, C c)){2,} g[], Y y)
    WHERE skip_till_next_match(x, g[], y) { g[i].a.v > b.v AND g[i-1].c.v < a.v AND [id] }
    HAVING g.len > 2 AND x.v = 0 RETURN g.len"""
    told = sase.why(query, EVENTS)
    assert told.words == (
        "this is about one iteration of `g`, where at least 2 of `g` are needed; left aside:"
        " g[i-1].c.v < a.v, g.len > 2",
        "there is no match",
        "1 B b has X x and A a before, with [id]; it is stopped by a.v > b.v",
        "without a.v > b.v there would be 1 match",
    )


def test_why_of_branches_of_an_iteration() -> None:
    told = sase.why("EVENT SEQ(X x, (SEQ(A a, B b) OR C c)* g[], Y y) WHERE c.v > 9", EVENTS)
    assert [each.pattern for each in told.branches] == [
        "SEQ(X x, A a, B b, Y y)",
        "SEQ(X x, C c, Y y)",
        "SEQ(X x, Y y)",
    ]
    assert told.words[0] == "this is about one iteration of `g`"


def test_compare_counts_groups_and_says_why_matches_are_more() -> None:
    compared = sase.compare(QUERY, EVENTS)
    counts = {each.strategy: each.matches for each in compared.measured}
    assert counts["strict_contiguity"] == 2 < counts["skip_till_any_match"]
    assert "skips row 2, a B that could begin b: skip till next match must take it" in str(compared)
