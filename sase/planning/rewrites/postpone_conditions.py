"""(SASE++) Store events without testing conditions on several, and walk back to find matches."""

from __future__ import annotations

from dataclasses import replace

from sase.lang.ast import StrategyName
from sase.planning.declined import Declined
from sase.planning.nodes import Evaluation, Operator, exchanged
from sase.planning.rewrites.contract import MIXED, Outcome, runs_as_written


def postpone_conditions(plan: Operator) -> Outcome:
    """If every run may ignore every event, storing events is enough, without runs."""
    runs = runs_as_written(plan)
    if isinstance(runs, Declined):
        return runs
    if runs.strategy is not StrategyName.SKIP_TILL_ANY_MATCH:
        return Declined(f"under {runs.strategy.value} conditions decide what is taken")
    if runs.mixes_partitions:
        return MIXED
    return exchanged(plan, replace(runs, evaluation=Evaluation.POSTPONED))
