"""Explanations of repeated groups that would have to repeat more often."""

from __future__ import annotations

import pytest

import sase


def rows(*kinds: str) -> list[dict[str, object]]:
    """Events of types, one a unit of time, of one key for each text."""
    found = [(ts, kind, key) for key, text in enumerate(kinds) for ts, kind in enumerate(text)]
    events = [{"ts": ts, "type": kind, "k": key, "v": ts} for ts, kind, key in sorted(found)]
    return [{**each, "row": row} for row, each in enumerate(events)]


def said(query: str, events: list[dict[str, object]]) -> str | None:
    """The sentence, if there is one."""
    words = sase.why(query, events, near=0, clock=lambda: 0.0).words
    return next(
        (each for each in words if "with all other parts of the query at most" in each), None
    )


@pytest.mark.parametrize(
    ("asked", "events", "sentence"),
    [
        (
            "SEQ(X x, (SEQ(A a, B b)){4,} g[]) WHERE skip_till_next_match",
            rows("XABABABA"),
            "3 iterations of `g` are there, where 4 are needed:"
            " the fourth breaks at B b, of which there is none behind row 7",
        ),
        (
            "SEQ(X x, (SEQ(A a, B b)){4,} g[], Y y) WHERE skip_till_any_match { [k] }",
            rows("XABY", "XABABYAB"),
            "2 iterations of `g` are there, where 4 are needed:",
        ),
        (
            "SEQ(X x, (SEQ(A a, B b)){3,}) WHERE skip_till_next_match { [k] } WITHIN 5",
            rows("XABABAB"),
            "2 iterations are there, where 3 are needed:"
            " the third breaks at A a, of which there is none behind row 4",
        ),
        (
            "(SEQ(A a, B b)){2,5} g[] WHERE skip_till_next_match { g[i].a.v > g[i-1].b.v + 5 }",
            rows("ABAB"),
            "1 iteration of `g` is there, where 2 are needed:"
            " the events after row 1 make none that satisfies the conditions",
        ),
        (
            "(SEQ(A a, B b)){2,} g[] WHERE skip_till_next_match { [k] }",
            [{**row, "k": None if row["ts"] == 3 else 0} for row in rows("ABAB")],
            "1 iteration of `g` is there, where 2 are needed:"
            " the second breaks at B b, of which there is none behind row 2",
        ),
        (
            "(SEQ(A a, B+ s[], C c) OR SEQ(A d, C e)){3,} g[] WHERE skip_till_next_match { [k] }",
            rows("ABCACAB", "Z"),
            "2 iterations of `g` are there, where 3 are needed:"
            " the third breaks at C c, of which there is none behind row 7",
        ),
    ],
)
def test_how_often_a_group_repeats_and_where_it_breaks(
    asked: str, events: list[dict[str, object]], sentence: str
) -> None:
    told = said(f"EVENT {asked}", events)
    assert told is not None
    assert told.startswith(f"with all other parts of the query at most {sentence}")


@pytest.mark.parametrize(
    ("asked", "events"),
    [
        ("(SEQ(A a, B b)){2,} g[] WHERE skip_till_next_match", rows("ABAB")),  # there are
        ("(SEQ(A a, B b)){2,} g[] WHERE skip_till_next_match", rows("AAA")),  # not even one
        ("(SEQ(A a, B b))+ g[] WHERE skip_till_next_match", rows("AAA")),  # one is enough
    ],
)
def test_nothing_is_said(asked: str, events: list[dict[str, object]]) -> None:
    assert said(f"EVENT {asked}", events) is None


def test_only_the_events_that_are_looked_at_count() -> None:
    query, events = "EVENT (SEQ(A a, B b)){3,} g[] WHERE skip_till_next_match", rows("ABABAB")
    assert said(query, events) is None
    told = sase.why(query, events, to=4, clock=lambda: 0.0).words[1]
    assert told == (
        "with all other parts of the query at most 2 iterations of `g` are there, where 3 are"
        " needed: the third breaks at B b, of which there is none behind row 4"
    )
