"""Open the operators of a physical plan: each node has a class, and nothing is decided here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache, partial
from importlib import import_module
from typing import Any

from sase.engine.operators.bindings.forms import opened_form
from sase.engine.operators.contract import Context, OperatorState
from sase.engine.operators.sequence_scan import SequenceScanState
from sase.engine.operators.taken_matches import TakenMatches
from sase.engine.operators.transformation import TransformationState
from sase.planning import nodes
from sase.planning.physical import operators as plan
from sase.planning.physical import runs
from sase.planning.physical.operators import OperatorPlan, PhysicalOperator, Search
from sase.planning.physical.runs import Pruning

# By node the module and the class, which is imported with the first such node, for its kernels. Of
# a scan it is that of what keeps events, of an output that of what checks matches of series.
OPENERS: Mapping[type, str] = {
    plan.MatchWindows: "match_window:MatchWindowState",
    plan.StackScan: "active_stacks:ActiveStacks",
    plan.MultiStackScan: "baselines.multi_stacks:MultiStacks",
    plan.RuntimeStackScan: "baselines.nfa_stack:NfaStack",
    plan.LeafScan: "join_tree:JoinTree",
    nodes.SequenceConstruction: "sequence_construction:SequenceConstructionState",
    nodes.Selection: "selection:SelectionState",
    nodes.Window: "selection:WindowState",
    plan.SequenceAbsences: "negation:NegationState",
    plan.SeriesAbsences: "kleene.series_negation:SeriesNegationState",
    plan.GroupAbsences: "groups.checks:GroupNegationState",
    plan.TightSearch: "tight_sequences:TightSequences",
    plan.GapSearch: "negative_sequences:SequencesInGaps",
    plan.GroupGapSearch: "groups.sequences:GroupSequencesInGaps",
    nodes.Confidence: "imprecise.confidence_filter:ConfidenceState",
    plan.BranchUnion: "branches.union:UnionState",
    plan.SeriesOutput: "kleene.series_negation:SeriesCheck",
    plan.GroupOutput: "groups.checks:GroupCheck",
    plan.CandidateOutput: "imprecise.checks:CandidateCheck",
    runs.SetJoins: "sets.tree_evaluation:SetTreeEvaluationState",
    runs.MatchGraph: "kleene.match_set_evaluation:MatchSetEvaluationState",
    runs.GroupGraph: "groups.match_set_evaluation:GroupMatchSetState",
    runs.SetLines: "sets.line_evaluation:SetLineEvaluationState",
    runs.SetRuns: "sets.evaluation:SetEvaluationState",
    runs.GroupRuns: "groups.evaluation:GroupEvaluationState",
    runs.IntervalWalk: "imprecise.interval_evaluation:IntervalEvaluationState",
    runs.PostponedWalk: "kleene.walk_back_evaluation:WalkBackEvaluationState",
    runs.SeriesJoins: "kleene.tree_evaluation:SeriesTreeEvaluationState",
    runs.CountedRuns: "kleene.history_counting:HistoryCountingState",
    runs.MergedRuns: "kleene.merged_evaluation:MergedEvaluationState",
    runs.VersionedRuns: "baselines.versioned:VersionedState",
    runs.Backtracking: "baselines.backtracking:BacktrackingState",
    runs.Rereading: "baselines.backtracking:RereadingState",
    runs.RunsInStretches: "kleene.stretch_evaluation:StretchEvaluationState",
    runs.RunsInLines: "kleene.line_evaluation:LineEvaluationState",
    runs.Prefixes: "kleene.run_evaluation:RunEvaluationState",
}


def opener(node: object) -> Any:
    """The class of a node."""
    return _class_at(OPENERS[type(node)])


@cache
def _class_at(path: str) -> Any:
    module, name = path.split(":")
    return getattr(import_module(f"sase.engine.operators.{module}"), name)


def open_operators(chosen: OperatorPlan, context: Context) -> list[OperatorState]:
    """Open the operators of a plan, from the bottom up."""
    context.form = opened_form(chosen.form, context.components)
    taken, states = _taken_matches(chosen, context), list[OperatorState]()
    for node in chosen.operators:
        states.append(_opened(node, states, taken, context))
    return states


def _taken_matches(chosen: OperatorPlan, context: Context) -> TakenMatches | None:
    """What ends runs, where those of matches are pruned that overlap."""
    for node in chosen.operators:
        if isinstance(node, runs.PrunedRuns) and node.pruning is not Pruning.NONE:
            is_told = node.pruning is Pruning.FIRST_TOLD
            return TakenMatches(context, node.runs.partitions, are_told=is_told)
    return None


def _opened(
    node: PhysicalOperator,
    below: Sequence[OperatorState],
    taken: TakenMatches | None,
    context: Context,
) -> OperatorState:
    opened: OperatorState
    match node:
        case plan.MatchWindows():
            opened = opener(node)(node.windows, node.above, context)
        case plan.EventScan():
            keys = _more(node, plan.EventScan).values()
            keep = partial(opener(node), *keys, node.construction, context)
            opened = SequenceScanState(node.scan, node.construction, context, keep)
        case nodes.SequenceConstruction():
            opened = opener(node)(node, below[-1], context)
        case plan.SequenceAbsences():
            opened = opener(node)(node.negation, context, partial(_searches, node.searches))
        case plan.BranchUnion():
            branches = [partial(open_operators, each) for each in node.scans]
            opened = opener(node)(node.union, context, branches)
        case plan.SequenceOutput():
            check = opener(node) if type(node) in OPENERS else None
            opened = TransformationState(node.transformation, context, taken, check)
        case runs.PrunedRuns():
            opened = opener(node)(node.runs, context, taken, **_more(node, runs.PrunedRuns))
        case runs.RunAlgorithm():
            opened = opener(node)(node.runs, context)
        case _:
            opened = opener(node)(node, context)
    return opened


def _searches(searches: Sequence[Search], negation: nodes.Negation, context: Context) -> list[Any]:
    """What forbids by matches of negative sequences."""
    return [opener(each)(each.sequence, negation, context) for each in searches]


def _more(node: Any, base: Any) -> dict[str, Any]:
    """The fields of a node beyond those of a base."""
    names = [each.name for each in fields(node)[len(fields(base)) :]]
    return {name: getattr(node, name) for name in names}
