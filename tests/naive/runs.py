"""docs/semantics.md, Runs: the formal model NFAb, move by move.

A run is its bindings so far: one series for each component that it has entered or passed
over, in steps: a component, or all members of a set. It is inside its last step if that can bind
more, and waiting for the next one otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from sase.lang import ast
from sase.lang.ast import StrategyName
from tests.naive.conditions import Condition, Part, holds
from tests.naive.expressions import Event
from tests.naive.pattern import Element, RepeatedGroup
from tests.naive.problem import Bound, Problem, events_in, least, most, passes


def by_runs(problem: Problem, unrolled: Sequence[Problem] = ()) -> list[Bound]:
    """The distinct matches, before negation; `unrolled` has the other numbers of iterations."""
    if not all(holds(each, problem.scope) for each in problem.p_plus if not each.parts):
        return []
    takes_all = problem.strategy == StrategyName.EARLIEST_MAXIMAL
    runs: list[Bound] = []
    matches: dict[Bound, None] = {}
    for event in problem.stream.events:
        born = list(begins(problem, (), event))
        over = [run for run in runs if is_over(problem, run, event)]
        runs = [run for run in runs if run not in over]
        moved = list(chain.from_iterable(moves(problem, run, event) for run in runs))
        ignoring = [run for run in runs if may_ignore(problem, run, event, unrolled)]
        new = [*moved, *born]
        ended = [*over, *(run for run in new if is_final(problem, run))] if takes_all else new
        matches.update(dict.fromkeys(finished(problem, ended)))
        runs = list(dict.fromkeys([*ignoring, *new]))
    if takes_all:
        matches.update(dict.fromkeys(finished(problem, runs)))
    return list(matches)


def moves(problem: Problem, run: Bound, event: Event) -> Iterator[Bound]:
    """The successors of a run that does not ignore the event."""
    yield from additions(problem, run, event)
    if may_proceed(problem, run):
        yield from begins(problem, run, event)


def begins(problem: Problem, run: Bound, event: Event) -> Iterator[Bound]:
    """begin(k, e) for the step waited for, and for later ones past those that may be empty."""
    if is_complete(problem, run):
        return
    yield from additions(problem, opened(problem, run), event)
    if may_pass_over(problem, run):
        yield from begins(problem, opened(problem, run), event)


def finished(problem: Problem, runs: Iterable[Bound]) -> Iterator[Bound]:
    """The matches among runs; components at the end may be left empty."""
    for run in runs:
        if not may_proceed(problem, run):
            continue
        whole = run
        while not is_complete(problem, whole) and may_pass_over(problem, whole):
            whole = opened(problem, whole)
        if is_complete(problem, whole):
            yield whole


# ---------------------------------------------------------------- where a run is


def is_over(problem: Problem, run: Bound, event: Event) -> bool:
    """Whether the window has passed, so that the run can bind nothing more: only to save time."""
    return problem.window is not None and problem.window.is_past(events_in(run)[0], event)


def is_complete(problem: Problem, run: Bound) -> bool:
    """Whether it has entered the last step."""
    return len(run) == len(problem.positives)


def is_final(problem: Problem, run: Bound) -> bool:
    """Whether nothing more can be bound."""
    return is_complete(problem, run) and not may_grow(problem, run)


def component(problem: Problem, place: int) -> ast.Component:
    """The positive component ck."""
    return problem.components[problem.positives[place]]


def step(problem: Problem, place: int) -> list[int]:
    """The places of the components of a step, of which this is one."""
    return problem.places[place]


def here(problem: Problem, run: Bound) -> list[int]:
    """The places of the last step that the run has entered."""
    return step(problem, len(run) - 1) if run else []


def opened(problem: Problem, run: Bound) -> Bound:
    """The run in its next step, to which nothing is bound yet."""
    return run + ((),) * len(step(problem, len(run)))


def is_full(problem: Problem, run: Bound, place: int) -> bool:
    """Whether a component is at its maximum."""
    return len(run[place]) >= most(component(problem, place))


def may_grow(problem: Problem, run: Bound) -> bool:
    """Whether some component of the last step is below its maximum."""
    return not all(is_full(problem, run, place) for place in here(problem, run))


# ---------------------------------------------------------------- permissions


def additions(problem: Problem, run: Bound, event: Event) -> Iterator[Bound]:
    """begin(k, e) and take(k, e) for every k of the last step."""
    for place in here(problem, run):
        if not is_full(problem, run, place) and _may_bind(problem, run, event, place):
            longer = (*run[:place], (*run[place], event), *run[place + 1 :])
            if _conditions_hold(problem, longer, place):
                yield longer


def may_add(problem: Problem, run: Bound, event: Event) -> bool:
    """Whether a component of the last step may begin or take the event."""
    return any(True for _ in additions(problem, run, event))


def may_begin(problem: Problem, run: Bound, event: Event) -> bool:
    """begin(k, e), k being of the first step that the run has not entered."""
    return may_add(problem, opened(problem, run), event)


def _may_bind(problem: Problem, run: Bound, event: Event, place: int) -> bool:
    """The type test, strictly after the events before, equivalence, and the window."""
    if not passes(component(problem, place), event):
        return False
    events = events_in(run)
    before = events_in((*run[: here(problem, run)[0]], run[place]))
    return (
        all(other < event for other in before)
        and problem.agrees(event, events)
        and (problem.window is None or problem.window.holds((*events, event)))
    )


def may_proceed(problem: Problem, run: Bound) -> bool:
    """proceed(k): every minimum is reached and the conditions on whole series hold."""
    places = here(problem, run)
    numbers = [problem.positives[place] for place in places]
    scope = problem.scope_of(problem.binding(run))
    return all(len(run[place]) >= least(component(problem, place)) for place in places) and all(
        holds(condition, scope)
        for condition in _conditions(problem, numbers)
        if condition.is_of_whole(numbers)
    )


def may_pass_over(problem: Problem, run: Bound) -> bool:
    """Whether the awaited part may stay empty."""
    return may_proceed(problem, opened(problem, run))


def _conditions_hold(problem: Problem, run: Bound, place: int) -> bool:
    """The conditions with c[1] or c[i] as last identifier, for the event just bound to c.

    In a set that is the last bound member: the other members that they mention have begun.
    """
    numbers = [problem.positives[each] for each in here(problem, run)]
    number, binding = problem.positives[place], problem.binding(run)
    scope = problem.scope_of(binding)
    is_first = len(run[place]) == 1
    return all(
        holds(condition, scope, number if condition.mentions(number, Part.CURRENT) else None)
        for condition in _conditions(problem, numbers)
        if not condition.is_of_whole(numbers)
        and all(binding[each] for each in numbers if each in condition.components)
        and (
            condition.mentions(number, Part.CURRENT)
            or (is_first and condition.mentions(number, Part.FIRST))
        )
    )


def _conditions(problem: Problem, numbers: list[int]) -> Iterator[Condition]:
    """Those that mention one of these last in the pattern."""
    return iter(problem.by_last_step.get(tuple(numbers), ()))


def may_ignore(
    problem: Problem, run: Bound, event: Event, unrolled: Sequence[Problem] = ()
) -> bool:
    """Whether the strategy allows the run to stay as it is."""
    if is_final(problem, run):
        return False  # finished: nothing is left to wait for
    match problem.strategy:
        case StrategyName.STRICT_CONTIGUITY:
            return False
        case StrategyName.PARTITION_CONTIGUITY:
            return problem.differs(event, events_in(run))
        case StrategyName.SKIP_TILL_NEXT_MATCH:
            is_waiting = not may_grow(problem, run) and waits(problem, run)
            return not (
                may_repeat(problem, run, event, unrolled)
                or may_add(problem, run, event)
                or (is_waiting and begins_next(problem, run, event, unrolled))
            )
        case StrategyName.SKIP_TILL_ANY_MATCH:
            return True
        case StrategyName.EARLIEST_MAXIMAL:
            return not any(True for _ in moves(problem, run, event))


# ---------------------------------------------------------------- repeated groups


def waits(problem: Problem, run: Bound) -> bool:
    """Whether it waits for the next element: behind a group only where that is at its maximum."""
    done = element(problem, len(run) - 1).iteration
    if done is None or element(problem, len(run)).iteration == done:
        return True
    return done[1] == _group(problem, done[0]).most or next_begins(problem, len(run), done)


def begins_next(problem: Problem, run: Bound, event: Event, unrolled: Sequence[Problem]) -> bool:
    """Whether the element that it waits for can begin: of a repeated group any of its branches.

    That is the first one behind its bindings, also if here it has no iteration.
    """
    done, place = element(problem, len(run) - 1).iteration, len(run)
    is_inside = done is not None and element(problem, place).iteration == done
    if is_inside or (done is not None and next_begins(problem, place, done)):
        return may_begin(problem, run, event)
    known = _elements(problem)[:place]
    of_branch = [each for each in unrolled if each.written is problem.written]
    alike = [each for each in of_branch if _elements(each)[:place] == known]
    begun = [(name, each) for each in alike if (name := _first_of(each, place)) is not None]
    if not begun:
        return may_begin(problem, run, event)
    names = [group.name for group, _ in problem.iterations]
    awaited = min((name for name, _ in begun), key=names.index)
    return any(may_begin(each, run, event) for name, each in begun if name == awaited)


def _first_of(problem: Problem, place: int) -> str | None:
    """The group with a first iteration that the element of this place begins."""
    if place >= len(problem.positives):
        return None
    here, before = element(problem, place).iteration, element(problem, place - 1).iteration
    return here[0] if here is not None and here[1] == 1 and here != before else None


def next_begins(problem: Problem, place: int, done: tuple[str, int]) -> bool:
    """Whether the element of this place is of the iteration after one."""
    is_there = place < len(problem.positives)
    return is_there and element(problem, place).iteration == (done[0], done[1] + 1)


def may_repeat(problem: Problem, run: Bound, event: Event, unrolled: Sequence[Problem]) -> bool:
    """Whether, the iteration being finished, the first element of any branch may begin another.

    The run is of one branch: another with the same elements so far may be finished before.
    """
    done = element(problem, len(run) - 1).iteration
    own = _up_to(problem, done)
    return done is not None and any(
        _begins_another(other, run, event, done) for other in unrolled if _up_to(other, done) == own
    )


def _up_to(problem: Problem, done: tuple[str, int] | None) -> list[Element]:
    """The positive elements up to the end of an iteration."""
    elements = _elements(problem)
    places = [place for place, each in enumerate(elements) if each.iteration == done]
    return elements[: places[-1] + 1] if places else []


def _begins_another(problem: Problem, run: Bound, event: Event, done: tuple[str, int]) -> bool:
    """With the rest of the iteration passed over, as far as it may be."""
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
