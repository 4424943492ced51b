"""(NFAb) Evaluate one run at a time and go back to those that wait, for comparison (SASE+)."""

from __future__ import annotations

from dataclasses import replace

from sase.planning.nodes import Evaluation, Operator, exchanged
from sase.planning.rewrites.contract import Declined, Outcome, unpruned_runs


def backtrack_runs(plan: Operator) -> Outcome:
    """Which run is looked at first changes nothing, since matches are sorted."""
    runs = unpruned_runs(plan)
    if isinstance(runs, Declined):
        return runs
    if runs.is_alone:
        return Declined("a match is a single event, and there is no run to go back to")
    return exchanged(plan, replace(runs, evaluation=Evaluation.BACKTRACKING))
