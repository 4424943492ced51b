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
from sase.planning.physical import operators as plan
from sase.planning.physical import runs
from sase.planning.physical.operators import OperatorPlan, PhysicalOperator, Search
from sase.planning.physical.run_algorithm import PrunedRuns, Pruning, RunAlgorithm
from sase.planning.plan import nodes

# A run operator has a store, which keeps runs, and a sink, which makes matches of them. A match
# graph has its edges. A walk may have joined events.
RUNS, SERIES = "kleene.run_operator:RunOperator", " kleene.run_operator:SeriesSink"
NODES = RUNS + " kleene.run_operator:NodeStore"
STRETCHES = RUNS + " kleene.stretch_store:StretchStore"
WALK = "kleene.walk_back_evaluation:WalkBackEvaluationState"
GRAPH = "kleene.match_set_evaluation:MatchSetEvaluationState"
# For each node the module and the class, then those of its parts. A class is imported with the
# first such node, because of its kernels. The class of a scan keeps events. The class of an output
# checks matches of series.
OPENERS: Mapping[type, str] = {
    plan.MatchWindows: "match_window:MatchWindowState",
    plan.StackScan: "active_stacks:ActiveStacks",
    plan.MultiStackScan: "baselines.multi_stacks:MultiStacks",
    plan.RuntimeStackScan: "baselines.nfa_stack:NfaStack",
    plan.LeafScan: "join_tree:JoinTree",
    nodes.SequenceConstruction: "sequence_construction:SequenceConstructionState",
    nodes.Selection: "conditions:SelectionState",
    nodes.Window: "conditions:WindowState",
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
    runs.MatchGraph: GRAPH + " kleene.match_set_evaluation:GraphEdges",
    runs.ExpandedGraph: GRAPH + " kleene.match_set_evaluation:ListedEdges",
    runs.GroupGraph: GRAPH + " groups.graph_edges:GroupEdges",
    runs.SetLines: RUNS + " sets.row_store:RowStore sets.run_sinks:RowSink",
    runs.SetRuns: NODES + " sets.run_sinks:SetSink",
    runs.GroupRuns: NODES + " groups.run_sinks:GroupSink",
    runs.IntervalWalk: "imprecise.interval_evaluation:IntervalEvaluationState",
    runs.PostponedWalk: WALK,
    runs.SeriesJoins: WALK + " kleene.joined_events:JoinedEvents",
    runs.CountedRuns: RUNS + " kleene.counted_store:CountedStore" + SERIES,
    runs.MergedRuns: RUNS + " kleene.merged_store:MergedStore" + SERIES,
    runs.VersionedRuns: RUNS + " baselines.versioned_store:VersionedStore" + SERIES,
    runs.Backtracking: RUNS + " baselines.backtracking_store:BacktrackingStore" + SERIES,
    runs.Rereading: RUNS + " baselines.backtracking_store:RereadingStore" + SERIES,
    runs.RunsInStretches: STRETCHES + " kleene.stretch_store:StretchSink",
    runs.RunsInLines: RUNS + " kleene.line_store:LineStore kleene.line_store:LineSink",
    runs.Prefixes: NODES + SERIES,
}


def opener(node: object) -> Any:
    """Return the class of a node."""
    return classes_at(OPENERS[type(node)])[0]


def parts(node: object) -> list[Any]:
    """Return the classes of the parts of a node's operator."""
    return classes_at(OPENERS[type(node)])[1:]


@cache
def classes_at(paths: str) -> list[Any]:
    """Return the named classes."""
    named = (path.split(":") for path in paths.split())
    return [getattr(import_module(f"sase.engine.operators.{m}"), name) for m, name in named]


def open_operators(chosen: OperatorPlan, context: Context) -> list[OperatorState]:
    """Open the operators of a plan, from the bottom up."""
    context.form = opened_form(chosen.form, context.components)
    taken, states = _taken_matches(chosen, context), list[OperatorState]()
    for node in chosen.operators:
        states.append(_opened(node, states, taken, context))
    return states


def _taken_matches(chosen: OperatorPlan, context: Context) -> TakenMatches | None:
    """Return the taken matches, which end runs, if overlapping matches are pruned."""
    for node in chosen.operators:
        if isinstance(node, PrunedRuns) and node.pruning is not Pruning.NONE:
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
        case PrunedRuns():
            more = _more(node, PrunedRuns)
            opened = opener(node)(node.runs, context, *parts(node), taken=taken, **more)
        case RunAlgorithm():
            opened = opener(node)(node.runs, context, *parts(node))
        case _:
            opened = opener(node)(node, context)
    return opened


def _searches(searches: Sequence[Search], negation: nodes.Negation, context: Context) -> list[Any]:
    """Return the searches that forbid by matches of negative sequences."""
    return [opener(each)(each.sequence, negation, context) for each in searches]


def _more(node: Any, base: Any) -> dict[str, Any]:
    """Return the fields of a node beyond those of a base."""
    names = [each.name for each in fields(node)[len(fields(base)) :]]
    return {name: getattr(node, name) for name in names}
