"""Matches of sets are counted through the states of the sets, where no match need be looked at."""

from __future__ import annotations

from typing import Any

import pytest

import sase

TEN = "ABCDEFGHIJ"


def rows(count: int, tied: int = 1, kinds: str = "ABCD") -> list[dict[str, Any]]:
    """A row for each number; this number in a row are simultaneous."""
    return [
        {"type": kinds[n * 7 % 11 % len(kinds)], "ts": n // tied, "k": n % 3, "v": n % 5}
        for n in range(count)
    ]


def explained(query: str, given: list[dict[str, Any]]) -> str:
    """The explanation of a count, in one line."""
    return " ".join(str(sase.explain(query, given, output="count")).split())


@pytest.mark.parametrize("tied", [1, 2, 3])
@pytest.mark.parametrize(
    "query",
    [
        "EVENT SET(A a, B b)",
        "EVENT SEQ(SET(A a, B+ b[]), C c)",
        "EVENT SET(ANY(A, B) a, ANY(A, B, C) b, ANY c) WITHIN 6",
        "EVENT SET(A+ a[], B* b[], C? c) WHERE [k] WITHIN 12",
        "EVENT SEQ(SET(A a, B{2,3} b[]), SET(ANY(A, C){2,} c[], D? d))",
        "EVENT SEQ(ANY(A, B) a, SET(B b, ANY(A, D) c)) WITHIN 9 EVENTS",
        "EVENT SEQ(D? x, SET(A a, ANY(A, B) b), C* c[]) WHERE a.v > 1 AND b.v < 4 WITHIN 6",
        "EVENT SET(A a, B+ b[]) WHERE b.len >= 2 HAVING b.len < 4",
        "EVENT SEQ(SET(A a, B b), D d) OR SEQ(SET(A a, C c), D d)",
    ],
)
def test_what_is_counted(query: str, tied: int) -> None:
    given = rows(24, tied)
    count = sase.match(query, given, output="count")
    assert count == len(sase.match(query, given)) > 0
    assert count.is_counted
    assert "looked at one by one" not in explained(query, given)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("EVENT SET(A a, B b) WHERE a.v < b.v", "a.v < b.v is no condition on one event"),
        ("EVENT SET(A a, B+ b[]) WHERE b[i].v >= b[i-1].v", "b[i].v >= b[i-1].v is no condition"),
        ("EVENT SET(A a, B b) HAVING a.v < b.v", "HAVING a.v < b.v is on no length alone"),
        ("EVENT SEQ(SET(A a, C b), !(D d), B c)", "a negative component looks at whole matches"),
        ("EVENT SET(A a, B b) LIMIT 3", "LIMIT takes the first matches only"),
        ("EVENT SET(A a, B b) WHERE skip_till_next_match", "under skip_till_next_match runs"),
        ("EVENT SET(A a, B b) WHERE earliest_maximal WITHIN 5", "under earliest_maximal runs"),
        ("EVENT SEQ(SET(A{2,64} a[], B{2,64} b[], C{2,64} c[]))", "it has 2,146,689 states"),
    ],
)
def test_what_is_listed(query: str, reason: str) -> None:
    given = rows(18)
    count = sase.match(query, given, output="count")
    assert count == len(sase.match(query, given)) > 0
    assert not count.is_counted
    for text in (" ".join(count.report.notes), explained(query, given)):
        assert "since the members of a set come in any order" in text
        assert reason in text


def test_no_match_is_counted_too() -> None:
    count = sase.match("EVENT SET(A a, B b)", rows(9, kinds="AC"), output="count")
    assert (count, count.is_counted) == (0, True)


def test_ten_members_and_a_thousand_events() -> None:
    given = [{"type": TEN[n * 7 % 10], "ts": n} for n in range(1000)]
    members = [f"{kind} {kind.lower()}" for kind in TEN]
    assert sase.match(f"EVENT SET({', '.join(members)})", given, output="count") == 100**10
    members = [f"{kind}+ {kind.lower()}[]" for kind in TEN]
    count = sase.match(f"EVENT SET({', '.join(members)})", given, output="count")
    assert count == (2**100 - 1) ** 10


def test_simultaneous_events_beyond_what_an_integer_holds() -> None:
    given = [{"type": kind, "ts": ts} for ts in range(300) for kind in "ABC"]
    count = sase.match("EVENT SET(A+ a[], B+ b[], C c)", given, output="count")
    assert count == (2**300 - 1) ** 2 * 300


def test_an_event_is_bound_once_whichever_member_admits_it() -> None:
    given = [{"type": "A", "ts": 1} for _ in range(6)]
    members = ", ".join(f"A m{n}" for n in range(4))
    assert sase.match(f"EVENT SET({members})", given, output="count") == 6 * 5 * 4 * 3


def test_more_matches_than_can_be_listed_as_a_set() -> None:
    given = [{"type": kind, "ts": ts} for ts in range(100) for kind in "ABC"]
    found = sase.match("EVENT SET(A+ a[], B+ b[], C c)", given, output="compressed")
    assert found.counts_paths
    assert found.count() == (2**100 - 1) ** 2 * 100
    assert found.aggregate("count", "c") == found.count()
    assert found.aggregate("count", "a[]") == 100 * 2**99 * (2**100 - 1) * 100
    for match in (*found.first(3).rows.to_pylist(), *found.sample(20, seed=1).rows.to_pylist()):
        rows = [*match["a"], *match["b"], match["c"]]
        assert len(set(rows)) == len(rows)
        assert {given[row]["type"] for row in match["b"]} == {"B"}


def test_a_graph_of_too_many_states_is_not_made() -> None:
    members = ", ".join(f"{kind}+ {kind.lower()}[]" for kind in TEN)
    found = sase.match(f"EVENT SET({members})", rows(9), output="compressed")
    assert found.count() == 0
    assert found.reasons[0] == "the members of a set come in any order"
    assert found.reasons[1] == "the graph of its states has 393,660 slots"
