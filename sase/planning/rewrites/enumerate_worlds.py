"""(Worlds) Compute confidences by enumeration: one time for each event (SASE++, 2.3)."""

from __future__ import annotations

from dataclasses import replace

from sase.planning.declined import Declined
from sase.planning.plan.nodes import Confidence, Operator, exchanged, find
from sase.planning.rewrites.contract import IS_PRECISE, Outcome


def enumerate_worlds(plan: Operator) -> Outcome:
    """Its time grows with the number of worlds; for comparison only."""
    confidence = find(plan, Confidence)
    if confidence is None:
        return IS_PRECISE
    if confidence.enumerates:
        return Declined("worlds are enumerated already")
    return exchanged(plan, replace(confidence, enumerates=True))
