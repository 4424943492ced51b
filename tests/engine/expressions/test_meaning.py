"""Every way of evaluating a condition gives the truth of the naive matcher."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from sase.planning.physical.vectorized import can_vectorize
from tests.engine.expressions.generators import (
    ATTRIBUTES,
    GRID,
    SCHEMA,
    conditions,
    events,
    events_of,
    fast_conditions,
    streams,
)
from tests.engine.expressions.routes import (
    PAIR,
    bound_condition,
    naive_truths,
    row_truths,
    tuple_truths,
)

DECLARED = {name: list(attributes) for name, attributes in ATTRIBUTES.items()}


@given(conditions("xy"), streams(events))
def test_conditions_on_two_events(condition: str, rows: list[dict[str, object]]) -> None:
    text = f"{PAIR} WHERE {condition}"
    found, _ = tuple_truths(bound_condition(text, SCHEMA), rows, 2)
    assert found == naive_truths(text, rows, DECLARED)


@given(conditions("x"), streams(events))
def test_conditions_on_one_event(condition: str, rows: list[dict[str, object]]) -> None:
    text = f"EVENT ANY(A, B) x WHERE {condition}"
    expected = naive_truths(text, rows, DECLARED)
    bound = bound_condition(text, SCHEMA)
    assert row_truths(bound, rows) == expected
    assert row_truths(bound, rows, fast=True) == expected


@given(fast_conditions, streams(events_of("A")))
def test_the_fast_path(condition: str, more: list[dict[str, object]]) -> None:
    text, rows = f"EVENT A x WHERE {condition}", GRID + more
    expected = naive_truths(text, rows, DECLARED)
    bound = bound_condition(text, SCHEMA)
    assert can_vectorize(bound)
    assert row_truths(bound, rows, fast=True) == expected
    assert row_truths(bound, rows) == expected


@pytest.mark.heavy
def test_the_conditions_decide_something() -> None:
    """A good part of them is true, and a good part false."""
    truths: list[bool] = []

    @settings(max_examples=200, derandomize=True, database=None)
    @given(conditions("xy"), streams(events))
    def collect(condition: str, rows: list[dict[str, object]]) -> None:
        bound = bound_condition(f"{PAIR} WHERE {condition}", SCHEMA)
        truths.extend(tuple_truths(bound, rows, 2)[0])

    collect()
    assert 0.25 < sum(truths) / len(truths) < 0.75
