"""(DP) Stop a walk if its chosen events are less likely than the threshold (SASE++, 5.3)."""

from __future__ import annotations

from dataclasses import replace

from sase.planning.declined import Declined
from sase.planning.plan.nodes import Confidence, Operator, RunEvaluation, exchanged, find, require
from sase.planning.rewrites.contract import IS_PRECISE, Outcome


def prune_by_confidence(plan: Operator) -> Outcome:
    """The probability of an order never rises when an event is added."""
    confidence = find(plan, Confidence)
    if confidence is None:
        return IS_PRECISE
    runs = require(plan, RunEvaluation)
    if confidence.threshold is None:
        return Declined("there is no threshold")
    if runs.least is not None:
        return Declined("the threshold ends walks already")
    return exchanged(plan, replace(runs, least=confidence.threshold))
