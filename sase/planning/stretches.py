"""Runs by contiguity that no event forks, though a series follows another one.

A run that may have a further event of a series may leave it by the same event, unless what is asked
of the two excludes each other: prices that fall, and then rise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from sase.binding.bound import (
    Aggregate,
    BoundComponent,
    Comparison,
    Condition,
    Conjunct,
    Part,
    Reference,
    When,
)
from sase.binding.parts import references, with_references
from sase.binding.types import Kind
from sase.lang.ast import TURNED, StrategyName
from sase.planning.exclusion import ACCEPTED, exclude
from sase.planning.nodes import Evaluation, RunEvaluation

# In place of a component: the event at hand, and the one that the run has bound last.
NEW, BEFORE = -1, -2
# There is a bit for each component in a byte.
MOST_COMPONENTS = 8
_FIRST = (When.EVENT, When.FIRST, When.EVERY)
_FURTHER = (When.EVERY, When.FURTHER)
_COMPARED = {Kind.INTEGER, Kind.FLOAT}
_CONTIGUOUS = (StrategyName.STRICT_CONTIGUITY, StrategyName.PARTITION_CONTIGUITY)


class NeighbourComparison(NamedTuple):
    """A comparison of an event with the one before it by the same attribute, where it is asked.

    Of a level the first event, or each further one; the orders are bits: less, equal, more.
    """

    level: int
    is_first: bool
    attribute: str
    accepted: int


def is_in_stretches(runs: RunEvaluation) -> bool:
    """Whether each run is a stretch of its partition that no event forks, compared step by step."""
    levels, components = len(runs.components), runs.components
    if runs.evaluation is not Evaluation.NFAB or runs.strategy not in _CONTIGUOUS:
        return False
    if runs.is_watched or runs.is_alone or runs.has_groups or runs.is_of_sets or runs.tested:
        return False
    if levels < 2 or levels > MOST_COMPONENTS or any(c.minimum == 0 for c in components):
        return False
    if runs.never_forks and not _meet(*components[:2]):
        return False  # in lines, as few of the events that they look at begin some
    return steps_of(runs) is not None and all(_is_left_surely(runs, n) for n in range(levels - 1))


def exclusions(runs: RunEvaluation) -> Iterator[tuple[BoundComponent, BoundComponent]]:
    """The series with the component behind each, where what they ask excludes each other."""
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
    """Whether no event may be a further one of a level and the first one of the next."""
    one, other = runs.components[level], runs.components[level + 1]
    return not _meet(one, other) or _is_exact(one) or _exclude(runs, level)


def _meet(one: BoundComponent, other: BoundComponent) -> bool:
    """Whether an event may be of the types of both."""
    return one.types is None or other.types is None or bool({*one.types} & {*other.types})


def _exclude(runs: RunEvaluation, level: int) -> bool:
    """Whether a further event of a level is asked what the first one of the next is not."""
    further = _conditions(runs, level, is_first=False)
    return exclude([*further], [*_conditions(runs, level + 1, is_first=True)])


def _is_exact(component: BoundComponent) -> bool:
    """Whether it has so many events: a run has to have more, or may not."""
    return component.minimum == component.maximum


def _conditions(runs: RunEvaluation, level: int, *, is_first: bool) -> Iterator[Condition]:
    """What is asked of the first or a further event of a level, of declared values alone."""
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
    """The conditions on several events that are asked of a first or further event, and no range."""
    whens = _FIRST if is_first else _FURTHER
    for edge in runs.conditions:
        conjunct = edge.conjunct
        if conjunct.component == component.index and conjunct.when in whens and not edge.ranges:
            yield conjunct


def _placed(condition: Condition, runs: RunEvaluation, level: int, *, is_first: bool) -> Condition:
    """A condition with the event at hand and the one before it named as such."""
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
    """Whether it reads values of single events alone, which every event there may be declares."""
    return all(
        not isinstance(each, Aggregate) and each.undeclared_by == frozenset()
        for each in references(condition)
    )


def _step(condition: Condition) -> tuple[str, int] | None:
    """The attribute and the accepted orders of an event to the one before it, if that is all."""
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
