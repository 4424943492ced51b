"""What `why` says of imprecise time: what may be in order, and how likely what comes nearest is."""

from __future__ import annotations

import pytest

import sase

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
    assert f"What comes nearest misses {part} with a confidence of 0.875." in str(found)
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
    assert not found.near_misses.num_rows
