"""(NFAb) Matches that do not overlap: the first of a partition ends its other runs (SASE+, 5.2)."""

from __future__ import annotations

from dataclasses import replace

from sase.binding.text import test_text
from sase.lang.ast import StrategyName
from sase.planning.declined import NO_RUNS, Declined
from sase.planning.nodes import (
    Evaluation,
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

# Evaluations that can search only the first match of a partition.
_PRUNING = (Evaluation.NFAB, Evaluation.REREADING, Evaluation.POSTPONED)


def prune_overlaps(plan: Operator) -> Outcome:
    """Runs that began before the last event of the first match overlap it, and are dropped.

    This is legal under every strategy if runs are kept apart by partition. With HAVING or a
    negative component the first match is the first that passes; until it is known, some further
    matches are found.
    """
    top, runs = require(plan, Transformation), find(plan, RunEvaluation)
    if runs is None:
        return NO_RUNS
    reason = _reason(top, runs)
    return exchanged(plan, replace(top, prunes=True)) if reason is None else Declined(reason)


def _reason(top: Transformation, runs: RunEvaluation) -> str | None:
    """The reason why overlapping matches are not pruned."""
    if top.non_overlapping is None:
        return "matches may overlap"
    if top.prunes:
        return "they are pruned already"
    negation = find(top, Negation)
    if negation is not None and any(may_end(runs.components, n) for n in negation.elements):
        return "only time tells which matches there are, by an absence at their end"
    if runs.evaluation not in _PRUNING:
        return f"evaluation is {runs.evaluation.value} already"
    if runs.evaluation is Evaluation.REREADING and (top.having or top.input is not runs):
        return "what is read again must be known to be a match when it is found"
    if runs.strategy is StrategyName.EARLIEST_MAXIMAL:
        return "a run of earliest_maximal takes all that it can before it is a match"
    if runs.has_sets and runs.is_in_lines:
        return "runs of single events in sets are rows, as none of them forks"
    if runs.is_alone:
        return "a match is a single event"
    fixed = [test for test in top.non_overlapping if test.value is not None]
    if not all(test.is_declared_by(runs.components) for test in fixed):
        return "some type of the pattern may not declare what makes a partition"
    parting = [test for test in top.non_overlapping if test.value is None]
    if set(parting) != set(runs.partitions):
        of = ", ".join(map(test_text, parting)) or "all matches together"
        return f"runs are kept apart by other attributes than partitions: {of}"
    return None
