"""(SES) Evaluate runs by the automaton whose states are the subsets of each set (Cadonna 2012)."""

from __future__ import annotations

from dataclasses import replace

from sase.planning.declined import Declined
from sase.planning.nodes import Evaluation, Operator, exchanged
from sase.planning.rewrites.contract import Outcome, unpruned_runs


def evaluate_by_set_states(plan: Operator) -> Outcome:
    """For patterns with sets, and for greedy runs, whose components form sets."""
    runs = unpruned_runs(plan)
    if isinstance(runs, Declined):
        return runs
    if not runs.is_of_sets:
        return Declined("no component is a member of a set")
    return exchanged(plan, replace(runs, evaluation=Evaluation.SES))
