"""(SASE++) Decide conditions early, where candidates or the events chosen so far decide them."""

from __future__ import annotations

from dataclasses import replace

from sase.binding.bound import Conjunct, ConjunctClass
from sase.planning.declined import NO_RUNS, Declined
from sase.planning.physical.runs import IntervalWalk, PostponedWalk
from sase.planning.plan.nodes import Operator, RunEvaluation, exchanged, find
from sase.planning.reasoning.consistency import Consistency
from sase.planning.reasoning.value_ranges import (
    class_of,
    decided_by_candidates,
    decided_by_earlier,
    implied,
)
from sase.planning.reasoning.walk_back import decided_early
from sase.planning.rewrites.contract import Outcome


def filter_early(plan: Operator) -> Outcome:
    """No walk starts without a possible match, and a walk stops once a condition fails."""
    runs = find(plan, RunEvaluation)
    if runs is None:
        return NO_RUNS
    if runs.algorithm not in (PostponedWalk.name, IntervalWalk.name):
        return Declined("nothing is postponed")
    early, left = list[Conjunct](), list[Conjunct]()
    for conjunct in (edge.conjunct for edge in runs.conditions):
        if decided_early(conjunct, runs.components) is not None:
            early.append(conjunct)
        else:
            left.append(conjunct)
    known = {*runs.simple, *runs.early}
    follow = [each for one in left if (each := implied(one, runs.components)) is not None]
    follow = [each for each in follow if each not in known]
    asked = [each for each in left if decided_by_candidates(each, runs.components)]
    of_earlier = [each for each in left if decided_by_earlier(each)]
    classes = {each: class_of(each, runs.components).consistency for each in left}
    simple = [each for each in follow if each.kind is ConjunctClass.SINGLE]
    others = [each for each in follow if each.kind is not ConjunctClass.SINGLE]
    early += [each for each in others if decided_early(each, runs.components) is not None]
    kept = frozenset(left)
    if runs.is_of_intervals:  # candidates depend on earlier choices
        asked, of_earlier = [], []
    filtered = replace(
        runs,
        conditions=tuple(edge for edge in runs.conditions if edge.conjunct in kept),
        simple=(*runs.simple, *simple),
        early=(*runs.early, *early),
        dismissing=tuple(each for each in asked if classes[each] is Consistency.FALSE),
        discarding=tuple(each for each in of_earlier if classes[each] is Consistency.FALSE),
        safe=tuple(each for each in asked if classes[each] is Consistency.TRUE),
    )
    if filtered == runs:
        return Declined("no condition is decided before all events of a match are known")
    return exchanged(plan, filtered)
