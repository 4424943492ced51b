"""(Tree) Join the single events of sets by conjunctions, and elements as sequences (ZStream)."""

from __future__ import annotations

from dataclasses import replace

from sase.lang.ast import StrategyName
from sase.planning.declined import Declined
from sase.planning.nodes import Evaluation, Operator, exchanged
from sase.planning.rewrites.contract import MIXED, Outcome, unpruned_runs


def join_sets(plan: Operator) -> Outcome:
    """In place of runs, if a match has exactly one event of each component."""
    runs = unpruned_runs(plan)
    if isinstance(runs, Declined):
        return runs
    if not runs.has_sets:
        return Declined("no component is a member of a set")
    if runs.strategy is not StrategyName.SKIP_TILL_ANY_MATCH:
        return Declined(f"joins find every match, and not those of {runs.strategy.value} alone")
    several = [each.variable for each in runs.components if not each.is_single]
    if several:
        return Declined(f"joins put single events together, and {several[0]} is a series")
    if runs.mixes_partitions:
        return MIXED
    return exchanged(plan, replace(runs, evaluation=Evaluation.TREE))
