"""(NFAb) Evaluate one run at a time; read events again from where a run was postponed (SASE+)."""

from __future__ import annotations

from dataclasses import replace

from sase.planning.declined import Declined
from sase.planning.nodes import Evaluation, Operator, exchanged
from sase.planning.rewrites.contract import Outcome, runs_of_several


def reread_events(plan: Operator) -> Outcome:
    """The order of a run's moves does not affect the result, since matches are sorted."""
    runs = runs_of_several(plan, "and there is no run to put off")
    if isinstance(runs, Declined):
        return runs
    return exchanged(plan, replace(runs, evaluation=Evaluation.REREADING))
