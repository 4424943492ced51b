"""Explanations of matches that negative groups stop."""

from __future__ import annotations

import sase

EVENTS = [
    {"type": kind, "ts": ts, "v": v}
    for kind, ts, v in [("X", 1, 1), ("B", 2, 2), ("C", 3, 3), ("Y", 4, 1), ("X", 10, 1)]
]


def test_the_events_that_forbid_are_told() -> None:
    for conditions in ("", " WHERE b.v > x.v"):
        why = sase.why(f"EVENT SEQ(X x, !(SEQ(B b, C c)), Y y){conditions}", EVENTS)
        assert "it is stopped by !(SEQ(B b, C c))" in str(why)
        assert "Without that group, !(SEQ(B b, C c)), there would be 1 match." in str(why)
        assert why.near_misses.column("by").to_pylist() == ["b in row 1 and c in row 2"]


def test_a_group_is_left_out_beside_others() -> None:
    query = "EVENT SEQ(X x, !(SEQ(B b, !(X n), C c)), !(Z z), Y y, !(SEQ(B e, C f))) WITHIN 20"
    left_out = sase.why(query, EVENTS).left_out
    found = {each.parts[0].text: each.matches.number for each in left_out}
    assert found["!(SEQ(B b, !(X n), C c))"] == 1
    assert found["!(Z z)"] == found["!(SEQ(B e, C f))"] == 0


def test_a_group_at_an_edge_goes_with_the_window() -> None:
    query = "EVENT SEQ(!(SEQ(X x, B b)), C c, Y y) WITHIN 20"
    words = str(sase.why(query, EVENTS))
    assert "WITHIN 20, and with it !(SEQ(X x, B b))" in words


def test_where_nothing_forbids_the_match_is_there() -> None:
    why = sase.why("EVENT SEQ(X x, !(SEQ(C c, B b)), Y y)", EVENTS)
    assert why.matches.number == 1
