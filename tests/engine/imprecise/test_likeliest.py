"""Sets of matches of imprecise time: counted above a threshold, the likeliest, and drawn by it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import sase
from sase.errors import PlanError

# How likely each of its two matches is: 5/12 and 2/3; the last A is before the last B for certain.
ROWS = [
    {"type": "A", "lo": 1, "hi": 3, "n": 1},
    {"type": "B", "lo": 2, "hi": 4, "n": 2},
    {"type": "A", "lo": 10, "hi": 15, "n": 3},
    {"type": "B", "lo": 10, "hi": 15, "n": 4},
]
QUERY = "EVENT SEQ(A a, B b) WITHIN 6"


def compressed(query: str = QUERY, time: Any = ("lo", "hi")) -> Any:
    return sase.match(query, ROWS, time=time, type="type", output="compressed")


def pairs(matches: Any) -> list[tuple[int, int]]:
    return [(each["a"]["n"], each["b"]["n"]) for each in matches.to_pylist()]


def test_the_likeliest_come_first() -> None:
    assert pairs(compressed().top(5)) == [(1, 2), (3, 4)]
    assert pairs(compressed().top(1)) == [(1, 2)]
    assert pairs(compressed().top(0)) == []
    assert compressed().top(1).to_pylist()[0]["confidence"] == pytest.approx(2 / 3)
    every = compressed("EVENT SEQ(A a, B b)")
    assert pairs(every.top(3)) == [(1, 4), (1, 2), (3, 4)]


def test_of_as_likely_ones_the_first_in_order_come_first() -> None:
    rows = [{"type": "A", "lo": n, "hi": n, "n": n} for n in range(300)]
    matches = sase.match("EVENT A a", rows, time=("lo", "hi"), type="type", output="compressed")
    assert [each["a"]["n"] for each in matches.top(4).to_pylist()] == [0, 1, 2, 3]


def test_samples_by_confidence_are_as_often_as_likely() -> None:
    drawn = Counter(pairs(compressed().sample(4000, seed=3, by_confidence=True)))
    assert set(drawn) == {(1, 2), (3, 4)}
    assert drawn[1, 2] / 4000 == pytest.approx((2 / 3) / (2 / 3 + 5 / 12), abs=0.03)
    even = Counter(pairs(compressed().sample(4000, seed=3)))
    assert even[1, 2] / 4000 == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize(("clause", "count"), [("", 2), (">= 0.4", 2), ("> 0.5", 1), (">= 1", 0)])
def test_counts_are_of_matches_above_the_threshold(clause: str, count: int) -> None:
    query = f"{QUERY} WITH CONFIDENCE {clause}" if clause else QUERY
    assert sase.match(query, ROWS, time=("lo", "hi"), type="type", output="count") == count
    assert compressed(query).count() == count


def test_rows_of_the_collapsed_form_end_at_the_latest_times() -> None:
    assert compressed().to_arrow().column("ts_end").to_pylist() == [4, 15]
    assert compressed().to_arrow(by="first").column("ts_start").to_pylist() == [1, 10]


@pytest.mark.parametrize("ask", [lambda m: m.top(1), lambda m: m.sample(1, by_confidence=True)])
def test_where_time_is_precise_no_match_is_likelier(ask: Any) -> None:
    with pytest.raises(PlanError, match="is precise: every match is certain"):
        ask(compressed(time="lo"))
