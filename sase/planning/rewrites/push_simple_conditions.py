"""(SPred) Check the conditions on one event when it is scanned (4.2)."""

from __future__ import annotations

from dataclasses import replace

from sase.binding.bound import ConjunctClass
from sase.planning.declined import Declined
from sase.planning.plan.nodes import (
    Operator,
    RunEvaluation,
    Selection,
    SequenceScan,
    exchanged,
    find,
    require,
)
from sase.planning.rewrites.contract import Outcome


def push_simple_conditions(plan: Operator) -> Outcome:
    """An event that fails is not stored; `[a = 'v']` fixes the value of every event."""
    scan, selection = require(plan, SequenceScan), find(plan, Selection)
    if selection is None:
        return Declined("there is no selection")
    simple = tuple(c for c in selection.conditions if c.kind is ConjunctClass.SINGLE)
    values = tuple(t for t in selection.equivalences if t.value is not None)
    if not simple and set(values) <= set(scan.values):
        return Declined("no condition is on one event alone")
    left = tuple(c for c in selection.conditions if c.kind is not ConjunctClass.SINGLE)
    return exchanged(
        plan,
        replace(scan, conditions=scan.conditions + simple, values=values),
        replace(selection, conditions=left),
    )


def push_simple_conditions_to_runs(plan: Operator) -> Outcome:
    """Conditions on one event are decided once for it, not once for each run."""
    runs = require(plan, RunEvaluation)
    known = frozenset(runs.simple)
    simple = tuple(
        edge.conjunct
        for edge in runs.conditions
        if edge.conjunct.kind is ConjunctClass.SINGLE and edge.conjunct not in known
    )
    if not simple:
        return Declined("no condition is on one event alone")
    pushed = frozenset(simple)
    left = tuple(edge for edge in runs.conditions if edge.conjunct not in pushed)
    return exchanged(plan, replace(runs, conditions=left, simple=runs.simple + simple))
