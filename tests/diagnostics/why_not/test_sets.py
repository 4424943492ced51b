"""Explanations where a set lacks a member, and of runs that take all they can."""

from __future__ import annotations

import pytest

import sase

EVENTS = [
    {"type": kind, "ts": ts, "v": v}
    for kind, ts, v in [
        ("P", 0, 5),
        ("P", 1, 6),
        ("C", 2, 0),
        ("P", 3, 4),
        ("B", 4, 0),
        ("B", 5, 0),
    ]
]


@pytest.mark.parametrize("strategy", ["skip_till_any_match", "skip_till_next_match"])
def test_the_set_lacks_what_a_condition_between_members_stops(strategy: str) -> None:
    query = f"EVENT SEQ(SET(C c, P+ p[]), B b) WHERE {strategy} {{ p[i].v > c.v + 10 }} WITHIN 15"
    why = sase.why(query, EVENTS)
    assert "3 P+ p have C c beside it, with WITHIN 15; all 3 are stopped by" in str(why)
    assert "The SET of c, p lacks p." in str(why)
    nearest = why.near_misses.column("by").to_pylist()[0]
    assert nearest.startswith("p[i].v is " + ("6, c.v is 0: by 4" if "any" in strategy else "4"))


def test_the_set_lacks_what_there_is_none_of() -> None:
    why = str(sase.why("EVENT SEQ(SET(C c, P+ p[], D d), B b)", EVENTS))
    assert "No event has the type `D`" in why
    assert "The SET of c, p, d lacks d." in why


def test_the_members_of_a_set_come_behind_what_is_before_it() -> None:
    why = str(sase.why("EVENT SEQ(B b, SET(C c, P+ p[]))", EVENTS))
    assert "There are 2 B b, and none of the 1 C c comes after one of them" in why
    assert "The SET of c, p lacks c." in why
    # Any order within the set is right.
    assert "is the order" not in str(sase.why("EVENT SEQ(SET(B b, C c), P x)", EVENTS[:4]))


def test_what_stops_whole_matches_is_no_lack_of_a_set() -> None:
    query = "EVENT SET(C c, P+ p[]) HAVING p.len > 7"
    why = str(sase.why(query, EVENTS))
    assert "stopped by HAVING p.len > 7" in why
    assert "lacks" not in why


def test_a_set_that_is_whole_lacks_nothing() -> None:
    why = sase.why("EVENT SEQ(SET(C c, P+ p[]), B b)", EVENTS)
    assert why.matches.number == len(sase.match("EVENT SEQ(SET(C c, P+ p[]), B b)", EVENTS))
    assert "lacks" not in str(why)


def test_greedy_runs_are_loosened_to_any_match() -> None:
    greedy = "EVENT SEQ(P+ p[], B b) WHERE earliest_maximal { p.len < 3 } WITHIN 15"
    why = sase.why(greedy, EVENTS)
    found = {str(each): each.matches.number for each in why.left_out}
    for said, query in [
        ("p.len < 3", greedy.replace("p.len < 3", "p.len > 0")),
        (
            "skip_till_any_match instead of earliest_maximal",
            greedy.replace("earliest_maximal", "skip_till_any_match"),
        ),
        ("WITHIN 15", greedy.removesuffix("WITHIN 15")),
    ]:
        assert found[said] == len(sase.match(query, EVENTS)), said
    assert {each.part for each in why.levels[0].steps} <= {each.parts[0] for each in why.left_out}
    for level in why.levels:
        lefts = [step.left.number for step in level.steps]
        assert lefts == sorted(lefts, reverse=True)
