"""docs/semantics.md, Sequences: the matches as a set; with series under skip till any match.

All ways to bind the components to events that follow one another, and then the conditions on each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sase.lang import ast
from tests.naive.conditions import holds, is_checked
from tests.naive.expressions import Event, Series
from tests.naive.problem import Bound, Problem, events_in, least, most, passes


def by_formula(problem: Problem) -> list[Bound]:
    """The matches, before negation."""
    steps = [[problem.components[number] for number in step] for step in problem.steps]
    every_way = bindings(steps, problem.stream.events)
    return [bound for bound in every_way if is_match(problem, bound)]


def bindings(steps: Sequence[Sequence[ast.Component]], events: Series) -> Iterator[Bound]:
    """Every way to bind components, step by step, to events that follow strictly."""
    if not steps:
        yield ()
        return
    for members in members_of(steps[0], events):
        for rest in bindings(steps[1:], after(events_in(members), events)):
            yield (*members, *rest)


def members_of(components: Sequence[ast.Component], events: Series) -> Iterator[Bound]:
    """docs/semantics.md, Sets: every way to bind members, in any order, to different events."""
    if not components:
        yield ()
        return
    for series in series_of(components[0], events):
        others = tuple(event for event in events if event not in series)
        for rest in members_of(components[1:], others):
            yield (series, *rest)


def series_of(component: ast.Component, events: Series, count: int = 0) -> Iterator[Series]:
    """Every series of events, `count` more than listed, that a component may bind."""
    if count >= least(component):
        yield ()
    if count < most(component):
        for event in events:
            if passes(component, event):
                for rest in series_of(component, after((event,), events), count + 1):
                    yield (event, *rest)


def after(series: Sequence[Event], events: Series) -> Series:
    """The events strictly after a series."""
    return tuple(event for event in events if not series or series[-1] < event)


def is_match(problem: Problem, bound: Bound) -> bool:
    """Whether P+ holds, equivalence tests included, and the window."""
    events, binding = events_in(bound), problem.binding(bound)
    scope = problem.scope_of(binding)
    return (
        bool(events)
        and (problem.window is None or problem.window.holds(events))
        and all(problem.agrees(event, events[:n]) for n, event in enumerate(events))
        and all(
            holds(each, scope)
            for each in problem.p_plus
            if is_checked(each, problem.last_step(each), binding)
        )
    )
