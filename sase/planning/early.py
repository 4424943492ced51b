"""Conditions that can be decided on the way back from a last event, before all of a match is known.

Under skip till any match conditions only choose among the sequences, so the moment does not matter.
Going back, the last event of a series is known when the walk enters it, and each event of it when
it is chosen; its first one, its length and what is added up over it only at the end.
"""

from __future__ import annotations

from collections.abc import Sequence

from sase.binding.bound import Aggregate, BoundComponent, Conjunct, ConjunctClass, Part
from sase.binding.conjuncts import references


def is_early(conjunct: Conjunct, components: Sequence[BoundComponent]) -> bool:
    """Whether the events that it mentions decide it as soon as the earliest of them is chosen."""
    if conjunct.kind is ConjunctClass.CONSTANT:
        return False
    by_index = {component.index: component for component in components}
    found = list(references(conjunct.condition))
    own = min(reference.component for reference in found)
    for reference in found:
        component, part = by_index[reference.component], reference.part
        if isinstance(reference, Aggregate):
            return False
        if part is Part.PREVIOUS and reference.component != own:
            return False
        if part is Part.LAST and component.minimum == 0:
            return False
        if part not in (Part.EVENT, Part.CURRENT, Part.PREVIOUS, Part.LAST):
            return False
    return True
