"""The number of matches, by the histories of merged runs."""

from __future__ import annotations

from sase.engine.columns import Events
from sase.engine.operators.kleene.history_counting import HistoryCountingState
from sase.engine.pipeline.batch import RowsInMemory
from sase.engine.pipeline.limits import RunGuard, check_of, working
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.report import Report
from sase.planning.plan import EnginePlan


class CountedHistories:
    """The number of matches of a plan that counts the histories of merged runs."""

    reasons: tuple[str, ...] = ()

    def __init__(
        self, plan: EnginePlan, rows: RowsInMemory, events: Events, guard: RunGuard | None = None
    ) -> None:
        self._rows = rows
        self._pipeline = Pipeline(plan, check=check_of(guard))
        self._pipeline.bind_input(rows.inputs, events)
        with working(guard):
            for _ in self._pipeline.results(events):
                raise AssertionError("what counts histories finds no match")
        evaluation = self._pipeline.operators[0]
        assert isinstance(evaluation, HistoryCountingState)
        self._evaluation = evaluation

    def count(self) -> int:
        """The exact number."""
        return self._evaluation.count

    @property
    def report(self) -> Report:
        """The report of the run."""
        return self._rows.told(self._pipeline.report())
