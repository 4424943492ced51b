"""Matches are sorted by the time of detection, and then in the order of results."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sase.engine.kernels.sets.detection_order import sort_detected

Match = tuple[int, tuple[tuple[int, int], ...]]


@st.composite
def matches(draw: st.DrawFn) -> list[Match]:
    """Matches by the time they are due: events in order, each with its level."""
    found = []
    for _ in range(draw(st.integers(0, 9))):
        events = sorted(draw(st.sets(st.integers(0, 4), min_size=1)))
        levels = [draw(st.integers(0, 2)) for _ in events]
        due = draw(st.integers(0, 1))
        found.append((due, tuple(zip(events, levels, strict=True))))
    return list(dict.fromkeys(found))


def place(match: Match, ranks: list[int]) -> Any:
    """The place of a match: earlier events compared backwards, the more recent first."""
    due, bound = match
    *earlier, last = [event for event, _ in bound]
    behind = [-event for event in reversed(earlier)]
    return due, last, [*behind, -np.inf][: len(behind)], [ranks[n] for _, n in reversed(bound)]


@given(matches(), st.permutations(range(3)))
def test_sorts(given_matches: list[Match], ranks: list[int]) -> None:
    events = [event for _, bound in given_matches for event, _ in bound]
    slots = [level for _, bound in given_matches for _, level in bound]
    ends = np.cumsum([len(bound) for _, bound in given_matches], dtype=np.int64)
    due = np.array([due for due, _ in given_matches], np.int64)
    order = np.arange(len(given_matches))
    sort_detected(
        np.array(events, np.int64), np.array(slots, np.int64), ends, due,
        np.array(ranks, np.int64), order, np.empty_like(order),
    )  # fmt: skip
    expected = sorted(given_matches, key=lambda match: place(match, ranks))
    assert [given_matches[n] for n in order.tolist()] == expected
