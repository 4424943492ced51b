"""Fused walks: one kernel finds all matches of series in loaded columns, by stacks of rows.

It executes a postponed evaluation without conditions on several events, except the key.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial

from sase.engine.columns import Events
from sase.engine.kernels.kleene.run_nodes import DONE
from sase.engine.operators.batch_stacks import MOST_NUMBERS
from sase.engine.operators.kleene.walk_back_evaluation import WalkBackEvaluationState
from sase.engine.operators.kleene.walked_stacks import WalkedStacks
from sase.engine.operators.transformation import Results
from sase.engine.pipeline.fused.lines import FusedLines
from sase.engine.pipeline.fused.scan import ADMITTED, MOST
from sase.planning.physical.drive import Need


class FusedWalks(FusedLines):
    """Runs a pipeline over loaded, complete events; it keeps no event in the operators."""

    def _begin(self, events: Events) -> Need | None:
        # Each event is in one component, so it takes one number.
        return Need.FEW_EVENTS if len(events) >= MOST_NUMBERS else super()._begin(events)

    def _pays(self, events: Events) -> bool:
        # The kernel passes over events of other types; only conditions on single events visit all.
        return not self._evaluation.tests_each or super()._pays(events)

    def _begin_evaluation(self, events: Events, keys: int) -> bool:
        return True

    def _is_by_rows(self, events: int) -> bool:
        return True

    def _run_by_rows(self, events: Events) -> Generator[Results, None, None]:
        """Yield the results of all events: walks from each last event back to all first ones."""
        pipeline, evaluation, count = self._pipeline, self._evaluation, len(events)
        assert isinstance(evaluation, WalkBackEvaluationState)
        components = pipeline.plan.positives
        whole = self._stacks_of_rows(events, partial(WalkedStacks, components))
        at, position, begin, why = pipeline.at, pipeline.at.events, 0, DONE
        pipeline.warnings.note_types(events, slice(0, count))
        while begin < count or why != DONE:
            end = min(begin + MOST, count)
            found = whole.walk(begin, end, position, ADMITTED, evaluation.written)
            begin, why = found.reached, found.why
            evaluation.see(found.admitted)
            at.events = at.numbers = position + begin
            yield from self._results(evaluation.flushed(why))
            pipeline.watch(at.events)
            pipeline.check(0)
        pushed, _, visited = whole.counts
        evaluation.count_walks(int(pushed.sum()), whole.finals, int(visited.sum()))
