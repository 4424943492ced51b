"""The number of all matches of a pattern with sets or groups, by the states of its automaton."""

from __future__ import annotations

from sase.engine.columns import Events
from sase.engine.operators.kleene.match_set_evaluation import MatchSetEvaluationState
from sase.engine.pipeline.batch import RowsInMemory
from sase.engine.pipeline.limits import RunGuard, check_of, working
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.plan import EnginePlan
from sase.engine.report import Report
from sase.planning.nodes import RunEvaluation, require


class CountedStates:
    """The matches of a plan that collects events, which are paths through states."""

    reasons: tuple[str, ...] = ()

    def __init__(
        self, plan: EnginePlan, rows: RowsInMemory, events: Events, guard: RunGuard | None = None
    ) -> None:
        self._rows, self._guard = rows, guard
        self._pipeline = Pipeline(plan, check=check_of(guard))
        self._pipeline.bind_input(rows.inputs, events)
        with working(guard):
            for _ in self._pipeline.results(events):
                raise AssertionError("a collapsed evaluation lists no match")

    @staticmethod
    def is_of(plan: EnginePlan) -> bool:
        """Whether states count what a plan collects, and not a graph of its events."""
        runs = require(plan.operators, RunEvaluation)
        return runs.has_sets or runs.has_groups

    def count(self, most: int) -> int:
        """The exact number; `most` bounds only matches that are looked at."""
        evaluation = self._pipeline.operators[0]
        assert isinstance(evaluation, MatchSetEvaluationState)
        with working(self._guard):
            return evaluation.count()

    @property
    def report(self) -> Report:
        """The report of the run."""
        return self._rows.told(self._pipeline.report())
