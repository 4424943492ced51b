"""(NFAb) Matches that do not overlap: the first of a partition ends its other runs (SASE+, 5.2)."""

from __future__ import annotations

from dataclasses import replace

from sase.binding.values.text import test_text
from sase.lang.ast import StrategyName
from sase.planning.declined import NO_RUNS, Declined
from sase.planning.physical.run_algorithm import PrunedRuns, RunRequest
from sase.planning.physical.runs import RUNS, first_applying
from sase.planning.plan.nodes import (
    Negation,
    Operator,
    RunEvaluation,
    Transformation,
    exchanged,
    find,
    require,
)
from sase.planning.rewrites.contract import Outcome
from sase.planning.split import may_end

_PRUNING = {each.name for each in RUNS if issubclass(each, PrunedRuns)}


def prune_overlaps(plan: Operator) -> Outcome:
    """Runs that began before the last event of the first match overlap it, and are dropped.

    This is legal under every strategy if runs are kept apart by partition. With HAVING or a
    negative component the first match is the first that passes; until it is known, some further
    matches are found.
    """
    top, runs = require(plan, Transformation), find(plan, RunEvaluation)
    if runs is None:
        return NO_RUNS
    pruned = replace(top, prunes=True)
    reason = _reason(top, pruned, runs)
    return exchanged(plan, pruned) if reason is None else Declined(reason)


def _reason(top: Transformation, pruned: Transformation, runs: RunEvaluation) -> str | None:
    """The reason why overlapping matches are not pruned."""
    if top.non_overlapping is None:
        return "matches may overlap"
    if top.prunes:
        return "they are pruned already"
    negation = find(top, Negation)
    if negation is not None and any(may_end(runs.components, n) for n in negation.elements):
        return "only time tells which matches there are, by an absence at their end"
    if runs.algorithm not in _PRUNING:
        return f"evaluation is {runs.algorithm} already"
    if isinstance(declined := first_applying(RunRequest(pruned)), Declined):
        return declined.reason
    if runs.strategy is StrategyName.EARLIEST_MAXIMAL:
        return "a run of earliest_maximal takes all that it can before it is a match"
    if runs.has_sets and runs.is_in_lines:
        return "runs of single events in sets are rows, as none of them forks"
    if runs.is_alone:
        return "a match is a single event"
    fixed = [test for test in top.non_overlapping if test.value is not None]
    if not all(test.is_declared_by(runs.components) for test in fixed):
        return "some type of the pattern may not declare the attributes of the partition"
    parting = [test for test in top.non_overlapping if test.value is None]
    if set(parting) != set(runs.partitions):
        of = ", ".join(map(test_text, parting)) or "all matches together"
        return f"runs are kept apart by other attributes than partitions: {of}"
    return None
