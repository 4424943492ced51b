"""docs/semantics.md, Negation: negative components, applied to each match."""

from __future__ import annotations

from dataclasses import replace

from tests.naive.conditions import holds, is_checked
from tests.naive.equivalence import fits, fits_all
from tests.naive.expressions import Event, Series
from tests.naive.formula import bindings
from tests.naive.problem import Bound, Forbidding, Problem, events_in, passes
from tests.naive.windows import Window


def is_forbidden(problem: Problem, bound: Bound) -> bool:
    """Whether some negative component forbids the match; each is checked independently."""
    by_event = any(
        _in_gap(problem, bound, number, event) and _forbids(problem, bound, number, event)
        for number in problem.negatives
        for event in problem.stream.events
        if passes(problem.components[number], event)
    )
    return by_event or any(_has_match(problem, bound, each) for each in problem.forbidding)


def has_negated_end(problem: Problem, bound: Bound) -> bool:
    """Whether a negative component has no bound event after it in this match."""
    positions = [*problem.negatives, *(each.position for each in problem.forbidding)]
    return any(not around(problem, bound, position)[1] for position in positions)


def around(problem: Problem, bound: Bound, position: int) -> tuple[Series, Series]:
    """The bound events before and after a negative element, which binds none."""
    sides = list(zip(problem.positives, bound, strict=True))
    before = events_in(tuple(series for place, series in sides if place < position))
    after = events_in(tuple(series for place, series in sides if place >= position))
    return before, after


def _in_gap(problem: Problem, bound: Bound, position: int, b: Event) -> bool:
    """The table of docs/semantics.md, Negation: the interval in which an event is forbidden."""
    before, after = around(problem, bound, position)
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
    return _agrees(problem, b, events_in(bound)) and all(
        holds(condition, scope) for condition in problem.p_minus(number)
    )


def _agrees(problem: Problem, b: Event, others: Series) -> bool:
    """Whether an event that shall forbid agrees on the equivalence attributes."""
    return all(
        fits(test, b, False, problem.scope) and fits_all(test, b, others, problem.scope)
        for test in problem.tests
    )


# ---------------------------------------------------------------- negative groups


def _has_match(problem: Problem, bound: Bound, forbidding: Forbidding) -> bool:
    """docs/semantics.md, Negative groups: whether its pattern has a match in the interval."""
    events = problem.stream.events
    inside = tuple(b for b in events if _in_gap(problem, bound, forbidding.position, b))
    steps = [[forbidding.group.elements[place].component] for place in forbidding.positives]
    return any(_is_match(problem, bound, forbidding, inner) for inner in bindings(steps, inside))


def _is_match(problem: Problem, bound: Bound, forbidding: Forbidding, inner: Bound) -> bool:
    """Whether events of its positive components agree, fulfil the conditions, and are allowed."""
    events = events_in(inner)
    numbers = map(forbidding.number, forbidding.positives)
    binding = {**problem.binding(bound), **dict(zip(numbers, inner, strict=True))}
    scope = replace(forbidding.scope, bound=binding)
    others = events_in(bound)
    return (
        bool(events)
        and all(_agrees(problem, b, (*others, *events[:n])) for n, b in enumerate(events))
        and all(
            holds(each, scope)
            for each in forbidding.own
            if is_checked(each, problem.last_step(each), binding)
        )
        and not any(
            _forbids_inside(problem, bound, forbidding, inner, place, x)
            for place in forbidding.negatives
            for x in problem.stream.events
        )
    )


def _forbids_inside(
    problem: Problem, bound: Bound, forbidding: Forbidding, inner: Bound, place: int, x: Event
) -> bool:
    """Whether an event between its neighbours keeps the inner match from forbidding anything."""
    sides = list(zip(forbidding.positives, inner, strict=True))
    before = events_in(tuple(series for side, series in sides if side < place))
    after = events_in(tuple(series for side, series in sides if side > place))
    numbers = map(forbidding.number, forbidding.positives)
    binding = {**problem.binding(bound), **dict(zip(numbers, inner, strict=True))}
    scope = replace(forbidding.scope, bound={**binding, forbidding.number(place): (x,)})
    return (
        passes(forbidding.group.elements[place].component, x)
        and before[-1] < x < after[0]
        and _agrees(problem, x, (*events_in(bound), *events_in(inner)))
        and all(holds(condition, scope) for condition in forbidding.of_inner(place))
    )
