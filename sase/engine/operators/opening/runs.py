"""Open a node that evaluates runs; imported only with such a node, for its many kernels."""

from __future__ import annotations

from collections.abc import Sequence

from sase.engine.operators.baselines.backtracking import BacktrackingState
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
from sase.engine.operators.sets.evaluation import SetEvaluationState
from sase.engine.operators.sets.line_evaluation import SetLineEvaluationState
from sase.engine.operators.taken_matches import TakenMatches
from sase.planning.nodes import RunEvaluation
from sase.planning.run_algorithms import RunAlgorithm


def open_runs(
    node: RunEvaluation,
    algorithm: RunAlgorithm,
    context: Context,
    taken: TakenMatches | None,
    *,
    is_shown: bool,
    ends: Sequence[int] = (),
) -> OperatorState:
    """Open the operator of an algorithm; `is_shown` if its matches are results as they are.

    What overlaps matches that are `taken` it need not find. Behind the levels `ends` a negated end
    may stand.
    """
    match algorithm:
        case RunAlgorithm.PREFIXES:
            return RunEvaluationState(node, context, taken)
        case RunAlgorithm.LINES:
            return LineEvaluationState(node, context, taken, shown=is_shown)
        case RunAlgorithm.STRETCHES:
            return StretchEvaluationState(node, context, taken, shown=is_shown)
        case RunAlgorithm.GROUPS:
            return GroupEvaluationState(node, context, taken)
        case RunAlgorithm.SETS:
            return SetEvaluationState(node, context, taken, ends)
        case RunAlgorithm.WALK_BACK:
            return WalkBackEvaluationState(node, context, taken)
        case RunAlgorithm.REREADING:
            return BacktrackingState(node, context, taken, rereads=True)
        case _:
            assert taken is None, "such a plan is not pruned"
            return _open_unpruned(node, algorithm, context)


def _open_unpruned(node: RunEvaluation, algorithm: RunAlgorithm, context: Context) -> OperatorState:
    """Open an operator that finds all matches, whether or not they overlap others."""
    match algorithm:
        case RunAlgorithm.SET_LINES:
            return SetLineEvaluationState(node, context)
        case RunAlgorithm.GRAPH:
            return MatchSetEvaluationState(node, context)
        case RunAlgorithm.GROUP_GRAPH:
            return GroupMatchSetState(node, context)
        case RunAlgorithm.MERGED:
            return MergedEvaluationState(node, context)
        case RunAlgorithm.COUNTED:
            return HistoryCountingState(node, context)
        case RunAlgorithm.BACKTRACKING:
            return BacktrackingState(node, context)
        case RunAlgorithm.VERSIONED:
            return VersionedState(node, context)
        # Each with kernels that other plans never load.
        case RunAlgorithm.INTERVALS:
            from sase.engine.operators.imprecise.interval_evaluation import IntervalEvaluationState

            return IntervalEvaluationState(node, context)
        case RunAlgorithm.SERIES_JOINS:
            from sase.engine.operators.kleene.tree_evaluation import SeriesTreeEvaluationState

            return SeriesTreeEvaluationState(node, context)
        case RunAlgorithm.SET_JOINS:
            from sase.engine.operators.sets.tree_evaluation import SetTreeEvaluationState

            return SetTreeEvaluationState(node, context)
        case _:
            raise AssertionError(f"{algorithm} is opened with what is pruned")
