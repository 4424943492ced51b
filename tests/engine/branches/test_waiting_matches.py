"""Matches of a union that wait: put in order where some are due, gone when time has passed."""

from __future__ import annotations

from typing import Any

import pytest

import sase
from sase.engine.operators.branches import union

# A match of the second branch waits until the first may have given the same.
QUERY = "EVENT SEQ(A a, B b, !(N n)) OR SEQ(A a, (B b OR C c)) WITHIN 40"


def rows(count: int) -> list[dict[str, Any]]:
    return [{"type": "ABC"[n % 3], "ts": n} for n in range(count)]


@pytest.fixture
def ordered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many matches were put in order, each time."""
    sizes, order = list[int](), union.order_matches

    def counted(matches: Any, *rooms: Any) -> None:
        sizes.append(len(matches.ends))
        order(matches, *rooms)

    monkeypatch.setattr(union, "order_matches", counted)
    return sizes


def test_what_cannot_be_due_is_not_put_in_order(ordered: list[int]) -> None:
    given = rows(40)
    matcher = sase.compile(QUERY, given).open()
    assert sum(len(matcher.push([row])) for row in given) == 0
    assert ordered == []
    found = matcher.finish().to_pylist()
    assert found == sase.match(QUERY, given).to_pylist()
    assert len(found) > 150


def test_only_matches_of_a_window_or_two_wait() -> None:
    given = rows(600)
    matcher = sase.compile(QUERY, given).open()
    waiting, found = list[int](), 0
    for row in given:
        found += len(matcher.push([row]))
        (counters,) = (own for name, own in matcher.counters if name == "Union")
        waiting.append(counters["waiting"])
    assert max(waiting[300:]) <= 1.1 * max(waiting[:300])
    assert found > 5 * max(waiting)


@pytest.mark.parametrize("size", [1, 7, 50])
def test_pieces_give_what_the_whole_gives(size: int) -> None:
    given = rows(150)
    plan = sase.compile(QUERY, given)
    matcher, found = plan.open(), list[Any]()
    for begin in range(0, len(given), size):
        found += matcher.push(given[begin : begin + size]).to_pylist()
        matcher = plan.restore(matcher.snapshot())
    found += matcher.finish().to_pylist()
    assert found == sase.match(QUERY, given).to_pylist()
