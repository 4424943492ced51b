"""Explanations of imprecise time: possible orders, and the confidence of near misses."""

from __future__ import annotations

from itertools import chain, count

import pytest

import sase
from sase.diagnostics.why_not import candidate_misses

EVENTS = [
    {"type": kind, "lo": lo, "hi": hi, "v": v}
    for kind, lo, hi, v in [("A", 1, 2, 1), ("B", 2, 5, 2), ("B", 4, 7, 1), ("C", 6, 9, 4)]
]
SERIES = "EVENT SEQ(A a, B+ b[], C c) WHERE b[i].v < 5 WITHIN 12"


def why(query: str) -> sase.WhyNot:
    return sase.why(query, EVENTS, time=("lo", "hi"))


@pytest.mark.parametrize("sign", [">=", ">"])
def test_the_nearest_miss_is_the_most_likely_one(sign: str) -> None:
    found = why(f"{SERIES} WITH CONFIDENCE {sign} 0.95")
    part = f"WITH CONFIDENCE {sign} 0.95"
    (miss,) = found.near_misses.select(["stopped_by", "by", "rows"]).to_pylist()
    rows = {"a": 0, "b": [1], "c": 3}
    assert miss == {"stopped_by": part, "by": "with a confidence of 0.875", "rows": rows}
    assert f"1 with WITHIN 12, 0 with {part}" in str(found)
    assert f"The nearest candidate misses {part} with a confidence of 0.875." in str(found)
    assert f"Without {part} there would be 3 matches." in str(found)
    assert "a: row 0  lo=1 hi=2" in str(found)


def test_what_is_likely_enough_is_no_miss() -> None:
    found = why(f"{SERIES} WITH CONFIDENCE >= 0.85")
    assert found.matches.number == 1
    assert found.near_misses.column("by").to_pylist() == ["with a confidence of 0.8125"]


def test_events_are_in_order_that_may_be() -> None:
    """The first B and the C may come before the last B, and nothing before the A."""
    found = why("EVENT SEQ(B x, C c, B y)")
    assert [level.in_order for level in found.levels] == [2, 1, 1]
    assert found.matches.number == 1
    words = str(why("EVENT SEQ(B b, A a)"))
    assert "none of the 1 A a comes after one of them" in words


def test_a_series_needs_events_one_after_the_other() -> None:
    found = why("EVENT SEQ(A a, B{2} b[], C c) HAVING confidence > 0.99")
    assert [level.in_order for level in found.levels] == [1, 2, 1]
    assert "0 with HAVING confidence > 0.99" in str(found)
    (miss,) = found.near_misses.select(["stopped_by", "by"]).to_pylist()
    by = "with a confidence of 0.710938"
    assert miss == {"stopped_by": "HAVING confidence > 0.99", "by": by}


# The part that stops the B of row 2 alone, and the events there.
STOPPED = {
    "WHERE b.v < 2 AND b.v < 9": ("b.v < 2", "b.v is 2: by 0, with a confidence of 0.875"),
    "WHERE a.v >= b.v": ("a.v >= b.v", "a.v is 1, b.v is 2: by 1, with a confidence of 0.875"),
    "WHERE [v]": ("[v]", "a.v is 1, b.v is 2, c.v is 1, with a confidence of 0.875"),
    "WHERE b.lo > 2": ("b.lo > 2", "b.lo is 2: by 0, with a confidence of 0.875"),
    "HAVING a.v + confidence > 1.9": (
        "HAVING a.v + confidence > 1.9", "a.v is 1: by 0.025, with a confidence of 0.875",
    ),
}  # fmt: skip


@pytest.mark.parametrize("clause", STOPPED)
def test_a_condition_says_what_is_there_instead(clause: str) -> None:
    events = [*EVENTS[:3], {"type": "C", "lo": 8, "hi": 9, "v": 1}]
    found = sase.why(f"EVENT SEQ(A a, B b, C c) {clause}", events, time=("lo", "hi"))
    part, by = STOPPED[clause]
    misses = found.near_misses.select(["stopped_by", "by", "rows"]).to_pylist()
    assert {"stopped_by": part, "by": by, "rows": {"a": 0, "b": 1, "c": 3}} in misses


