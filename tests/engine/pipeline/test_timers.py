"""The time that a matcher waits for: up to it nothing comes out, and then something does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sase.engine.pipeline.timers import due
from sase.planning.engine_plan import Options
from tests.engine.operators.plans import QUERIES, plan_of, stream, told

EVENTS = stream()
NAMES = [name for name in QUERIES if name != "a limit"]


def opened(query: str, lateness: int = 0) -> Any:
    return replace(plan_of(query, "optimized", Options(7, 3, 4)), lateness=lateness).open()


@given(st.sampled_from(NAMES), st.integers(0, 50), st.integers(0, 5))
def test_time_changes_nothing_until_it_comes_to_what_is_due(
    query: str, size: int, lateness: int
) -> None:
    patient, hasty = opened(query, lateness), opened(query, lateness)
    for matcher in (patient, hasty):
        matcher.push(EVENTS.slice(0, size))
    found: list[Any] = []
    while (first := due(patient.pipeline)) is not None:
        assert told(hasty.advance(first - 1)) == []
        for matcher, into in ((patient, found), (hasty, [])):
            into += told(matcher.advance(first))
            matcher.snapshot()
        later = due(patient.pipeline)
        assert later is None or later > first
    finished = opened(query, lateness)
    every = [*told(finished.push(EVENTS.slice(0, size))), *told(finished.finish())]
    known = told(opened(query, lateness).push(EVENTS.slice(0, size)))
    assert sorted(map(repr, [*known, *found])) == sorted(map(repr, every))


@pytest.mark.parametrize(
    ("query", "known"),
    # With windows of 9 and of 8: a run that began at 5 has passed, or is known to have no N.
    [("a window", 6 + 9 + 1), ("an end", 5 + 8), ("no window", None)],
)
def test_the_last_window_and_the_first_absence_are_due(query: str, known: int | None) -> None:
    rows = [
        {"ts": 5, "type": "A", "id": 1, "s": "x", "v": 1},
        {"ts": 6, "type": "B", "id": 1, "s": "x", "v": 1},
    ]
    matcher = opened(query)
    assert due(matcher.pipeline) is matcher.pipeline.reorder_buffer.latest is None
    matcher.push(pa.Table.from_pylist(rows, EVENTS.schema))
    assert matcher.pipeline.reorder_buffer.latest == 6
    assert due(matcher.pipeline) == known


def test_the_first_row_that_waits_is_due() -> None:
    matcher = opened("a window", lateness=3)
    matcher.push(EVENTS)
    last = EVENTS.column("ts").to_pylist()[-1]
    assert matcher.pipeline.reorder_buffer.latest == last
    assert due(matcher.pipeline) == min(
        ts for ts in EVENTS.column("ts").to_pylist() if ts > last - 3
    )
