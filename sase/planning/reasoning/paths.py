"""The matches of a query that are paths through a graph of its events (skip till any match).

All matches are paths if conditions are on one event, on two neighbours in a match, or on the number
of events of a series.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from sase.binding.bound import (
    Aggregate,
    BoundComponent,
    Condition,
    Conjunct,
    ConjunctClass,
    Part,
    RepeatedGroup,
    elements_of,
)
from sase.binding.conditions.parts import references
from sase.binding.values.text import Names, condition_text, test_text
from sase.lang.ast import StrategyName
from sase.planning.automaton.iteration_paths import adjacent_to, reasons_of, tests_neighbours
from sase.planning.plan.nodes import EdgeCondition, RunEvaluation

# The most slots of a graph.
MOST_SLOTS = 1_000
# The most states of sets, and the most slots of a graph of them.
MOST_STATES = 1 << 17
MOST_STATE_SLOTS = 1 << 13


@dataclass(frozen=True)
class Paths:
    """The conditions on neighbours that paths check.

    `left` are the other conditions, and `reasons` why not all paths are matches.
    """

    neighbours: tuple[Conjunct, ...]
    left: tuple[EdgeCondition, ...]
    reasons: tuple[str, ...]


def paths_of(runs: RunEvaluation) -> Paths:
    """The paths of runs after simple conditions are pushed down."""
    reasons = list(_apart(runs))
    names = {each.index: each.variable for each in runs.components}
    found, left = list[Conjunct](), list[EdgeCondition]()
    for edge in runs.conditions:
        if neighbours(edge.conjunct, runs.components) is not None:
            found.append(edge.conjunct)
        else:
            left.append(edge)
    reasons += [why_no_path(edge.conjunct.condition, names) for edge in left]
    if (most := slots_of(runs.components)) > MOST_SLOTS:
        reasons.append(f"its components count up to {most:,} events")
    return Paths(tuple(found), tuple(left), tuple(reasons))


@dataclass(frozen=True)
class States:
    """Whether states count matches, and the reasons why their count would be wrong.

    If the states are too many for a graph, `too_large` says so. A graph is necessary with
    `neighbours`, or with conditions on neighbours in iterations.
    """

    neighbours: tuple[Conjunct, ...]
    reasons: tuple[str, ...]
    too_large: str | None = None


def states_of(runs: RunEvaluation, having: Sequence[Condition]) -> States:
    """The states of runs with sets or groups, after simple conditions are pushed down."""
    names = {each.index: each.variable for each in runs.components}
    reasons, found = list(_apart(runs)), list[Conjunct]()
    for edge in runs.conditions:
        if runs.has_groups and adjacent_to(edge.conjunct, runs.components):
            found.append(edge.conjunct)
        else:
            text = condition_text(edge.conjunct.condition, names)
            more = ", nor on neighbours" if runs.has_groups else ""
            reasons.append(f"{text} is no condition on one event{more}")
    reasons += [f"HAVING {condition_text(each, names)} is on no length alone" for each in having]
    levels = range(len(runs.components))
    reasons += [reason for level in levels for reason in reasons_of(runs.components, level)]
    if (most := states_among(runs.components)) > MOST_STATES:
        reasons.append(f"it has {most:,} states")
    too_large = _too_large(runs.components)
    is_tested = bool(found) or any(tests_neighbours(runs.components, level) for level in levels)
    if too_large is not None and is_tested:
        reasons.append(too_large)
    return States(tuple(found), tuple(dict.fromkeys(reasons)), too_large)


def _too_large(components: Sequence[BoundComponent]) -> str | None:
    """Why the graph of states has too many slots, if so."""
    slots = state_slots_of(components)
    return None if slots <= MOST_STATE_SLOTS else f"the graph of its states has {slots:,} slots"


def states_among(components: Sequence[BoundComponent]) -> int:
    """The greatest number of states of components, with those of simultaneous events."""
    return sum(
        prod(1 + _rungs(components[place]) for place in element)
        for element in elements_of(components)
    )


def state_slots_of(components: Sequence[BoundComponent]) -> int:
    """The most slots of the graph of states: each state by the event that leads to it."""
    return sum(
        _steps(components[place])
        * prod(1 + _rungs(components[other]) for other in element if other != place)
        for element in elements_of(components)
        for place in element
    )


def _steps(component: BoundComponent) -> int:
    """The number of distinct counts, with the first event of a series apart, and iterations."""
    most = max(component.minimum, component.maximum or 1)
    if component.group is not None:
        return 2 * (most + 1) * sum(map(_steps, _elements(component.group)))
    return most if component.maximum is not None else max(most, 2)


def _rungs(component: BoundComponent) -> int:
    """The number of distinct counts; for a series also whether the last event is simultaneous."""
    most = max(component.minimum, component.maximum or 1)
    if component.group is not None:
        return 2 * most * sum(map(_rungs, _elements(component.group)))
    return most if component.maximum == 1 else 2 * most


def _elements(group: RepeatedGroup) -> list[BoundComponent]:
    """The positive elements of iterations, of every branch."""
    return [branch.elements[place] for branch in group.branches for place in branch.positive]


def _apart(runs: RunEvaluation) -> Iterator[str]:
    """Why no choice of events is a match by itself."""
    if runs.strategy is not StrategyName.SKIP_TILL_ANY_MATCH:
        yield f"under {runs.strategy.value} runs depend on each other"
    for test in () if runs.is_alone else runs.tested:
        yield f"{test_text(test)} is tested event by event"


def slots_of(components: Sequence[BoundComponent], events: int | None = None) -> int:
    """The number of slots of a graph; with `events`, at most one for each event and component."""
    sizes = (max(each.minimum, each.maximum or 0) for each in components)
    return sum(size if events is None else min(size, events) for size in sizes)


def neighbours(conjunct: Conjunct, components: Sequence[BoundComponent]) -> tuple[int, int] | None:
    """The levels of the two neighbours that a condition is on, the earlier first; else None.

    In one series they are an event and the one before it. Otherwise they are the last event of a
    component and the first of the next one; if either is empty, such a condition is not checked.
    """
    if conjunct.kind is not ConjunctClass.SEVERAL:
        return None
    levels = {component.index: level for level, component in enumerate(components)}
    found = [(levels[each.component], each) for each in references(conjunct.condition)]
    if any(isinstance(each, Aggregate) for _, each in found):
        return None
    parts = {(level, each.part) for level, each in found}
    first, last = (choose(level for level, _ in parts) for choose in (min, max))
    if first == last:
        within = {(first, Part.PREVIOUS), (first, Part.CURRENT)}
        return (first, first) if (first, Part.PREVIOUS) in parts and parts <= within else None
    if last != first + 1 or len(parts) != 2:
        return None
    of = dict(parts)
    one, other = components[first], components[last]
    ends = of[first] in _one(one) or (of[first] is Part.LAST and one.minimum > 0)
    begins = of[last] in _one(other) or of[last] is Part.FIRST
    return (first, last) if ends and begins else None


def _one(component: BoundComponent) -> tuple[Part, ...]:
    """The references to the only event that a component can bind."""
    return (Part.EVENT, Part.CURRENT) if component.maximum == 1 else ()


def why_no_path(condition: Condition, names: Names) -> str:
    """Why paths cannot check a condition."""
    return f"{condition_text(condition, names)} is no condition on neighbours"
