"""The form of matches: what they hold beside the events of each component."""

from __future__ import annotations

from enum import Enum

from sase.lang.ast import StrategyName
from sase.planning.nodes import Evaluation, Operator, RunEvaluation, SequenceScan, find, reading


class BindingForm(Enum):
    """The form of the matches of a plan, which decides what checks and returns them."""

    SEQUENCES = "one event of each component"
    SERIES = "any number of events of each component"
    SETS = "members of sets in any order"
    DETECTED_SETS = "members of sets, and when each match was detected"
    ITERATIONS = "the iterations of repeated groups"
    CANDIDATES = "candidates of imprecise time, and how likely each is"


def form_of(plan: Operator) -> BindingForm:
    """The form of the matches of a plan; of a union those of all branches."""
    if find(plan, SequenceScan) is not None:
        return BindingForm.SEQUENCES
    runs = find(plan, RunEvaluation)
    if runs is not None and runs.evaluation is Evaluation.INTERVALS:
        return BindingForm.CANDIDATES
    if runs is not None and runs.is_of_sets:
        detects = runs.strategy is StrategyName.EARLIEST_MAXIMAL
        return BindingForm.DETECTED_SETS if detects else BindingForm.SETS
    has_groups = any(each.group is not None for each in reading(plan).components)
    return BindingForm.ITERATIONS if has_groups else BindingForm.SERIES
