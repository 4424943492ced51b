"""(NFAb) Evaluate one run at a time, and read events again from where one was put off (SASE+)."""

from __future__ import annotations

from dataclasses import replace

from sase.planning.declined import Declined
from sase.planning.nodes import Evaluation, Operator, exchanged
from sase.planning.rewrites.contract import Outcome, runs_of_several


def reread_events(plan: Operator) -> Outcome:
    """Which move of a run is made first changes nothing, since matches are sorted."""
    runs = runs_of_several(plan, "and there is no run to put off")
    if isinstance(runs, Declined):
        return runs
    return exchanged(plan, replace(runs, evaluation=Evaluation.REREADING))
