"""(DF) Check the other equivalence tests while sequences are built (4.2.2)."""

from __future__ import annotations

from dataclasses import replace

from sase.planning.nodes import (
    Operator,
    Selection,
    SequenceConstruction,
    SequenceScan,
    exchanged,
    find,
    without_empty,
)


def filter_dynamically(plan: Operator) -> Operator | None:
    """A path on which two events disagree is left at once."""
    scan, construction = find(plan, SequenceScan), find(plan, SequenceConstruction)
    selection = find(plan, Selection)
    if scan is None or construction is None or selection is None or not scan.partitions:
        return None
    if not selection.equivalences:
        return None
    pushed = exchanged(
        plan,
        replace(
            construction,
            equivalences=construction.equivalences + selection.equivalences,
        ),
        replace(selection, equivalences=()),
    )
    return without_empty(pushed)
