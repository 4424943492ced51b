"""Special forms of runs: contiguous runs without forks, runs that wait, and leading runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

from sase.binding.bound import (
    Aggregate,
    BoundComponent,
    Comparison,
    Condition,
    Conjunct,
    Part,
    Quantified,
    Reference,
    When,
    elements_of,
)
from sase.binding.conditions.parts import references, with_references
from sase.binding.types import Kind
from sase.lang.ast import TURNED, StrategyName
from sase.planning.plan.nodes import Operator, RunEvaluation, Transformation, find, reading, require
from sase.planning.reasoning.value_ranges import ACCEPTED, exclude

# ---------------------------------------------------------------- stretches

# An event that may extend a series may also leave it, unless the conditions for both exclude each
# other: for example, prices that fall, and then rise.

# Replace components: the current event, and the last event that the run has bound.
NEW, BEFORE = -1, -2
# Each component has a bit in a byte.
MOST_COMPONENTS = 8
_FIRST = (When.EVENT, When.FIRST, When.EVERY)
_FURTHER = (When.EVERY, When.FURTHER)
_COMPARED = {Kind.INTEGER, Kind.FLOAT}
_CONTIGUOUS = (StrategyName.STRICT_CONTIGUITY, StrategyName.PARTITION_CONTIGUITY)


class NeighbourComparison(NamedTuple):
    """A comparison of an event with the one before it by the same attribute.

    It applies to the first event of a level, or to each further one; `accepted` orders are bits:
    less, equal, more.
    """

    level: int
    is_first: bool
    attribute: str
    accepted: int


def is_in_stretches(runs: RunEvaluation) -> bool:
    """Whether runs are stretches of a partition without forks, checked by comparing neighbours."""
    levels, components = len(runs.components), runs.components
    if runs.strategy not in _CONTIGUOUS:
        return False
    if runs.is_watched or runs.is_alone or runs.has_groups or runs.is_of_sets or runs.tested:
        return False
    if levels < 2 or levels > MOST_COMPONENTS or any(c.minimum == 0 for c in components):
        return False
    if runs.never_forks and not _meet(*components[:2]):
        return False  # evaluated in lines, since few of the events that they examine begin a line
    return steps_of(runs) is not None and all(_is_left_surely(runs, n) for n in range(levels - 1))


def exclusions(runs: RunEvaluation) -> Iterator[tuple[BoundComponent, BoundComponent]]:
    """The series with the next component, if their conditions exclude each other."""
    for level, (one, other) in enumerate(pairwise(runs.components)):
        if not _is_exact(one) and _exclude(runs, level):
            yield one, other


def steps_of(runs: RunEvaluation) -> list[NeighbourComparison] | None:
    """All conditions on several events, if each compares an event with the one before it."""
    found = list[NeighbourComparison]()
    for level, component in enumerate(runs.components):
        for is_first in (True, False):
            for conjunct in _asked(runs, component, is_first=is_first):
                step = _step(_placed(conjunct.condition, runs, level, is_first=is_first))
                if step is None:
                    return None
                found.append(NeighbourComparison(level, is_first, *step))
    placed = {each.index for each in runs.components}
    is_other = any(
        edge.ranges or edge.conjunct.component not in placed or edge.conjunct.when is When.WHOLE
        for edge in runs.conditions
    )
    return None if is_other else found


def _is_left_surely(runs: RunEvaluation, level: int) -> bool:
    """Whether no event may be both a further one of a level and the first one of the next."""
    one, other = runs.components[level], runs.components[level + 1]
    return not _meet(one, other) or _is_exact(one) or _exclude(runs, level)


def _meet(one: BoundComponent, other: BoundComponent) -> bool:
    """Whether an event may have a type of both."""
    return one.types is None or other.types is None or bool({*one.types} & {*other.types})


def _exclude(runs: RunEvaluation, level: int) -> bool:
    """Whether the conditions on a further event exclude those on the first of the next level."""
    further = _conditions(runs, level, is_first=False)
    return exclude([*further], [*_conditions(runs, level + 1, is_first=True)])


def _is_exact(component: BoundComponent) -> bool:
    """Whether it has a fixed number of events, so that a run must either stay or leave."""
    return component.minimum == component.maximum


def _conditions(runs: RunEvaluation, level: int, *, is_first: bool) -> Iterator[Condition]:
    """The conditions on the first or a further event of a level, on declared values only."""
    component = runs.components[level]
    for conjunct in runs.simple:
        if conjunct.component == component.index and (is_first or conjunct.when is not When.FIRST):
            condition = with_references(
                conjunct.condition, lambda each: replace(each, component=NEW, part=Part.EVENT)
            )
            if _is_declared(condition):
                yield condition
    for conjunct in _asked(runs, component, is_first=is_first):
        condition = _placed(conjunct.condition, runs, level, is_first=is_first)
        if _is_declared(condition):
            yield condition


def _asked(runs: RunEvaluation, component: BoundComponent, *, is_first: bool) -> Iterator[Conjunct]:
    """The conditions on several events for a first or further event, without ranges."""
    whens = _FIRST if is_first else _FURTHER
    for edge in runs.conditions:
        conjunct = edge.conjunct
        if conjunct.component == component.index and conjunct.when in whens and not edge.ranges:
            yield conjunct


def _placed(condition: Condition, runs: RunEvaluation, level: int, *, is_first: bool) -> Condition:
    """A condition with `NEW` for the current event and `BEFORE` for the one before it."""
    own = runs.components[level].index
    last = runs.components[level - 1] if level else None

    def place(reference: Reference) -> Reference:
        if reference.component == own:
            if reference.part is Part.PREVIOUS:
                return replace(reference, component=BEFORE, part=Part.EVENT)
            if reference.part is Part.CURRENT or is_first:
                return replace(reference, component=NEW, part=Part.EVENT)
        is_of_last = is_first and last is not None and reference.component == last.index
        if is_of_last and last is not None and (last.is_single or reference.part is Part.LAST):
            return replace(reference, component=BEFORE, part=Part.EVENT)
        return reference

    return with_references(condition, place)


def _is_declared(condition: Condition) -> bool:
    """Whether it reads only values of single events, which every such event declares."""
    return all(
        not isinstance(each, Aggregate) and each.undeclared_by == frozenset()
        for each in references(condition)
    )


def _step(condition: Condition) -> tuple[str, int] | None:
    """The attribute and the accepted orders of an event to the one before; None otherwise."""
    if not isinstance(condition, Comparison) or not _is_declared(condition):
        return None
    sign, one, other = condition.operator, condition.left, condition.right
    if not isinstance(one, Reference) or not isinstance(other, Reference):
        return None
    if (one.component, other.component) == (BEFORE, NEW):
        sign, one, other = TURNED[sign], other, one
    is_step = (one.component, other.component) == (NEW, BEFORE) and one.attribute == other.attribute
    is_step = is_step and {one.type.kind, other.type.kind} <= _COMPARED
    return (one.attribute, ACCEPTED[sign]) if is_step else None


# ---------------------------------------------------------------- waiting

# Under earliest_maximal a match is reported when it can bind nothing more: at its last event if its
# last element is then full, otherwise when its window has passed (docs/semantics.md, Earliest and
# maximal).


class Waiting(Enum):
    """Which matches wait until their window has passed."""

    NONE = "no match waits"
    SOME = "matches wait that may grow"
    ALL = "every match waits"


def waiting_of(plan: Operator) -> Waiting:
    """Which matches of a plan, or of the plan of a branch, wait because they may grow."""
    runs = reading(plan)
    is_greedy = isinstance(runs, RunEvaluation) and runs.strategy is StrategyName.EARLIEST_MAXIMAL
    if not is_greedy:
        return Waiting.NONE
    last = [runs.components[level] for level in elements_of(runs.components)[-1]]
    if any(each.maximum is None for each in last):
        return Waiting.ALL
    is_full = all(each.minimum == each.maximum for each in last)
    return Waiting.NONE if is_full else Waiting.SOME


# ---------------------------------------------------------------- leading runs

# If the first match ends all other runs (`prune_overlaps`), a run that is behind another run in the
# same state completes no first match. This needs matches that are final when they are found, and
# conditions that do not range over past events.


def why_all_go_on(plan: Operator) -> str | None:
    """Why runs with equal continuations are all kept until a match, instead of the first one."""
    top, runs = require(plan, Transformation), find(plan, RunEvaluation)
    if runs is None or not top.prunes or not runs.has_groups:
        return None
    if top.having is not None:
        return "HAVING tells which of them are matches"
    if top.input is not runs or runs.has_absences_in_iterations:
        return "absences tell which of them are matches"
    if runs.has_sets:
        return "they differ in the members that sets still lack"
    if any(_ranges(runs)):
        return "conditions range over past iterations, or events of a series"
    return None


def _ranges(runs: RunEvaluation) -> Iterator[bool]:
    """For each condition, whether it ranges over events other than the one that decides it."""
    for conjunct in (edge.conjunct for edge in runs.conditions):
        yield any(check.quantified for check in conjunct.checks) or (
            not conjunct.checks and bool(conjunct.quantified)
        )
    for component in runs.components:
        for branch in () if component.group is None else component.group.branches:
            for each in branch.conjuncts:
                own: tuple[int, int] | None = None
                if each.when in (When.EVERY, When.FURTHER):
                    own = component.index, branch.variables[each.element]
                yield any(_of(other) != own for other in each.quantified)


def _of(quantified: Quantified) -> tuple[int, int | None]:
    return quantified.component, quantified.inner
