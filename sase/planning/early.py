"""Conditions that a walk back decides on its way, by the events that it has chosen (SASE++)."""

from __future__ import annotations

from collections.abc import Sequence

from sase.binding.bound import BoundComponent, Conjunct, Part, Reference
from sase.binding.parts import references
from sase.planning.walking_back import Decided, WalkStep, decided_walking_back


def early(conjunct: Conjunct, components: Sequence[BoundComponent]) -> Decided | None:
    """Where a walk decides it, if that is before the component is left that it is decided in.

    Of later components it may name single events, each event of a series, and the last one of a
    series that is not empty: those are what a walk knows without looking through all of it.
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
