"""What the matches of a plan hold beside their events, where that is more than lengths."""

from __future__ import annotations

from sase.engine.operators.bindings.candidates import CandidateForm
from sase.engine.operators.bindings.groups import IterationForm
from sase.engine.operators.bindings.sets import SetForm
from sase.lang.ast import StrategyName
from sase.planning.nodes import Evaluation, RunEvaluation


def form_of(runs: RunEvaluation | None) -> IterationForm | SetForm | CandidateForm | None:
    """The form of matches with repeated groups or sets, or of imprecise time; None of others."""
    if runs is None:
        return None
    if runs.evaluation is Evaluation.INTERVALS:
        return CandidateForm(len(runs.components))
    if runs.is_of_sets:
        detects = runs.strategy is StrategyName.EARLIEST_MAXIMAL
        return SetForm(len(runs.components), detects)
    return IterationForm.of(runs.components)
