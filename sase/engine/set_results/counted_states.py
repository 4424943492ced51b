"""The number of matches of a pattern with sets or groups, by states of its automaton."""

from __future__ import annotations

from sase.engine.operators.kleene.match_set_evaluation import MatchSetEvaluationState
from sase.engine.pipeline.limits import working
from sase.engine.set_results.collected import CollectedEvents


class CountedStates(CollectedEvents):
    """The matches of a plan that collects events, as paths through states."""

    def count(self, most: int) -> int:
        """The exact number; `most` is not needed."""
        evaluation = self._pipeline.operators[0]
        assert isinstance(evaluation, MatchSetEvaluationState)
        with working(self._guard):
            return evaluation.count()
