"""(NG < σ) Check for absence before the conditions of the selection are decided."""

from __future__ import annotations

from sase.planning.plan.nodes import Operator, Selection
from sase.planning.rewrites.contract import Outcome
from sase.planning.rewrites.negate_before_window import negation_below


def negate_before_selection(plan: Operator) -> Outcome:
    """It pays if absence removes most sequences, and conditions are expensive."""
    return negation_below(plan, Selection, "there is no selection")
