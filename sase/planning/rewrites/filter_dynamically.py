"""(DF) Check the other equivalence tests while sequences are built (4.2.2)."""

from __future__ import annotations

from dataclasses import replace

from sase.planning.declined import Declined
from sase.planning.plan.nodes import (
    Operator,
    Selection,
    SequenceConstruction,
    SequenceScan,
    exchanged,
    find,
    require,
)
from sase.planning.rewrites.contract import Outcome


def filter_dynamically(plan: Operator) -> Outcome:
    """A path is abandoned once two events disagree."""
    construction, selection = require(plan, SequenceConstruction), find(plan, Selection)
    if not require(plan, SequenceScan).partitions:
        return Declined("the stacks are not partitioned")
    if selection is None or not selection.equivalences:
        return Declined("no equivalence test is left in the selection")
    tests = construction.equivalences + selection.equivalences
    return exchanged(
        plan, replace(construction, equivalences=tests), replace(selection, equivalences=())
    )
