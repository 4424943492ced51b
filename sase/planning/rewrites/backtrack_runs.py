"""(NFAb) Evaluate one run at a time and go back to those that wait, for comparison (SASE+)."""

from __future__ import annotations

from dataclasses import replace

from sase.planning.declined import Declined
from sase.planning.nodes import Evaluation, Operator, exchanged
from sase.planning.rewrites.contract import Outcome, runs_of_several


def backtrack_runs(plan: Operator) -> Outcome:
    """The order of runs does not affect the result, since matches are sorted."""
    runs = runs_of_several(plan, "and there is no run to go back to")
    if isinstance(runs, Declined):
        return runs
    return exchanged(plan, replace(runs, evaluation=Evaluation.BACKTRACKING))
