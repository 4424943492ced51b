"""When a condition is decided while a match is built from its last event back to its first.

The walk enters the last component from its end: it chooses the last event of its series, then
earlier ones, then leaves it for the component before. So the last event of a series is known at
once, the previous event of an event when that is chosen, and the first one, the length and
aggregates over the whole series when the component is left. A condition is decided in the earliest
component that it mentions: there all later ones are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from sase.binding.bound import (
    Aggregate,
    BoundComponent,
    Conjunct,
    ConjunctClass,
    Part,
    Reference,
    When,
)
from sase.binding.conditions.parts import references


class WalkStep(IntEnum):
    """The steps of the walk in a component, in order."""

    # It chooses the last event of the component: the condition is decided.
    ENTERING = 1
    # It chooses an event, the last or an earlier one: the condition is about each.
    CHOOSING = 2
    # It chooses an earlier event: the condition is about the event after it, which now has its
    # previous event. The event that becomes the first one is exempt.
    FURTHER = 3
    # It leaves the component; its series is complete.
    LEAVING = 4


@dataclass(frozen=True, slots=True)
class Decided:
    """Where the walk decides a condition; `when_empty`: also if the component is empty.

    At CHOOSING and FURTHER it is decided for each event, at the other steps once.
    """

    component: int
    step: WalkStep
    when_empty: bool


def decided_walking_back(
    conjunct: Conjunct, components: Sequence[BoundComponent]
) -> Decided | None:
    """The first step at which the condition is known; None if it is not on events of matches.

    At all steps except LEAVING, a partial match that fails it is dropped.
    """
    if conjunct.kind in (ConjunctClass.NEGATIVE, ConjunctClass.CONSTANT):
        return None
    first = next(each for each in components if each.index == conjunct.references[0])
    mentioned = [each for each in references(conjunct.condition) if each.component == first.index]
    step = max(map(_step_of, mentioned))
    # In an empty series there is no i; and a condition on a[1] alone is not checked there.
    ranges = any(each.part.rank == Part.CURRENT.rank for each in mentioned)
    of_first = conjunct.component == first.index and conjunct.when is When.FIRST
    when_empty = first.minimum == 0 and not ranges and not of_first
    return Decided(first.index, step, when_empty)


def _step_of(reference: Reference | Aggregate) -> WalkStep:
    """The step at which the walk knows a reference."""
    if isinstance(reference, Reference):
        return {
            Part.EVENT: WalkStep.ENTERING,
            Part.LAST: WalkStep.ENTERING,
            Part.CURRENT: WalkStep.CHOOSING,
            Part.PREVIOUS: WalkStep.FURTHER,
        }.get(reference.part, WalkStep.LEAVING)
    # Events in the range count, too, if their type does not declare the attribute.
    if reference.function != "last" or reference.undeclared_by != frozenset():
        return WalkStep.LEAVING
    return {
        Part.ALL: WalkStep.ENTERING,
        Part.UP_TO_CURRENT: WalkStep.CHOOSING,
        Part.BEFORE_CURRENT: WalkStep.FURTHER,
    }[reference.part]


def decided_early(conjunct: Conjunct, components: Sequence[BoundComponent]) -> Decided | None:
    """The step of a condition that is decided before its component is left (SASE++).

    Of later components it may read single events, each event of a series, and the last one of a
    series that is not empty: a walk knows those without visiting the whole series.
    """
    decided = decided_walking_back(conjunct, components)
    if decided is None or decided.step is WalkStep.LEAVING or decided.when_empty:
        return None
    for reference in references(conjunct.condition):
        component = next(c for c in components if c.index == reference.component)
        if not isinstance(reference, Reference):
            return None
        is_own = reference.component == decided.component
        if reference.part is Part.LAST and component.minimum == 0:
            return None
        if not is_own and reference.part not in (Part.EVENT, Part.CURRENT, Part.LAST):
            return None
    return decided
