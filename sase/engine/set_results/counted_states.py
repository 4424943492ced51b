"""The number of all matches of a pattern with sets or groups, by the states of its automaton."""

from __future__ import annotations

from sase.engine.operators.kleene.match_set_evaluation import MatchSetEvaluationState
from sase.engine.pipeline.limits import working
from sase.engine.set_results.collected import CollectedEvents


class CountedStates(CollectedEvents):
    """The matches of a plan that collects events, which are paths through states."""

    def count(self, most: int) -> int:
        """The exact number; `most` bounds only matches that are looked at."""
        evaluation = self._pipeline.operators[0]
        assert isinstance(evaluation, MatchSetEvaluationState)
        with working(self._guard):
            return evaluation.count()
