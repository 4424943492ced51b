"""(NFAb) Runs that will behave alike from an event on are one from then on (SASE+)."""

from __future__ import annotations

from dataclasses import replace

from sase.binding.text import condition_text
from sase.planning.nodes import Evaluation, Operator, RunEvaluation, exchanged, find
from sase.planning.rewrites.contract import NO_RUNS, Declined, Outcome


def merge_runs(plan: Operator) -> Outcome:
    """What a match is asked when it is whole is asked of each, since all are told."""
    runs = find(plan, RunEvaluation)
    if runs is None:
        return NO_RUNS
    if runs.evaluation is not Evaluation.NFAB:
        return Declined(f"evaluation is {runs.evaluation.value} already")
    if runs.is_alone:
        return Declined("a match is a single event, and no two are alike")
    if runs.counts_in_partitions and any(test not in runs.partitions for test in runs.equivalences):
        return Declined("the window counts in partitions, and runs are not kept apart by them")
    names = {component.index: component.variable for component in runs.components}
    for edge in runs.conditions:
        if edge.ranges:
            condition = condition_text(edge.conjunct.condition, names)
            return Declined(f"{condition} reads every event of a series, and runs differ in them")
    return exchanged(plan, replace(runs, evaluation=Evaluation.MERGED))
