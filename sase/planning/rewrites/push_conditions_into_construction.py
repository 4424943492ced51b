"""(PredSC) Check conditions on several events while sequences are built, as early as possible."""

from __future__ import annotations

from dataclasses import replace

from sase.binding.bound import ConjunctClass
from sase.planning.cost.selectivity import in_order
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
from sase.planning.statistics import Statistics


def push_conditions_into_construction(
    plan: Operator, *, statistics: Statistics | None = None
) -> Outcome:
    """Construction binds from the last event back: a condition waits for its first variable.

    Of conditions decided at one event, those that remove most for their cost come first.
    """
    construction, selection = require(plan, SequenceConstruction), find(plan, Selection)
    if selection is None:
        return Declined("there is no selection")
    several = tuple(c for c in selection.conditions if c.kind is ConjunctClass.SEVERAL)
    if not several:
        return Declined("no condition is on several events")
    names = {each.index: each.variable for each in require(plan, SequenceScan).components}
    conditions = in_order(construction.conditions + several, names, statistics)
    left = tuple(c for c in selection.conditions if c.kind is not ConjunctClass.SEVERAL)
    return exchanged(
        plan, replace(construction, conditions=conditions), replace(selection, conditions=left)
    )
