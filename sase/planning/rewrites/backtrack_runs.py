"""(NFAb) Evaluate one run at a time and go back to those that wait, for comparison (SASE+)."""

from __future__ import annotations

from dataclasses import replace

from sase.planning.nodes import Evaluation, Operator, RunEvaluation, exchanged, find
from sase.planning.rewrites.contract import NO_RUNS, Declined, Outcome


def backtrack_runs(plan: Operator) -> Outcome:
    """Which run is looked at first changes nothing, since matches are sorted."""
    runs = find(plan, RunEvaluation)
    if runs is None:
        return NO_RUNS
    if runs.evaluation is not Evaluation.NFAB:
        return Declined(f"evaluation is {runs.evaluation.value} already")
    if runs.is_alone:
        return Declined("a match is a single event, and there is no run to go back to")
    return exchanged(plan, replace(runs, evaluation=Evaluation.BACKTRACKING))
