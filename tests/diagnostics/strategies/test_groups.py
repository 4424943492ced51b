"""Strategies side by side for a pattern with repeated groups: matches by iteration, and reasons."""

from __future__ import annotations

import sase
from sase.diagnostics.strategies.comparison import SEVERAL

QUERY = "EVENT SEQ(A a, (SEQ(B b, C* c[]))+ g[], D d) WHERE [id]"
ROWS = [
    {"ts": ts, "type": kind, "id": identity}
    for ts, (kind, identity) in enumerate(
        [("A", 1), ("B", 1), ("X", 2), ("C", 1), ("B", 1), ("X", 1), ("D", 1), ("B", 2), ("D", 2)]
    )
]


def differences(query: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """By strategy each match that it has beyond a stricter one, and the reasons."""
    compared = sase.compare(query, ROWS, show=30)
    return {d.strategy: {str(m): m.reasons for m in d.matches} for d in compared.differences}


def test_iterations_are_shown_and_contiguity_says_why() -> None:
    found = differences(QUERY)
    whole = "a: row 0  g: [rows 1 and 3] [row 4]  d: row 6"
    assert found["skip_till_next_match"] == {
        whole: (
            "skips row 5, which is of the same partition [id]:"
            " partition contiguity does not allow it",
        )
    }
    assert set(found["skip_till_any_match"]) == {
        "a: row 0  g: [row 1] [row 4]  d: row 6",
        "a: row 0  g: [rows 1 and 3]  d: row 6",
        "a: row 0  g: [row 1]  d: row 6",
        "a: row 0  g: [row 4]  d: row 6",
    }
    assert found["skip_till_any_match"]["a: row 0  g: [rows 1 and 3]  d: row 6"] == (
        "skips row 4, a B that could begin b: skip till next match must take it",
    )
    assert found["skip_till_any_match"]["a: row 0  g: [row 1] [row 4]  d: row 6"] == (
        "skips row 3, a C that could begin c: skip till next match must take it",
    )


def test_it_is_told_of_branches_and_of_groups_that_are_left_out() -> None:
    why = "skips row 1, a B that could begin b: skip till next match must take it"
    query = "EVENT SEQ(A a, (B b)+ g[], D d) OR SEQ(A a, C e) WHERE [id]"
    found = differences(query)["skip_till_any_match"]
    assert found["a: row 0  g: [row 4]  d: row 6"] == (why,)
    query = "EVENT SEQ(A a, (B b)* g[], D d) WHERE [id]"
    found = differences(query)["skip_till_any_match"]
    assert found["a: row 0  d: row 6"][:1] == (why.replace("row 1, a", "rows 1 and 4, each a"),)


def test_it_is_not_told_where_an_iteration_may_be_of_several_branches() -> None:
    query = "EVENT SEQ(A a, (SEQ(B b, C? c) OR B b)+ g[], D d) WHERE [id]"
    found = differences(query)["skip_till_any_match"]
    assert found["a: row 0  g: [row 4]  d: row 6"] == (SEVERAL,)


def test_events_of_other_partitions_may_lie_between() -> None:
    rows = [row for row in ROWS if row["ts"] != 5]
    compared = sase.compare(QUERY, rows, show=30)
    (match,) = compared.differences[0].matches
    assert compared.differences[0].strategy == "partition_contiguity"
    assert match.reasons == ("not contiguous: row 2 lies between",)
    assert match.to_dict()["rows"] == {"a": [0], "g": [[[1], [3]], [[4], []]], "d": [5]}


def test_the_same_events_in_other_iterations_are_another_match() -> None:
    rows = [{"ts": ts, "type": "B"} for ts in range(3)]
    compared = sase.compare("EVENT (B+ b[])+ g[]", rows, show=30)
    assert [each.matches for each in compared.measured] == [11, 11, 13]
    (difference,) = (each for each in compared.differences if each.number)
    assert {str(each) for each in difference.matches} == {"g: [rows 0 and 2]", "g: [row 0] [row 2]"}
