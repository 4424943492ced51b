"""The form of matches: the data that they hold in addition to the events of each component."""

from __future__ import annotations

from enum import Enum

from sase.lang.ast import StrategyName
from sase.planning.plan.nodes import Operator, RunEvaluation, SequenceScan, find, reading


class BindingForm(Enum):
    """The form of the matches of a plan; it decides which operators check and return them."""

    SEQUENCES = "one event of each component"
    SERIES = "any number of events of each component"
    SETS = "members of sets in any order"
    DETECTED_SETS = "members of sets, and when each match was detected"
    ITERATIONS = "the iterations of repeated groups"
    CANDIDATES = "candidates of imprecise time, and how likely each is"


def form_of(plan: Operator) -> BindingForm:
    """The form of the matches of a plan; for a union, the form for all branches."""
    if find(plan, SequenceScan) is not None:
        return BindingForm.SEQUENCES
    runs = find(plan, RunEvaluation)
    if runs is not None and runs.is_of_intervals:
        return BindingForm.CANDIDATES
    if runs is not None and runs.is_of_sets:
        detects = runs.strategy is StrategyName.EARLIEST_MAXIMAL
        return BindingForm.DETECTED_SETS if detects else BindingForm.SETS
    has_groups = any(each.group is not None for each in reading(plan).components)
    return BindingForm.ITERATIONS if has_groups else BindingForm.SERIES
