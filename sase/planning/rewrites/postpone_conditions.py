"""(SASE++) Remember events without looking at conditions on several, and walk matches back."""

from __future__ import annotations

from dataclasses import replace

from sase.lang.ast import StrategyName
from sase.planning.nodes import Evaluation, Operator, RunEvaluation, exchanged, find
from sase.planning.rewrites.contract import NO_RUNS, Declined, Outcome


def postpone_conditions(plan: Operator) -> Outcome:
    """Where every run may ignore every event, runs need not be kept: the events are enough."""
    runs = find(plan, RunEvaluation)
    if runs is None:
        return NO_RUNS
    if runs.evaluation is not Evaluation.NFAB:
        return Declined(f"evaluation is {runs.evaluation.value} already")
    if runs.strategy is not StrategyName.SKIP_TILL_ANY_MATCH:
        return Declined(f"under {runs.strategy.value} conditions decide what is taken")
    if runs.counts_in_partitions and any(test not in runs.partitions for test in runs.equivalences):
        return Declined("the window counts in partitions, and runs are not kept apart by them")
    return exchanged(plan, replace(runs, evaluation=Evaluation.POSTPONED))
