"""Streams with late rows, cut, advanced and restarted anywhere, find what the naive matcher finds.

It finds it among the rows that are not late, in the order of the stream.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings

from sase.errors import QueryError
from tests.engine.matching.late_rows import (
    Live,
    check_late,
    lives,
    modelled,
    renumbered,
    run,
    without_late,
)
from tests.engine.matching.ways import check

MANY = settings(
    max_examples=2 * settings().max_examples, suppress_health_check=[HealthCheck.too_slow]
)
census: Counter[str] = Counter()


@MANY
@given(lives())
def test_a_stream_is_the_naive_matcher_without_late_rows(live: Live) -> None:
    model, states = modelled(live)
    example = without_late(live, model)
    expected = example.expected
    census.update(
        ["all"]
        + ["found"] * bool(expected)
        + ["late"] * bool(model.late)
        + ["found and late"] * bool(model.late and expected)
        + ["found and waits"] * bool(model.lateness and expected)
        + ["restarted"] * any(step.restart for step in live.steps)
    )
    try:
        told = run(live, expected, states, model.kept)
    except QueryError:
        census["refused"] += 1
        return
    check(example, expected, renumbered(told.found, model.kept))
    check_late(example=live.example, late=told.late, numbers=model.late)
    assert told.report.late == len(model.late)
    if told.report.is_complete:
        assert told.report.rows == len(live.example.rows)


def test_the_streams_are_worth_it() -> None:
    """Many have late rows and matches nevertheless."""
    if census["all"] < 100:
        pytest.skip("too few examples ran before this test")
    least = {"found": 0.35, "found and late": 0.15, "found and waits": 0.15, "refused": 0}
    assert {n: census[n] for n, share in least.items() if census[n] < share * census["all"]} == {}
    assert census["refused"] <= 0.05 * census["all"]
