"""docs/semantics.md, Runs: the formal model NFAb, move by move.

A run is what it has bound so far: one series for each component that it has entered or passed
over. It is inside its last component if that is a Kleene component, and waiting for the next one
otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from sase.lang import ast
from sase.lang.ast import StrategyName
from tests.naive.conditions import Part, holds
from tests.naive.expressions import Event
from tests.naive.pattern import Element, RepeatedGroup
from tests.naive.problem import Bound, Problem, events_in, least, most, passes


def by_runs(problem: Problem, unrolled: Sequence[Problem] = ()) -> list[Bound]:
    """The distinct matches, before negation; `unrolled` has the other numbers of iterations."""
    if not _conditions_hold(problem, (), [None]):  # a condition without any variable
        return []
    runs: list[Bound] = []
    matches: dict[Bound, None] = {}
    for event in problem.stream.events:
        born = list(begins(problem, (), event))
        runs = [run for run in runs if not is_over(problem, run, event)]
        moved = list(chain.from_iterable(moves(problem, run, event) for run in runs))
        ignoring = [run for run in runs if may_ignore(problem, run, event, unrolled)]
        matches.update(dict.fromkeys(finished(problem, [*moved, *born])))
        runs = list(dict.fromkeys([*ignoring, *moved, *born]))
    return list(matches)


def moves(problem: Problem, run: Bound, event: Event) -> Iterator[Bound]:
    """What becomes of a run that does not ignore the event."""
    if is_inside(problem, run) and may_take(problem, run, event):
        yield taken(run, event)
    if may_proceed(problem, run):
        yield from begins(problem, run, event)


def begins(problem: Problem, run: Bound, event: Event) -> Iterator[Bound]:
    """begin(k, e) for the component waited for, and for later ones past what may be empty."""
    if len(run) == len(problem.positives):
        return
    if may_begin(problem, run, event):
        yield (*run, (event,))
    if may_pass_over(problem, run):
        yield from begins(problem, (*run, ()), event)


def finished(problem: Problem, runs: Iterable[Bound]) -> Iterator[Bound]:
    """The matches among runs that have just moved; components at the end may be left empty."""
    for run in runs:
        if not may_proceed(problem, run):
            continue
        whole = run
        while len(whole) < len(problem.positives) and may_pass_over(problem, whole):
            whole = (*whole, ())
        if len(whole) == len(problem.positives):
            yield whole


# ---------------------------------------------------------------- where a run is


def is_over(problem: Problem, run: Bound, event: Event) -> bool:
    """Whether the window has passed, so that the run can bind nothing more: only to save time."""
    return problem.window is not None and problem.window.is_past(events_in(run)[0], event)


def component(problem: Problem, place: int) -> ast.Component:
    """The positive component ck."""
    return problem.components[problem.positives[place]]


def is_inside(problem: Problem, run: Bound) -> bool:
    """Whether the run is inside a Kleene component."""
    return bool(run) and component(problem, len(run) - 1).quantifier is not None


def is_full(problem: Problem, run: Bound) -> bool:
    """Whether its last component is at its maximum."""
    return len(run[-1]) >= most(component(problem, len(run) - 1))


def taken(run: Bound, event: Event) -> Bound:
    """The run with one more event in its last component."""
    return (*run[:-1], (*run[-1], event))


# ---------------------------------------------------------------- what is allowed


def may_begin(problem: Problem, run: Bound, event: Event) -> bool:
    """begin(k, e), k being the first component that the run has not entered."""
    place = len(run)
    return _may_bind(problem, run, event, place) and _conditions_hold(
        problem,
        (*run, (event,)),
        [(problem.positives[place], Part.FIRST), (problem.positives[place], Part.CURRENT)],
    )


def may_take(problem: Problem, run: Bound, event: Event) -> bool:
    """take(k, e), and k below its maximum."""
    place = len(run) - 1
    return (
        not is_full(problem, run)
        and _may_bind(problem, run, event, place)
        and _conditions_hold(problem, taken(run, event), [(problem.positives[place], Part.CURRENT)])
    )


def _may_bind(problem: Problem, run: Bound, event: Event, place: int) -> bool:
    """The type test, strictly after the last event, equivalence, and the window."""
    events = events_in(run)
    return (
        passes(component(problem, place), event)
        and all(other < event for other in events)
        and problem.agrees(event, events)
        and (problem.window is None or problem.window.holds((*events, event)))
    )


def may_proceed(problem: Problem, run: Bound) -> bool:
    """proceed(k): the minimum is reached and the conditions on the whole series hold."""
    place = len(run) - 1
    enough = len(run[-1]) >= least(component(problem, place))
    return enough and _conditions_hold(problem, run, [(problem.positives[place], Part.WHOLE)])


def may_pass_over(problem: Problem, run: Bound) -> bool:
    """Whether the component waited for may stay empty."""
    return least(component(problem, len(run))) == 0 and may_proceed(problem, (*run, ()))


def _conditions_hold(
    problem: Problem, run: Bound, identifiers: list[tuple[int, Part] | None]
) -> bool:
    """The conditions whose last identifier is one of these, for the event just bound."""
    scope = problem.scope_of(problem.binding(run))
    newest = problem.positives[len(run) - 1] if run else None
    return all(
        holds(condition, scope, newest if condition.ends_with(Part.CURRENT) else None)
        for condition in problem.p_plus
        if condition.last_identifier in identifiers
    )


def may_ignore(
    problem: Problem, run: Bound, event: Event, unrolled: Sequence[Problem] = ()
) -> bool:
    """Whether the strategy allows the run to stay as it is."""
    may_grow = is_inside(problem, run) and not is_full(problem, run)
    if len(run) == len(problem.positives) and not may_grow:
        return False  # finished: nothing is left to wait for
    match problem.strategy:
        case StrategyName.STRICT_CONTIGUITY:
            return False
        case StrategyName.PARTITION_CONTIGUITY:
            return problem.differs(event, events_in(run))
        case StrategyName.SKIP_TILL_NEXT_MATCH:
            return not (
                may_repeat(problem, run, event, unrolled)
                or (may_take(problem, run, event) if may_grow else False)
                or (not may_grow and waits(problem, run) and may_begin(problem, run, event))
            )
        case StrategyName.SKIP_TILL_ANY_MATCH:
            return True
        case _:
            raise NotImplementedError(f"the strategy {problem.strategy.value}")


# ---------------------------------------------------------------- repeated groups


def waits(problem: Problem, run: Bound) -> bool:
    """Whether it waits for the next element: behind a group only where that is at its maximum."""
    done = element(problem, len(run) - 1).iteration
    if done is None or element(problem, len(run)).iteration == done:
        return True
    return done[1] == _group(problem, done[0]).most or next_begins(problem, len(run), done)


def next_begins(problem: Problem, place: int, done: tuple[str, int]) -> bool:
    """Whether the element of this place is of the iteration after one."""
    is_there = place < len(problem.positives)
    return is_there and element(problem, place).iteration == (done[0], done[1] + 1)


def may_repeat(problem: Problem, run: Bound, event: Event, unrolled: Sequence[Problem]) -> bool:
    """Whether, the iteration being finished, the first element of any branch may begin another."""
    done = element(problem, len(run) - 1).iteration
    return done is not None and any(
        _begins_another(other, run, event, done)
        for other in unrolled
        if _elements(other)[: len(run)] == _elements(problem)[: len(run)]
    )


def _begins_another(problem: Problem, run: Bound, event: Event, done: tuple[str, int]) -> bool:
    """With what is left of the iteration passed over, as far as it may be."""
    whole = run
    while len(whole) < len(problem.positives) and not next_begins(problem, len(whole), done):
        is_of_it = element(problem, len(whole)).iteration == done
        if not is_of_it or not may_proceed(problem, whole) or not may_pass_over(problem, whole):
            return False
        whole = (*whole, ())
    return (
        next_begins(problem, len(whole), done)
        and may_proceed(problem, whole)
        and may_begin(problem, whole, event)
    )


def _elements(problem: Problem) -> list[Element]:
    return [problem.elements[number] for number in problem.positives]


def element(problem: Problem, place: int) -> Element:
    """The positive element ck."""
    return problem.elements[problem.positives[place]]


def _group(problem: Problem, name: str) -> RepeatedGroup:
    return next(group for group in problem.pattern.repeated if group.name == name)
