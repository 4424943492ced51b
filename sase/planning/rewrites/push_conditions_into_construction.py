"""Check the conditions on several events while sequences are built, as early as they can be."""

from __future__ import annotations

from dataclasses import replace

from sase.binding.bound import ConjunctClass
from sase.planning.nodes import (
    Operator,
    Selection,
    SequenceConstruction,
    exchanged,
    find,
    without_empty,
)


def push_conditions_into_construction(plan: Operator) -> Operator | None:
    """Construction binds from the last event back: a condition waits for its first variable."""
    construction, selection = find(plan, SequenceConstruction), find(plan, Selection)
    if construction is None or selection is None:
        return None
    several = tuple(c for c in selection.conditions if c.kind is ConjunctClass.SEVERAL)
    if not several:
        return None
    left = tuple(c for c in selection.conditions if c not in several)
    pushed = exchanged(
        plan,
        replace(construction, conditions=construction.conditions + several),
        replace(selection, conditions=left),
    )
    return without_empty(pushed)
