"""docs/semantics.md, Negation: negative components, applied to each match."""

from __future__ import annotations

from tests.naive.conditions import holds
from tests.naive.equivalence import fits, fits_all
from tests.naive.expressions import Event, Series
from tests.naive.problem import Bound, Problem, events_in, passes
from tests.naive.windows import Window


def is_forbidden(problem: Problem, bound: Bound) -> bool:
    """Whether some negative component forbids the match; each is checked independently."""
    return any(
        _in_gap(problem, bound, number, event) and _forbids(problem, bound, number, event)
        for number in problem.negatives
        for event in problem.stream.events
        if passes(problem.components[number], event)
    )


def has_negated_end(problem: Problem, bound: Bound) -> bool:
    """Whether a negative component has no bound event after it in this match."""
    return any(not around(problem, bound, number)[1] for number in problem.negatives)


def around(problem: Problem, bound: Bound, number: int) -> tuple[Series, Series]:
    """The bound events before and after a negative component."""
    sides = list(zip(problem.positives, bound, strict=True))
    before = events_in(tuple(series for place, series in sides if place < number))
    after = events_in(tuple(series for place, series in sides if place > number))
    return before, after


def _in_gap(problem: Problem, bound: Bound, number: int, b: Event) -> bool:
    """The table of docs/semantics.md, Negation: the interval in which an event is forbidden."""
    before, after = around(problem, bound, number)
    if before and after:
        return before[-1] < b < after[0]
    if after:
        return b < after[0] and window_of(problem).reaches_back(after[-1], b)
    return before[-1] < b and window_of(problem).reaches_on(before[0], b)


def window_of(problem: Problem) -> Window:
    """The window, without which there is no negated start or end."""
    if problem.window is None:
        raise ValueError("a negated start or end needs WITHIN")
    return problem.window


def _forbids(problem: Problem, bound: Bound, number: int, b: Event) -> bool:
    """Whether the event satisfies P- and agrees with the match on the equivalence attributes."""
    scope = problem.scope_of({**problem.binding(bound), number: (b,)})
    agrees = all(
        fits(test, b, False, scope) and fits_all(test, b, events_in(bound), scope)
        for test in problem.tests
    )
    return agrees and all(holds(condition, scope) for condition in problem.p_minus(number))
