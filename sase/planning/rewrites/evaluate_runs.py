"""(NFAb) Evaluate the runs of the automaton event by event, whatever the level of the query."""

from __future__ import annotations

from sase.lang.ast import StrategyName
from sase.planning.declined import Declined
from sase.planning.plan.nodes import (
    EdgeCondition,
    Negation,
    Operator,
    RunEvaluation,
    Selection,
    SequenceConstruction,
    SequenceScan,
    Transformation,
    Window,
    chain,
    find,
    rebuilt,
    require,
)
from sase.planning.rewrites.contract import Outcome
from sase.planning.split import window_of

# The operators of a basic plan that runs replace, and those that take runs' matches.
REPLACED = {SequenceScan, SequenceConstruction, Selection, Window}
ABOVE = {Negation, Transformation}


def of_sequences(plan: Operator) -> list[Operator]:
    """The operators of a plan that take sequences, but not the matches of runs."""
    return [each for each in chain(plan) if type(each) not in {*REPLACED, *ABOVE, RunEvaluation}]


def evaluate_runs(plan: Operator) -> Outcome:
    """For the basic plan of level 1: a sequence is a run with one event for each level."""
    scan, construction = require(plan, SequenceScan), require(plan, SequenceConstruction)
    is_basic = scan == SequenceScan(scan.components, scan.tests)
    if not is_basic or construction != SequenceConstruction(scan):
        return Declined("only the basic plan is made one of runs")
    if of_sequences(plan):
        return Declined("an operator of the plan takes sequences, and no runs")
    selection = find(plan, Selection)
    conditions = () if selection is None else selection.conditions
    runs = RunEvaluation(
        scan.components,
        StrategyName.SKIP_TILL_ANY_MATCH,
        tuple(EdgeCondition(each) for each in conditions),
        scan.tests,
        window_of(plan),
    )
    above = [each for each in chain(plan) if type(each) in ABOVE]
    return rebuilt([*above, runs])
