"""Sets of matches of imprecise time: counted above a threshold, the likeliest, and drawn by it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import sase
from sase.engine.operators.imprecise import confidence_filter
from sase.errors import BudgetError, PlanError

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


@pytest.mark.parametrize("number", ["2", 1.5, True, None])
def test_how_many_is_a_whole_number(number: Any) -> None:
    for ask in (compressed().top, compressed().sample, compressed().first):
        with pytest.raises(PlanError, match="give a whole number of matches"):
            ask(number)


def test_what_is_chosen_is_of_no_rows_of_its_own() -> None:
    assert str(compressed().top(2)).startswith("2 matches\n")


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


def test_more_candidates_than_memory_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """None is returned before time has passed it, so that a limit on matches comes too late."""
    monkeypatch.setattr(confidence_filter, "is_too_much", lambda size: size > 50)
    with pytest.raises(BudgetError, match="ask for a higher WITH CONFIDENCE"):
        len(sase.match(QUERY, ROWS, time=("lo", "hi"), type="type"))


def test_what_is_in_order_in_every_world_leaves_a_confidence_as_it_is() -> None:
    """Bit by bit: an A before all others, and a D behind them."""
    intervals = [("A", 1, 2), ("B", 2, 5), ("B", 4, 7), ("C", 6, 9)]
    certain = [("A", -9, -9), *intervals, ("D", 30, 31)]
    of = {}
    for name, rows, pattern in (
        ("bare", intervals, "SEQ(A a, B{2} b[], C c)"),
        ("more", certain, "SEQ(A{2} x[], B{2} b[], C c, D d)"),
    ):
        table = [
            {"type": kind, "lo": lo, "hi": hi, "n": n} for n, (kind, lo, hi) in enumerate(rows)
        ]
        found = sase.match(f"EVENT {pattern}", table, time=("lo", "hi"), type="type")
        of[name] = max(each["confidence"] for each in found.to_pylist())
    assert of["bare"] == pytest.approx(91 / 128, abs=1e-12)
    assert of["more"] == of["bare"]
