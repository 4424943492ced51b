"""Explanations of series and strategies: bounds, first events, skipped events, text."""

from __future__ import annotations

from typing import Any

import pytest

import sase
from sase.diagnostics.why_not.budget import Count


def stream(text: str) -> list[dict[str, Any]]:
    """Events such as `a3`: the type in small letters, and the value; a second apart."""
    return [
        {"ts": number, "type": each[0].upper(), "v": int(each[1:] or 0), "id": 1}
        for number, each in enumerate(text.split())
    ]


def why(query: str, events: str, **keywords: Any) -> Any:
    return sase.why(query, stream(events), clock=lambda: 0.0, **keywords)


RISING = "EVENT SEQ(A{4,} a[], B b) WHERE skip_till_next_match {a[i].v > a[i-1].v} WITHIN 100"
TRANSCRIPT = """\
component  events  pass  in order  reach it  partial
---------  ------  ----  --------  --------  -------
A{4,} a         5     5         5         0        0
B b             2     2         2         0        0

A{4,} a: 5 in order, 5 with WITHIN 100, 5 with a[i].v > a[i-1].v, 0 with at least 4 A a

left out                                             matches
---------------------------------------------------  -------
nothing                                                    0
WITHIN 100                                                 0
a[i].v > a[i-1].v                                          4
at least 4 A a                                            10
skip_till_any_match instead of skip_till_next_match        0

near misses, nearest first
  stopped by at least 4 A a, a.len is 3: 1 too few
    a[1]: row 0  ts=0 v=1
    a[2]: row 1  ts=1 v=5
    a[3]: row 4  ts=4 v=7
    b: row 5  ts=5 v=0

There is no match.
5 A{4,} a can end a series, with WITHIN 100 and a[i].v > a[i-1].v; all 5 are stopped by \
at least 4 A a.
With all other parts of the query the longest a has 3 events.
With one event instead of at least 4 A a there would be 10 matches.
Without a[i].v > a[i-1].v there would be 4 matches."""


def test_a_series_that_is_too_short() -> None:
    assert str(why(RISING, "a1 a5 a2 a1 a7 b0 b0", near=1)) == TRANSCRIPT


def test_a_first_event_that_does_not_exist() -> None:
    found = why("EVENT SEQ(A+ a[], B b) WHERE a[1].v = 9 AND a[i].v < 5", "a1 a2 a9 b0")
    assert found.words[1] == (
        "none of the 2 A+ a can be the first of a series: none passes a[1].v = 9: v ranges from 1"
        " to 2"
    )
    assert (found.components[0].passing, found.components[0].first) == (2, 0)


SEQUENCE = "EVENT SEQ(A a, B+ b[], C c) WHERE {}"


@pytest.mark.parametrize(
    ("strategy", "events", "said"),
    [
        (
            "strict_contiguity",
            "a0 d0 b1 c0",
            "under skip_till_next_match instead of strict_contiguity there would be 1 matches; the"
            " nearest is not contiguous: row 1 lies between",
        ),
        (
            "partition_contiguity {[id]}",
            "a0 d0 b1 c0",
            "under skip_till_next_match instead of partition_contiguity there would be 1 matches;"
            " the nearest skips row 1, which is of the same partition [id]: partition contiguity"
            " does not allow it",
        ),
        (
            "skip_till_next_match {c.v > sum(b[].v)}",
            "a0 b1 b5 c3",
            "under skip_till_any_match instead of skip_till_next_match there would be 1 matches;"
            " the nearest skips row 2, a B that b could have taken: skip till next match must take"
            " it",
        ),
    ],
)
def test_what_a_strategy_does_not_let_a_match_skip(strategy: str, events: str, said: str) -> None:
    found = why(SEQUENCE.format(strategy), events)
    assert said.replace("1 matches", "1 match") in found.words


def test_a_series_that_is_too_long() -> None:
    query = "EVENT SEQ(A a, B{1,2} b[], C c) WHERE strict_contiguity"
    found = why(query, "a0 b1 b2 b3 c0")
    assert "with any number instead of at most 2 B b there would be 1 match" in found.words
    (miss, *_) = (m for m in found.near_misses.to_pylist() if m["stopped_by"] == "at most 2 B b")
    assert (miss["by"], miss["distance"]) == ("b.len is 3: 1 too many", 0.5)
    assert miss["rows"] == {"a": 0, "b": [1, 2, 3], "c": 4}


