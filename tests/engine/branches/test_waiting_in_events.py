"""Matches of a union that wait for copies: by a window in events, in time, and without one."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import sase
from sase.lang.parser import parse_query
from tests import naive

# The first branch detects a match when it can grow no more, the second at once where it is full.
PATTERN = "EVENT SEQ(A a, B{1,2} b[]) OR SEQ(A a, B{1} b[]) OR SEQ(A a, C c)"
GREEDY = "WHERE earliest_maximal { [k] }"
WINDOWS = ("WITHIN 9 EVENTS", "WITHIN 9 EVENTS INCLUSIVE", "WITHIN 30", "WITHIN 30 INCLUSIVE", "")


def rows(count: int) -> list[dict[str, Any]]:
    """Events of keys that never come again."""
    return [{"type": "ABCB"[n % 4], "ts": 2 * n, "k": n // 8} for n in range(count)]


def most_waiting(query: str, given: list[dict[str, Any]]) -> tuple[int, int]:
    """How many matches wait at most in the first and in the second half of a stream."""
    matcher = sase.compile(query, given).open()
    waiting = []
    for begin in range(0, len(given), 8):
        matcher.push(given[begin : begin + 8])
        (counters,) = (own for name, own in matcher.counters if name == "Union")
        waiting.append(counters["waiting"])
    half = len(waiting) // 2
    return max(waiting[:half]), max(waiting[half:])


@pytest.mark.parametrize("window", [each for each in WINDOWS if each])
def test_memory_is_flat_under_keys_that_never_come_again(window: str) -> None:
    first, second = most_waiting(f"{PATTERN} {GREEDY} {window}", rows(640))
    assert 0 < second <= first + 2


def test_without_a_window_they_wait_until_the_end() -> None:
    query = f"{PATTERN} {GREEDY}"
    first, second = most_waiting(query, rows(960))
    assert second > 1.9 * first
    assert "wait until the end, whatever memory it takes" in str(sase.explain(query, rows(16)))


def test_plans_say_until_when_they_wait() -> None:
    text = str(sase.explain(f"{PATTERN} {GREEDY} WITHIN 9 EVENTS", rows(16)))
    assert "wait until their window of events has passed" in text
    assert "until their window has passed" in str(
        sase.explain(f"{PATTERN} {GREEDY} WITHIN 9", rows(16))
    )


def test_no_branch_that_is_like_no_other_waits() -> None:
    query = f"EVENT SEQ(A a, B{{1,2}} b[]) OR SEQ(A a, C c) {GREEDY} WITHIN 9 EVENTS"
    assert "that two branches may give" not in str(sase.explain(query, rows(16)))


def test_a_limit_of_memory_says_that_they_wait() -> None:
    given = rows(400_000)
    matcher = sase.compile(f"{PATTERN} {GREEDY}", given[:16]).open(max_memory="1MB")
    with pytest.raises(sase.MemoryLimitError, match="wait until the end, whatever"):
        for begin in range(0, len(given), 20_000):
            matcher.push(given[begin : begin + 20_000])


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.heavy) for seed in range(1, 4))]
)
def test_pieces_give_what_the_naive_matcher_does(window: str, seed: int) -> None:
    random = Random(seed)
    given: list[dict[str, Any]] = []
    for _ in range(40):
        ts = given[-1]["ts"] + random.choice((0, 1, 1, 4)) if given else 0
        given.append({"type": random.choice("AABBC"), "ts": ts, "k": random.randrange(3)})
    query = f"{PATTERN} {GREEDY} {window}"
    plan = sase.compile(query, given)
    matcher, found, begin = plan.open(), list[Any](), 0
    while begin < len(given):
        end = begin + random.randint(1, 9)
        found.append(matcher.push(given[begin:end]).rows.to_pylist())
        matcher, begin = plan.restore(matcher.snapshot()), end
    found.append(matcher.finish().rows.to_pylist())
    wanted = naive.match(parse_query(query), given)
    assert sum(found, []) == [_rows(each) for each in wanted]
    assert wanted


def _rows(match: naive.Match) -> dict[str, Any]:
    a, b, c = match.events
    return {"a": a[0], "b": list(b), "c": c[0] if c else None}
