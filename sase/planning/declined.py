"""Why a rewrite or an algorithm does not apply to a plan."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Declined:
    """Why a plan is left as it is, or not evaluated so."""

    reason: str


# Why what is for the other kind of plans declines.
NO_SCAN = Declined("the plan evaluates runs, and has no sequence scan")
NO_RUNS = Declined("the plan has no runs")
NO_NEGATIVE_GROUP = Declined("the pattern has no negative group")
NO_TREE = Declined("the plan has no tree of joins")