def test_an_absence_names_what_is_most_likely_in_the_way() -> None:
    events = [*EVENTS[:3], {"type": "X", "lo": 1, "hi": 3, "v": 0}]
    events.append({"type": "X", "lo": 2, "hi": 4, "v": 0})
    query = "EVENT SEQ(A a, !(X x), B b) WITHIN 5 WITH CONFIDENCE >= 0.8"
    found = sase.why(query, events, time=("lo", "hi"))
    names = ["stopped_by", "by", "distance", "rows"]
    assert found.near_misses.select(names).to_pylist()[0] == {
        "stopped_by": "!(X x)",
        "by": "with a confidence of 0.402778 instead of 0.875",
        "distance": 0.125,
        "rows": {"a": 0, "x": 4, "b": 1},
    }


def test_a_window_says_how_likely_it_is_with_it() -> None:
    found = why("EVENT SEQ(A a, C c) WITHIN 7 WITH CONFIDENCE > 0.75")
    misses = found.near_misses.select(["stopped_by", "by"]).to_pylist()
    by = "with a confidence of 0.625 instead of 1"
    assert misses[0] == {"stopped_by": "WITHIN 7", "by": by}
    assert f"The nearest candidate misses WITHIN 7 {by}." in str(found)


def test_what_a_window_stops_is_looked_for_in_wider_ones_first() -> None:
    """The last B is likelier to be behind the A, and lies twenty windows behind it."""
    times = [("A", 0, 2), ("B", 2, 8), ("B", 100, 101)]
    events = [{"type": kind, "lo": lo, "hi": hi} for kind, lo, hi in times]
    query = "EVENT SEQ(A a, B b) WITHIN 5 WITH CONFIDENCE >= 0.9"
    found = sase.why(query, events, time=("lo", "hi"), near=1)
    (miss,) = found.near_misses.select(["by", "rows"]).to_pylist()
    by = "with a confidence of 0.52381 instead of 0.952381"
    assert miss == {"by": by, "rows": {"a": 0, "b": 1}}
    nearest, last = sase.why(query, events, time=("lo", "hi"), near=2).near_misses["by"].to_pylist()
    assert (nearest, last) == ("with a confidence of 0 instead of 1", by)


def test_a_group_in_the_way_is_named_by_its_rows() -> None:
    events = [*EVENTS[:2], {"type": "X", "lo": 5, "hi": 6, "v": 0}]
    events += [{"type": "Y", "lo": 6, "hi": 8, "v": 0}, {"type": "C", "lo": 7, "hi": 9, "v": 0}]
    query = "EVENT SEQ(A a, !(SEQ(X x, Y y)), C c) WITH CONFIDENCE >= 0.7"
    found = sase.why(query, events, time=("lo", "hi"))
    miss = found.near_misses.to_pylist()[0]
    assert miss["stopped_by"] == "!(SEQ(X x, Y y))"
    assert miss["by"].startswith("x in row 2 and y in row 3, with a confidence of 0.")
    assert miss["by"].endswith(" instead of 1")


def test_a_series_that_is_too_short_says_by_how_much() -> None:
    found = why("EVENT SEQ(A a, B{3} b[], C c)")
    (miss,) = found.near_misses.select(["stopped_by", "by"]).to_pylist()
    by = "b.len is 1: 2 too few, with a confidence of 0.875"
    assert miss == {"stopped_by": "at least 3 B b", "by": by}


def test_of_too_many_matches_only_the_likely_ones_are_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    query = f"{SERIES.replace('5', '2')} WITH CONFIDENCE >= 0.7"
    found = why(query)
    assert found.is_complete
    assert found.near_misses["stopped_by"].to_pylist() == ["b[i].v < 2"]
    monkeypatch.setattr(candidate_misses, "MATCHES", 0)
    found = why(query)
    assert found.near_misses.num_rows == 0
    assert not found.is_complete
    only = "too many to find candidates that are none: of near misses only those of"
    assert only in found.words[-1]


def test_what_ends_a_search_of_near_misses_is_said() -> None:
    """Each look at the clock takes a second."""
    query, said = f"{SERIES.replace('5', '2')} WITH CONFIDENCE >= 0.7", set[str]()
    for seconds in chain(range(1, 40, 3), [200]):
        found = sase.why(
            query, EVENTS, time=("lo", "hi"), seconds=seconds, clock=map(float, count()).__next__
        )
        if found.is_complete:
            break
        said.update(found.words)
    assert found.is_complete
    assert said >= {candidate_misses.NOT_KNOWN, candidate_misses.PARTLY}
