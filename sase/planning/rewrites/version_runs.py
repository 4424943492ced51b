"""(NFAb) Keep the events of all runs in one buffer by version numbers, for comparison (SASE+)."""

from __future__ import annotations

from dataclasses import replace

from sase.lang.ast import StrategyName
from sase.planning.declined import Declined
from sase.planning.nodes import Evaluation, Operator, exchanged
from sase.planning.rewrites.contract import Outcome, reads_series, runs_of_several


def version_runs(plan: Operator) -> Outcome:
    """A version distinguishes runs only if at most one of them stays at a component."""
    runs = runs_of_several(plan, "and shares none")
    if isinstance(runs, Declined):
        return runs
    # Contiguity also concerns other partitions, if some events have no key.
    if runs.strategy is StrategyName.SKIP_TILL_ANY_MATCH or runs.is_watched:
        for component in runs.components:
            if component.maximum != 1:
                return Declined(
                    f"a run may both take an event of {component.variable}[] and ignore it, and"
                    " both would go on under one version"
                )
    ranging = reads_series(runs)
    if ranging is not None:
        return Declined(f"{ranging} reads every event of a series, and a run keeps none of them")
    return exchanged(plan, replace(runs, evaluation=Evaluation.VERSIONED))
