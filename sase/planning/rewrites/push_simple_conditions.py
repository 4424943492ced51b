"""(SPred) Check the conditions on one event when it is scanned (4.2)."""

from __future__ import annotations

from dataclasses import replace

from sase.binding.bound import ConjunctClass
from sase.planning.nodes import (
    Operator,
    Selection,
    SequenceScan,
    exchanged,
    find,
    without_empty,
)


def push_simple_conditions(plan: Operator) -> Operator | None:
    """An event that fails is remembered nowhere; `[a = 'v']` fixes the value of every event."""
    scan, selection = find(plan, SequenceScan), find(plan, Selection)
    if scan is None or selection is None:
        return None
    simple = tuple(c for c in selection.conditions if c.kind is ConjunctClass.SINGLE)
    values = tuple(t for t in selection.equivalences if t.value is not None)
    if not simple and set(values) <= set(scan.values):
        return None
    left = tuple(c for c in selection.conditions if c not in simple)
    pushed = exchanged(
        plan,
        replace(scan, conditions=scan.conditions + simple, values=values),
        replace(selection, conditions=left),
    )
    return without_empty(pushed)
