"""Which algorithm evaluates runs: opening obeys it, EXPLAIN prints it, costs are of it."""

from __future__ import annotations

from enum import Enum

from sase.binding.bound import Comparison, Conjunct, ConjunctClass, Reference, When
from sase.binding.types import Kind
from sase.planning.nodes import Evaluation, Operator, RunEvaluation, Transformation, chain, require
from sase.planning.stretches import is_in_stretches


class RunAlgorithm(Enum):
    """How runs are evaluated; the value is what EXPLAIN prints."""

    PREFIXES = "runs of the automaton, event by event{by_key}"
    LINES = "runs of the automaton, event by event{by_key} (in lines)"
    STRETCHES = "runs of the automaton, event by event{by_key} (in stretches)"
    GROUPS = "runs of the automaton, event by event{by_key}, through iterations of groups"
    SETS = "runs of the automaton, event by event{by_key}, through the subsets of each set (SES)"
    SET_LINES = (
        "runs of the automaton, event by event{by_key}, through the subsets of each set"
        " (SES, in lines)"
    )
    COUNTED = "runs of the automaton, those of equal histories counted, event by event{by_key}"
    MERGED = "runs of the automaton, those alike as one, event by event{by_key} (merged)"
    VERSIONED = "runs of the automaton over a versioned buffer, event by event{by_key} (versioned)"
    BACKTRACKING = "runs of the automaton, one at a time{by_key} (backtracking)"
    REREADING = (
        "runs of the automaton, one at a time, each from where it was put off{by_key}"
        " (backtracking, rereading)"
    )
    WALK_BACK = "walk back from each {last} through remembered events{by_key} (postponed)"
    INTERVALS = "walk back from each {last} through what may be before it{by_key} (by intervals)"
    GRAPH = "all paths through a graph of the events that may take part{by_key} (collapsed)"
    GROUP_GRAPH = (
        "all paths of iterations through a graph of the events that may take part{by_key}"
        " (collapsed)"
    )
    SET_JOINS = "join the events of components{by_key}, sets by conjunctions: {tree} (tree)"
    SERIES_JOINS = (
        "join what must occur{by_key}, and walk back through what is between: {tree} (tree)"
    )

    @property
    def never_forks(self) -> bool:
        """Whether each run is kept by itself, as no event forks it."""
        return self in (RunAlgorithm.LINES, RunAlgorithm.STRETCHES, RunAlgorithm.SET_LINES)


_OF_EVALUATIONS = {
    Evaluation.INTERVALS: RunAlgorithm.INTERVALS,
    Evaluation.POSTPONED: RunAlgorithm.WALK_BACK,
    Evaluation.REREADING: RunAlgorithm.REREADING,
    Evaluation.COLLAPSED: RunAlgorithm.GRAPH,
    Evaluation.EXPANDED: RunAlgorithm.GRAPH,
    Evaluation.BACKTRACKING: RunAlgorithm.BACKTRACKING,
    Evaluation.VERSIONED: RunAlgorithm.VERSIONED,
    Evaluation.MERGED: RunAlgorithm.MERGED,
    Evaluation.COUNTED: RunAlgorithm.COUNTED,
    Evaluation.TREE: RunAlgorithm.SERIES_JOINS,
}


def run_algorithm(plan: Operator, *, lines: bool = True) -> RunAlgorithm:
    """Choose the algorithm of the runs of a plan; without `lines` runs share their beginnings."""
    runs = require(plan, RunEvaluation)
    is_collapsed = runs.evaluation is Evaluation.COLLAPSED
    if runs.is_of_sets:
        if runs.evaluation is Evaluation.TREE:
            return RunAlgorithm.SET_JOINS
        if is_collapsed:
            return RunAlgorithm.GRAPH
        is_in_lines = lines and runs.is_in_lines and _only_compares(runs)
        return RunAlgorithm.SET_LINES if is_in_lines else RunAlgorithm.SETS
    if runs.has_groups:
        return RunAlgorithm.GROUP_GRAPH if is_collapsed else RunAlgorithm.GROUPS
    if runs.evaluation is not Evaluation.NFAB:
        return _OF_EVALUATIONS[runs.evaluation]
    if lines and is_in_stretches(runs) and (shows_all(plan) or not runs.is_in_lines):
        return RunAlgorithm.STRETCHES
    return RunAlgorithm.LINES if lines and runs.is_in_lines else RunAlgorithm.PREFIXES


def shows_all(plan: Operator) -> bool:
    """Whether each run that is whole is a result as it is, with all of its events."""
    top, below = chain(plan)[:2]
    if not isinstance(top, Transformation) or not isinstance(below, RunEvaluation):
        return False
    return top.having is None and top.columns is None and top.non_overlapping is None


def _only_compares(runs: RunEvaluation) -> bool:
    """Whether all that is decided of several events compares the one bound with one before."""
    return all(_is_direct(edge.conjunct) for edge in runs.conditions)


def _is_direct(conjunct: Conjunct) -> bool:
    """Whether it compares the attributes of two single events, which all of their types declare."""
    condition = conjunct.condition
    if conjunct.kind is ConjunctClass.CONSTANT or not isinstance(condition, Comparison):
        return False
    if conjunct.when is When.WHOLE and not conjunct.checks:
        return False
    sides = condition.left, condition.right
    if not all(isinstance(each, Reference) and not each.undeclared_by for each in sides):
        return False
    is_text = any(each.type.kind is Kind.STRING for each in sides)
    return len(conjunct.references) == 2 and (not is_text or condition.operator in ("=", "!="))
