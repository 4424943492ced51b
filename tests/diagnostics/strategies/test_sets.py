"""Why a stricter strategy lacks a match of a pattern with sets."""

from __future__ import annotations

import pytest

import sase

ROWS = [{"ts": ts, "type": kind, "v": ts} for ts, kind in enumerate("BAXBAC")]
QUERY = "EVENT SEQ(SET(A a, B+ b[]), C c) WHERE {} {{ b[i].v != 99 }}"


def differences(query: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """By strategy each match that it has beyond a stricter one, and the reasons."""
    compared = sase.compare(query, ROWS, show=9)
    return {d.strategy: {str(m): m.reasons for m in d.matches} for d in compared.differences}


def test_members_that_could_begin_or_take_are_named() -> None:
    found = differences(QUERY.format("skip_till_any_match"))["skip_till_any_match"]
    assert found["a: row 4  b: row 0  c: row 5"] == (
        "skips row 1, an A that could begin a: skip till next match must take it",
        "skips row 3, a B that b could have taken: skip till next match must take it",
    )


def test_what_is_full_takes_no_more() -> None:
    """An event that no member takes may be ignored, and nothing lies between others."""
    found = differences(QUERY.format("skip_till_any_match"))
    assert found["skip_till_next_match"]["a: row 1  b: rows 0 and 3  c: row 5"] == (
        "not contiguous: rows 2 and 4 lie between",
    )


@pytest.mark.parametrize("strategy", ["skip_till_next_match", "strict_contiguity"])
def test_near_misses_of_a_strategy_are_told_of_sets(strategy: str) -> None:
    """Of matches that the strategy lacks; of earliest_maximal no reasons are shown."""
    query = "EVENT SEQ(SET(A a, B b), C c) WHERE %s { c.v - a.v < 2 AND c.v - b.v > 3 }"
    told = sase.why(query % strategy, ROWS, clock=lambda: 0.0).near_misses.to_pylist()
    rows = [each["rows"] for each in told if each["stopped_by"] == strategy]
    assert rows == [{"a": 4, "b": 0, "c": 5}]
    told = sase.why(query % "earliest_maximal", ROWS, clock=lambda: 0.0).near_misses.to_pylist()
    assert all(each["stopped_by"] != "earliest_maximal" for each in told)
