"""(NFAb) Evaluate the runs of the automaton event by event, whatever the level of the query."""

from __future__ import annotations

from sase.lang.ast import StrategyName
from sase.planning.nodes import (
    EdgeCondition,
    Negation,
    Operator,
    RunEvaluation,
    Selection,
    SequenceConstruction,
    SequenceScan,
    Transformation,
    chain,
    find,
    rebuilt,
    the,
)
from sase.planning.rewrites.contract import Declined, Outcome
from sase.planning.split import window_of


def evaluate_runs(plan: Operator) -> Outcome:
    """Of the basic plan of a query of level 1: a sequence is a run that takes one event a level."""
    scan, construction = the(plan, SequenceScan), the(plan, SequenceConstruction)
    is_basic = scan == SequenceScan(scan.components, scan.tests)
    if not is_basic or construction != SequenceConstruction(scan):
        return Declined("only the basic plan is made one of runs")
    selection = find(plan, Selection)
    conditions = () if selection is None else selection.conditions
    runs = RunEvaluation(
        scan.components,
        StrategyName.SKIP_TILL_ANY_MATCH,
        tuple(EdgeCondition(each) for each in conditions),
        scan.tests,
        window_of(plan),
    )
    above = [each for each in chain(plan) if isinstance(each, Transformation | Negation)]
    return rebuilt([*above, runs])
