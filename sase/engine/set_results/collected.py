"""The base of match sets whose plan only collects events."""

from __future__ import annotations

from sase.engine.columns import Events
from sase.engine.pipeline.batch import RowsInMemory
from sase.engine.pipeline.limits import RunGuard, check_of, working
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.report import Report
from sase.engine.results.batch import MatchBatch
from sase.planning.plan import EnginePlan


class CollectedEvents:
    """A run that has read all events, without finding matches."""

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

    @property
    def report(self) -> Report:
        """The report of the run, with overflows in conditions on neighbours."""
        context = self._pipeline.context
        for overflows in context.overflows:
            overflows.collect(lambda place: int(context.buffer.numbers("position")[place]))
        if context.overflows:
            self._pipeline.warnings.note_rows(self._pipeline.state.history)
        return self._rows.told(self._pipeline.report())

    @property
    def nothing(self) -> MatchBatch:
        """An empty batch."""
        return MatchBatch(self._pipeline.shape, self._pipeline.state.history)
