"""What a node that evaluates runs becomes when it is opened.

These are imported when there is such a node: they bring half of all kernels, and a query without
series or strategies begins that much sooner.
"""

from __future__ import annotations

from sase.engine.operators.baselines.backtracking import BacktrackingState
from sase.engine.operators.contract import Context, OperatorState
from sase.engine.operators.line_evaluation import LineEvaluationState
from sase.engine.operators.match_set_evaluation import MatchSetEvaluationState
from sase.engine.operators.merged_evaluation import MergedEvaluationState
from sase.engine.operators.run_evaluation import RunEvaluationState
from sase.engine.operators.swept_evaluation import SweptEvaluationState
from sase.engine.operators.walk_back_evaluation import WalkBackEvaluationState
from sase.planning.nodes import Evaluation, RunEvaluation


def opened_runs(node: RunEvaluation, context: Context, *, shown: bool) -> OperatorState:
    """The running operator, by how runs are evaluated, and whether matches are shown as such."""
    match node.evaluation:
        case Evaluation.POSTPONED:
            return WalkBackEvaluationState(node, context)
        case Evaluation.COLLAPSED | Evaluation.EXPANDED:
            return MatchSetEvaluationState(node, context)
        case Evaluation.BACKTRACKING:
            return BacktrackingState(node, context)
        case Evaluation.MERGED:
            return MergedEvaluationState(node, context)
        case _ if node.never_forks:
            lines = LineEvaluationState if context.dictionary.streaming else SweptEvaluationState
            return lines(node, context, shown=shown)
        case _:
            return RunEvaluationState(node, context)
