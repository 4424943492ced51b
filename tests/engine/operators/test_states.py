"""A stream continues as before with operators that were opened anew and given the saved state."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import cycle
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sase
from sase.engine.operators.opening import open_operators
from sase.engine.pipeline.checkpoint import live_events
from sase.engine.pipeline.fused.open import drive_by_plan
from sase.engine.snapshots.codec import from_bytes, to_bytes
from sase.engine.snapshots.saved_state import Saved
from sase.planning.engine_plan import Options
from sase.planning.physical.operators import operators_of
from sase.planning.recipes import recipe_names
from tests.engine.operators.plans import BY_RECIPE, QUERIES, alone, plan_of, stream, told

EVENTS = stream()
RECIPES = recipe_names()


@cache
def whole(query: str, recipe: str) -> list[Any]:
    """The output of one batch, with the usual options."""
    return in_one_batch(alone(plan_of(query, recipe)))


@cache
def in_one_batch(plan: sase.Plan) -> list[Any]:
    return told(plan.run(EVENTS))


@pytest.mark.parametrize(
    "turn", [0, *(pytest.param(turn, marks=pytest.mark.heavy) for turn in range(1, 4))]
)
def test_every_query_finds_something(turn: int) -> None:
    """The same by every recipe, and more than a handful; recipes take turns."""
    for number, query in enumerate(QUERIES):
        expected = whole(query, "basic")
        assert len(expected) >= 5, query
        for recipe in RECIPES[(number + turn) % 4 :: 4]:
            assert whole(query, recipe) == expected, (query, recipe)


def replaced(matcher: Any) -> None:
    """Open the operators of a matcher once more, with the state that those so far have saved."""
    pipeline = matcher.pipeline
    fresh = open_operators(operators_of(pipeline.plan), pipeline.context)
    at = pipeline.at
    end = at.numbers if pipeline.keeps_events else at.events
    live = live_events(pipeline, 0, end, is_done=pipeline.is_done())
    for new, old in zip(fresh, pipeline.operators, strict=True):
        state = old.checkpoint()
        assert is_plain(state), old
        new.restore(Saved(from_bytes(to_bytes(state)), live=live))
        assert repr(new.counters()) == repr(old.counters())
        assert needed_from(new) >= needed_from(old)
    pipeline.operators = fresh
    drive_by_plan(pipeline)


def needed_from(operator: Any) -> int:
    """The first event that an operator may still need; the stated one may be too early."""
    horizon = operator.horizon()
    return len(EVENTS) if horizon is None else int(horizon)


def is_plain(value: Any) -> bool:
    """Arrays and plain values: nothing of the plan, or that another process could not read."""
    if isinstance(value, dict):
        return all(isinstance(name, str) and is_plain(each) for name, each in value.items())
    if isinstance(value, list):
        return all(map(is_plain, value))
    if isinstance(value, np.ndarray):
        return value.dtype == np.int64
    return value is None or type(value) in (int, bool, str)


def pushed(plan: sase.Plan, sizes: list[int], cuts: set[int] | None) -> list[Any]:
    """The results of pushes, where operators are replaced at some pushes or, for None, at each."""
    matcher, found = plan.open(), list[Any]()
    for number, rows in enumerate(pieces(sizes)):
        found += told(matcher.push(rows))
        if cuts is None or number in cuts:
            replaced(matcher)
    return found + told(matcher.finish())


@cache
def replaced_at_each(plan: sase.Plan) -> list[Any]:
    """The results of pushes of one row, with operators that are replaced after each."""
    return pushed(plan, [1], cuts=None)


def pieces(sizes: list[int]) -> Iterator[Any]:
    start = 0
    for size in cycle(sizes):
        yield EVENTS.slice(start, size)
        start += size
        if start >= len(EVENTS):
            return


@pytest.mark.parametrize(("query", "recipe"), BY_RECIPE)
def test_replaced_after_every_event(query: str, recipe: str) -> None:
    """And free events are forgotten: the stacks are tiny."""
    plan = plan_of(query, recipe, Options(block=2, chunk=2, stack=2))
    assert replaced_at_each(alone(plan)) == whole(query, recipe)


SOME = settings(suppress_health_check=[HealthCheck.too_slow])
TINY = st.builds(Options, st.integers(1, 8), st.integers(1, 3), st.sampled_from([1, 2, 4]))
SIZES = st.lists(st.integers(1, 20), min_size=1, max_size=3)


@SOME
@given(
    st.sampled_from([*QUERIES]), st.sampled_from(RECIPES), TINY | st.just(Options()), SIZES,
    st.sets(st.integers(0, 50), max_size=4),
)  # fmt: skip
def test_replaced_somewhere(
    query: str, recipe: str, options: Options, sizes: list[int], cuts: set[int]
) -> None:
    assert pushed(plan_of(query, recipe, options), sizes, cuts) == whole(query, recipe)


@SOME
@given(st.sampled_from([*QUERIES]), st.sampled_from(RECIPES), TINY, SIZES)
def test_sizes_change_nothing(query: str, recipe: str, options: Options, sizes: list[int]) -> None:
    """Arrays that grow from one place on, output of one sequence at a time: at once, and pushed."""
    plan = plan_of(query, recipe, options)
    assert told(plan.run(EVENTS)) == whole(query, recipe)
    assert pushed(plan, sizes, cuts=set()) == whole(query, recipe)
