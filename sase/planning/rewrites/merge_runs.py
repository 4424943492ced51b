"""(NFAb) Runs that will behave alike from an event on are one from then on (SASE+)."""

from __future__ import annotations

from dataclasses import replace

from sase.binding.text import condition_text
from sase.planning.nodes import Evaluation, Operator, exchanged
from sase.planning.rewrites.contract import MIXED, Declined, Outcome, unpruned_runs


def merge_runs(plan: Operator) -> Outcome:
    """What a match is asked when it is whole is asked of each, since all are told."""
    runs = unpruned_runs(plan)
    if isinstance(runs, Declined):
        return runs
    if runs.is_alone:
        return Declined("a match is a single event, and no two are alike")
    if runs.mixes_partitions:
        return MIXED
    names = {component.index: component.variable for component in runs.components}
    for edge in runs.conditions:
        if edge.ranges:
            condition = condition_text(edge.conjunct.condition, names)
            return Declined(f"{condition} reads every event of a series, and runs differ in them")
    return exchanged(plan, replace(runs, evaluation=Evaluation.MERGED))
