"""Fused walks: one kernel finds all matches of series in loaded columns, by stacks of rows.

It executes a postponed evaluation without conditions on several events, except the key.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import WindowKind
from sase.engine.columns import Events
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.kleene.run_nodes import DONE
from sase.engine.operators.batch_stacks import MOST_NUMBERS
from sase.engine.operators.contract import span_of
from sase.engine.operators.kleene.walk_back_evaluation import WalkBackEvaluationState
from sase.engine.operators.kleene.walked_stacks import WalkedStacks
from sase.engine.operators.transformation import Results
from sase.engine.pipeline.fused.lines import BLOCKS, FusedLines, states_by_code
from sase.engine.pipeline.fused.scan import ADMITTED, MOST, reading_of
from sase.planning.cost_values import OF_ROWS
from sase.planning.physical.drive import Need


class FusedWalks(FusedLines):
    """Runs a pipeline over loaded, complete events; it keeps no event in the operators."""

    def _begin(self, events: Events) -> Need | None:
        # Each event is in one component, so it takes one number.
        return Need.FEW_EVENTS if len(events) >= MOST_NUMBERS else super()._begin(events)

    def _pays(self, events: Events) -> bool:
        # The kernel passes over events of other types; only conditions on single events visit all.
        return not self._evaluation.tests_each or super()._pays(events)

    def _codes_of_rows(self, events: Events) -> int:
        return OF_ROWS * self._of_types(events)

    def _begin_evaluation(self, events: Events, keys: int) -> bool:
        return True

    def _run_all(self, events: Events) -> Generator[Results, None, None]:
        """Yield the results of all events: walks from each last event back to all first ones."""
        pipeline, evaluation, count = self._pipeline, self._evaluation, len(events)
        assert isinstance(evaluation, WalkBackEvaluationState)
        whole = self._stacks_of_rows(events)
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

    def _stacks_of_rows(self, events: Events) -> WalkedStacks:
        """Make the stacks of rows for all events."""
        evaluation, pipeline = self._evaluation, self._pipeline
        assert self._arrays is not None
        types, states = self._admitted(events)
        # Kernels read these by address.
        self._columns = [*map(np.ascontiguousarray, (events.ts, types)), *self._arrays]
        reading = reading_of(events, self._columns, states, self._codes.digits)
        window, keys = evaluation.node.window, pipeline.dictionary.size(evaluation.key)
        is_of_time = window is None or window.kind is WindowKind.TIME
        measures = events.ts if is_of_time else events.ts[:0]
        sizes = span_of(window), pipeline.plan.options.stack
        components = pipeline.plan.positives
        return WalkedStacks(components, keys, len(events), reading, measures, *sizes)

    def _admitted(self, events: Events) -> tuple[NDArray[Any], Numbers]:
        """The types of events, and the levels that admit each type by its code plus one.

        If events are tested, the levels that admit an event are its type.
        """
        by_code, evaluation, count = self._states_of(events), self._evaluation, len(events)
        if not evaluation.tests_each:
            return events.types, frozen(by_code.astype(np.int64))
        takes, step = np.empty(count, np.uint8), BLOCKS * self._pipeline.plan.options.block
        for begin in range(0, count, step):
            piece = self._block(events, begin, min(begin + step, count), self._pipeline.at.events)
            states = states_by_code(by_code, events.types[piece.rows])
            takes[piece.rows] = evaluation.narrowed(piece, states)
            rejected = np.count_nonzero(states) - np.count_nonzero(takes[piece.rows])
            evaluation.see(int(rejected))  # all others are seen when they are pushed
        codes = np.arange(-1, 1 << len(self._pipeline.plan.positives), dtype=np.int64)
        return takes, frozen(np.maximum(codes, 0))
