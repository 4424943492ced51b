"""Calls to a matcher that are broken off, by an interrupt or for want of memory."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

import pytest

import sase
from sase.errors import BudgetError, SaseError
from tests.engine.operators.plans import plan_of, stream, told

EVENTS = stream()
FIRST, SECOND, THIRD = EVENTS.slice(0, 20), EVENTS.slice(20, 15), EVENTS.slice(35)
CALLS = {
    "push": lambda matcher: matcher.push(SECOND),
    "advance": lambda matcher: matcher.advance(10**6),
    "finish": lambda matcher: matcher.finish(),
}
# Queries with pushes through the operators, and by a fused path.
QUERIES = ("a middle with a condition", "a window", "an end")


def failing(problem: BaseException) -> Callable[..., NoReturn]:
    def fails(*values: object, **named: object) -> NoReturn:
        raise problem

    return fails


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), MemoryError(), BudgetError("too many")])
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("name", CALLS)
def test_a_matcher_that_is_not_whole_is_not_used(
    name: str, query: str, problem: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A snapshot from before continues, and so does another matcher of the plan."""
    plan = plan_of(query, "optimized")
    matcher = plan.open()
    found = told(matcher.push(FIRST))
    state = matcher.snapshot()
    with monkeypatch.context() as patch:
        patch.setattr(matcher.pipeline, "reporting", failing(problem))
        with pytest.raises(type(problem)):
            CALLS[name](matcher)
    for again in (*CALLS.values(), lambda matcher: matcher.snapshot()):
        with pytest.raises(SaseError, match=f"ended by a {type(problem).__name__} in the midst"):
            again(matcher)
    restored = plan.restore(state)
    found += told(restored.push(SECOND)) + told(restored.push(THIRD)) + told(restored.finish())
    assert found == told(plan.run(EVENTS)) != []


PACKAGE = os.path.dirname(sase.__file__)


class Steps:
    """Counts the lines of the package that are worked through, and interrupts before one of them.

    Python heeds a signal between any two of its instructions.
    """

    def __init__(self, last: int = -1) -> None:
        self.count, self._last = 0, last

    def __enter__(self) -> Steps:
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, kind: type[BaseException] | None, *problem: object) -> bool:
        sys.settrace(self._before)
        return kind is KeyboardInterrupt

    def _trace(self, frame: FrameType, event: str, value: object) -> Any:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line":
            self.count += 1
            if self.count == self._last:
                raise KeyboardInterrupt
        return self._trace


def goes_on(matcher: sase.Matcher) -> list[Any] | None:
    """The matches of the rows that the matcher has not had; None if it refuses."""
    try:
        rest = EVENTS.slice(matcher.rows)
        return [*told(matcher.push(rest)), *told(matcher.finish())]
    except SaseError as problem:
        assert "ended by a KeyboardInterrupt" in str(problem) or "another call" in str(problem)
        return None


@pytest.mark.parametrize("query", QUERIES)
def test_an_interrupt_at_any_moment(query: str) -> None:
    """The call was as good as never made, or at its end, or the matcher refuses to go on."""
    plan = plan_of(query, "optimized")
    matcher = plan.open()
    matcher.push(FIRST)
    state = matcher.snapshot()
    before, after, counted = (plan.restore(state) for _ in range(3))
    expected = {20: goes_on(before)}
    after.push(SECOND)
    with Steps() as steps:  # the fewest, as the plan knows the types of the last events
        counted.push(SECOND)
    expected[35] = goes_on(after)
    outcomes = list[str]()
    for last in range(1, steps.count, max(steps.count // 80, 1)):
        matcher = plan.restore(state)
        with Steps(last):
            matcher.push(SECOND)
            raise AssertionError("it was not interrupted")
        rows, found = matcher.rows, goes_on(matcher)
        assert found is None or found == expected[rows], last
        outcomes.append("refused" if found is None else str(rows))
    assert {"refused", "20"} <= {*outcomes}


@pytest.mark.parametrize("query", QUERIES)
def test_matches_whose_reading_is_broken_off_are_found_again(query: str) -> None:
    plan = plan_of(query, "optimized")
    with Steps() as steps:
        expected = told(plan.run(EVENTS))
    for last in range(1, steps.count, max(steps.count // 40, 1)):
        matches = plan.run(EVENTS)
        with Steps(last):
            told(matches)
        assert told(matches) == expected != []
