"""Open a node that evaluates runs; imported only with such a node, for its many kernels."""

from __future__ import annotations

from collections.abc import Sequence

from sase.engine.operators.baselines.backtracking import BacktrackingState, RereadingState
from sase.engine.operators.baselines.versioned import VersionedState
from sase.engine.operators.contract import Context, OperatorState
from sase.engine.operators.groups.evaluation import GroupEvaluationState
from sase.engine.operators.groups.match_set_evaluation import GroupMatchSetState
from sase.engine.operators.kleene.history_counting import HistoryCountingState
from sase.engine.operators.kleene.line_evaluation import LineEvaluationState
from sase.engine.operators.kleene.match_set_evaluation import MatchSetEvaluationState
from sase.engine.operators.kleene.merged_evaluation import MergedEvaluationState
from sase.engine.operators.kleene.run_evaluation import RunEvaluationState
from sase.engine.operators.kleene.stretch_evaluation import StretchEvaluationState
from sase.engine.operators.kleene.walk_back_evaluation import WalkBackEvaluationState
from sase.engine.operators.programs.set_program import only_compares
from sase.engine.operators.sets.evaluation import SetEvaluationState
from sase.engine.operators.sets.line_evaluation import SetLineEvaluationState
from sase.engine.operators.taken_matches import TakenMatches
from sase.planning.nodes import Evaluation, RunEvaluation
from sase.planning.stretches import is_in_stretches


def open_runs(
    node: RunEvaluation,
    context: Context,
    taken: TakenMatches | None,
    *,
    is_shown: bool,
    ends: Sequence[int] = (),
) -> OperatorState:
    """Open the operator of an evaluation; `is_shown` if its matches are results as they are.

    What overlaps matches that are `taken` it need not find. Behind the levels `ends` a negated end
    may stand.
    """
    if node.is_of_sets:
        return open_sets(node, context, taken, ends)
    match node.evaluation:
        case _ if node.has_groups:
            if node.evaluation is Evaluation.COLLAPSED:
                assert taken is None, "such a plan is not pruned"
                return GroupMatchSetState(node, context)
            return GroupEvaluationState(node, context, taken)
        case Evaluation.INTERVALS:
            # With kernels that precise time never loads.
            from sase.engine.operators.imprecise.interval_evaluation import IntervalEvaluationState

            return IntervalEvaluationState(node, context)
        case Evaluation.POSTPONED:
            return WalkBackEvaluationState(node, context, taken)
        case Evaluation.NFAB if context.options.lines and (
            is_in_stretches(node) and ((is_shown and taken is None) or not node.is_in_lines)
        ):
            return StretchEvaluationState(node, context, taken, shown=is_shown)
        case Evaluation.NFAB if context.options.lines and node.is_in_lines:
            return LineEvaluationState(node, context, taken, shown=is_shown)
        case Evaluation.NFAB:
            return RunEvaluationState(node, context, taken)
        case Evaluation.REREADING:
            return RereadingState(node, context, taken)
        case _ if taken is not None:
            raise AssertionError("such a plan is not pruned")
        case Evaluation.COLLAPSED | Evaluation.EXPANDED:
            return MatchSetEvaluationState(node, context)
        case Evaluation.BACKTRACKING:
            return BacktrackingState(node, context)
        case Evaluation.VERSIONED:
            return VersionedState(node, context)
        case Evaluation.MERGED:
            return MergedEvaluationState(node, context)
        case Evaluation.COUNTED:
            return HistoryCountingState(node, context)
        case Evaluation.TREE:
            # With kernels that other plans never load.
            from sase.engine.operators.kleene.tree_evaluation import SeriesTreeEvaluationState

            return SeriesTreeEvaluationState(node, context)
        case Evaluation.SES:
            raise AssertionError("what sets there are is evaluated by themselves")


def open_sets(
    node: RunEvaluation, context: Context, taken: TakenMatches | None, ends: Sequence[int]
) -> OperatorState:
    """Open the evaluation of a pattern with sets, or of `earliest_maximal`."""
    if node.evaluation is Evaluation.TREE:
        # With kernels that other plans never load.
        from sase.engine.operators.sets.tree_evaluation import SetTreeEvaluationState

        return SetTreeEvaluationState(node, context)
    if node.evaluation is Evaluation.COLLAPSED:
        return MatchSetEvaluationState(node, context)
    if context.options.lines and node.is_in_lines and only_compares(node, context):
        return SetLineEvaluationState(node, context)
    return SetEvaluationState(node, context, taken, ends)
