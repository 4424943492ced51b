"""(Unfold) Replace bounds by a greatest or least value with conditions on one or two events.

`a[i].p > max(a[..i-1].p)` is `a[i].p > a[i-1].p`: the values rise, and the last is the greatest.
"""

from __future__ import annotations

from dataclasses import replace

from sase.planning.declined import Declined
from sase.planning.plan.nodes import EdgeCondition, Operator, RunEvaluation, exchanged, require
from sase.planning.reasoning.value_ranges import unfolded
from sase.planning.rewrites.contract import Outcome


def unfold_aggregates(plan: Operator) -> Outcome:
    """Decline: sequences have no series."""
    return Declined("there is no series")


def unfold_aggregates_of_runs(plan: Operator) -> Outcome:
    """Runs then need no aggregate, and conditions on one event can be pushed."""
    runs = require(plan, RunEvaluation)
    found = list[EdgeCondition]()
    for edge in runs.conditions:
        new = unfolded(edge.conjunct)
        found += [EdgeCondition(each, each.quantified) for each in new] or [edge]
    if tuple(found) == runs.conditions:
        return Declined("no aggregate comes down to single events")
    return exchanged(plan, replace(runs, conditions=tuple(found)))
