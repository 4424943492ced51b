"""Open a node that evaluates runs; imported only with such a node, for its many kernels."""

from __future__ import annotations

from sase.engine.operators.baselines.backtracking import BacktrackingState, RereadingState
from sase.engine.operators.contract import Context, OperatorState
from sase.engine.operators.line_evaluation import LineEvaluationState
from sase.engine.operators.match_set_evaluation import MatchSetEvaluationState
from sase.engine.operators.merged_evaluation import MergedEvaluationState
from sase.engine.operators.run_evaluation import RunEvaluationState
from sase.engine.operators.walk_back_evaluation import WalkBackEvaluationState
from sase.planning.nodes import Evaluation, RunEvaluation


def open_runs(
    node: RunEvaluation, context: Context, *, is_shown: bool, is_apart: bool
) -> OperatorState:
    """Open the operator of an evaluation; `is_shown` if its matches are results as they are.

    With `is_apart` it finds those alone that do not overlap an earlier one of their partition.
    """
    match node.evaluation:
        case Evaluation.POSTPONED:
            return WalkBackEvaluationState(node, context, apart=is_apart)
        case Evaluation.NFAB if is_apart:
            return RunEvaluationState(node, context, apart=True)
        case Evaluation.REREADING:
            return RereadingState(node, context, apart=is_apart)
        case _ if is_apart:
            raise AssertionError("such a plan is not pruned")
        case Evaluation.COLLAPSED | Evaluation.EXPANDED:
            return MatchSetEvaluationState(node, context)
        case Evaluation.BACKTRACKING:
            return BacktrackingState(node, context)
        case Evaluation.MERGED:
            return MergedEvaluationState(node, context)
        case _ if node.never_forks and context.options.lines:
            return LineEvaluationState(node, context, shown=is_shown)
        case _:
            return RunEvaluationState(node, context)
