"""The reason why a rewrite or an algorithm does not apply to a plan."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Declined:
    """Why a plan is not changed, or not evaluated by an algorithm."""

    reason: str


# The reasons of rewrites for the other kind of plans.
NO_SCAN = Declined("the plan evaluates runs, and has no sequence scan")
NO_RUNS = Declined("the plan has no runs")
NO_WALKS = Declined("no matches are walked back from their last events")
NO_NEGATIVE_GROUP = Declined("the pattern has no negative group")
NO_TREE = Declined("the plan has no tree of joins")
MIXED = Declined("the window counts in partitions, and runs are not kept apart by them")
PRUNED = Declined("the first match of a partition ends its other runs")
SETS = Declined("members of a set come in any order, and it takes components one after the other")
GREEDY = Declined("it does not keep the result under earliest_maximal")