@pytest.mark.parametrize(
    ("condition", "events", "by"),
    [
        ("b[i].v < 4", "a0 b1 b9 b6 c0", "b[i].v is 9 at row 2: by 5, and 1 more such"),
        ("b[i].v > a.v", "a3 b1 c0", "b[i].v is 1, a.v is 3: by 2"),
        ("avg(b[].v) > 5", "a0 b1 b4 c0", "avg(b[].v) is 2.5: by 2.5"),
        ("c.v > b[b.len].v + 1", "a0 b1 c2", "c.v is 2, b[b.len].v is 1: by 0"),
        ("b.len >= 3", "a0 b1 b2 c0", "b.len is 2: by 1"),
    ],
)
def test_what_was_there_instead(condition: str, events: str, by: str) -> None:
    query = SEQUENCE.format(f"strict_contiguity {{{condition}}}")
    misses = why(query, events).near_misses.to_pylist()
    assert [miss["by"] for miss in misses if miss["stopped_by"] == condition] == [by]


def test_having_as_it_is_written() -> None:
    found = why("EVENT SEQ(A+ a[], B b) WHERE strict_contiguity HAVING a.len > 3", "a1 a2 b0")
    assert "all 1 are stopped" not in str(found)
    assert found.left_out[-1].parts[0].text == "HAVING a.len > 3"
    assert found.near_misses.column("by").to_pylist() == ["a.len is 2: by 1"]


def test_an_absence_that_is_there() -> None:
    query = "EVENT SEQ(A+ a[], !(D d), B b) WHERE skip_till_next_match {[id] AND d.v > a[i].v}"
    found = why(query, "a1 a2 d2 d3 b0")
    (miss, *_) = found.near_misses.to_pylist()
    assert miss["stopped_by"] == "!(D d)"
    assert miss["rows"] == {"a": [1], "d": 3, "b": 4}
    assert miss["d"]["v"] == 3


def test_components_that_may_be_empty_stop_nothing() -> None:
    found = why("EVENT SEQ(A a, B* b[], C? c, D d) WHERE skip_till_next_match", "a0 d0 b0")
    assert found.matches.number == 1
    assert found.near_misses.num_rows == 0
    assert [level.reached.number for level in found.levels] == [1, 1, 0, 1]


def test_more_matches_than_can_be_listed() -> None:
    """They are counted where they are paths, at once and exactly."""
    found = why("EVENT SEQ(A+ a[], B b) WHERE a[1].v = 7 WITHIN 1000", "a1 " * 200 + "b0")
    assert found.is_complete
    assert found.left_out[0].matches == Count(2**200 - 1)
    assert "there would be 1.6e60 matches" in found.words[-1]
    assert found.to_dict()["left_out"][0]["matches"]["number"] == 2**200 - 1


def test_what_cannot_be_counted_is_cut() -> None:
    """A walk over all sets of events, of which none passes, would never come to its end."""
    query = "EVENT SEQ(A+ a[], B b) WHERE sum(a[].v) = 100000 WITHIN 1000"
    found = why(query, "a1 " * 80 + "b0", most=1000)
    assert not found.is_complete
    assert found.words[0] == "no match was found until the budget ended"
    without = {each.parts[0].text: each.matches for each in found.left_out}
    assert without["sum(a[].v) = 100000"] == Count(2**80 - 1)


def test_contiguity_counts_events_of_every_type() -> None:
    found = why("EVENT SEQ(A+ a[], B b) WHERE strict_contiguity", "a0 d0 b0 a0 b0")
    assert found.matches.number == 1


@pytest.mark.parametrize("bounds", ["{1000000000}", "{1,1000000000}", "{1000000000,}"])
def test_bounds_beyond_all_events(bounds: str) -> None:
    """The number of counted runs grows with the events, and not with the bounds."""
    found = why(f"EVENT SEQ(A{bounds} a[], B b) WITHIN 100", "a1 a2 b1")
    assert found.matches == Count(3 if bounds.startswith("{1,") else 0)


def test_many_long_series_cannot_be_counted() -> None:
    """The graph would have a slot for each event of each component: it is not begun."""
    parts = ", ".join(f"A{{200}} a{number}[]" for number in range(60))
    found = why(f"EVENT SEQ({parts}) WITHIN 100000", "a1 " * 300)
    assert found.matches == Count(0, is_exact=False)


@pytest.mark.parametrize("optional", ["C? c", "C* c[]"])
def test_types_that_none_must_be_of_stop_nothing(optional: str) -> None:
    """A remedy and the nearest candidate are named if only an optional component has no event."""
    found = why(f"EVENT SEQ(A a, {optional}, B b) WITHIN 1", "a1 d1 d1 b1")
    assert [each.matches.number for each in found.left_out] == [1]
    assert found.near_misses.column("stopped_by").to_pylist() == ["WITHIN 1"]
