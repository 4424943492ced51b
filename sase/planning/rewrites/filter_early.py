"""(SASE++) Decide on the way back what the events chosen so far decide."""

from __future__ import annotations

from dataclasses import replace

from sase.planning.nodes import Evaluation, Operator, RunEvaluation, exchanged, find
from sase.planning.rewrites.contract import NO_RUNS, Declined, Outcome
from sase.planning.walk_back import decided_early


def filter_early(plan: Operator) -> Outcome:
    """A walk that fails on what it has chosen goes no further back."""
    runs = find(plan, RunEvaluation)
    if runs is None:
        return NO_RUNS
    if runs.evaluation is not Evaluation.POSTPONED:
        return Declined("nothing is postponed")
    every = [edge.conjunct for edge in runs.conditions]
    found = tuple(each for each in every if decided_early(each, runs.components) is not None)
    if not found:
        return Declined("no condition is decided before all events of a match are known")
    early = frozenset(found)
    left = tuple(edge for edge in runs.conditions if edge.conjunct not in early)
    return exchanged(plan, replace(runs, conditions=left, early=runs.early + found))
