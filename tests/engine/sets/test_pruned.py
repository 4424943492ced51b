"""Matches with sets that do not overlap are found without all those that do."""

from __future__ import annotations

from typing import Any

import pytest

import sase

COUNT = 80


def rows(tied: int) -> list[dict[str, Any]]:
    """Far more events than would have their matches listed; some at a time are simultaneous."""
    return [{"type": "AB"[n % 2], "ts": n // tied, "v": n} for n in range(COUNT)]


@pytest.mark.parametrize("strategy", ["", "WHERE skip_till_any_match"])
def test_the_first_match_ends_all_others(strategy: str) -> None:
    query = f"EVENT SET(A+ a[], B+ b[]) {strategy}"
    found = sase.match(query, rows(1), output="non_overlap").rows.to_pylist()
    assert found == [{"a": [n], "b": [n + 1]} for n in range(0, COUNT, 2)]


def test_what_begins_simultaneously_with_the_last_event_overlaps() -> None:
    found = sase.match("EVENT SET(A+ a[], B b)", rows(2), output="non_overlap").rows.to_pylist()
    assert found == [{"a": [n], "b": n + 1} for n in range(0, COUNT, 2)]
    found = sase.match("EVENT SET(A+ a[], B b)", rows(3)[1:], output="non_overlap")
    times = [(match["ts_start"], match["ts_end"]) for match in found]
    assert len(times) > 10
    assert all(start > end for (_, end), (start, _) in zip(times, times[1:], strict=False))


@pytest.mark.parametrize("condition", ["a.len > 6", "a[a.len].v - a[1].v >= 12 AND b.v > 0"])
def test_some_are_found_until_those_that_pass_are_told(condition: str) -> None:
    """Before the first there are all choices among the events so far, hundreds of them."""
    query = f"EVENT SET(A+ a[], B b) HAVING {condition}"
    found = sase.match(query, rows(1), output="non_overlap").rows.to_pylist()
    assert [len(match["a"]) for match in found] == [7] * (COUNT // 14)
    ends = [max(*match["a"], match["b"]) for match in found]
    begins = [min(*match["a"], match["b"]) for match in found]
    assert all(end < begin for end, begin in zip(ends, begins[1:], strict=False))
