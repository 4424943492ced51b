"""What the matches of a plan hold beside their events, where that is more than lengths."""

from __future__ import annotations

from sase.engine.operators.group_bindings import IterationForm
from sase.engine.operators.set_bindings import SetForm
from sase.lang.ast import StrategyName
from sase.planning.nodes import RunEvaluation


def form_of(runs: RunEvaluation | None) -> IterationForm | SetForm | None:
    """The form of matches with repeated groups or sets; None of others."""
    if runs is None:
        return None
    if runs.is_of_sets:
        detects = runs.strategy is StrategyName.EARLIEST_MAXIMAL
        return SetForm(len(runs.components), detects)
    return IterationForm.of(runs.components)
