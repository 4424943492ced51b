"""Matches of `earliest_maximal` until they are detected: while they may grow they wait."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sase.binding.bound import WindowKind, ranks_of
from sase.engine.blocks.block import Watermark
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.sets.detection_order import sort_detected
from sase.engine.operators.bindings.detection import detected
from sase.engine.operators.bindings.sets import SetBindings, SetForm
from sase.engine.operators.contract import Context, HasTimers
from sase.engine.operators.timer_queue import TimerQueue
from sase.planning.nodes import RunEvaluation


class WaitingMatches(HasTimers):
    """A queue of matches by the time of detection, which sorts those of the same time.

    Behind one of the levels `ends` a negated end may stand, for which a match waits, too.
    """

    def __init__(
        self, node: RunEvaluation, context: Context, form: SetForm, ends: Sequence[int]
    ) -> None:
        window = self._window = node.window
        self._store, self._ends = context.buffer, ends
        self.queue = TimerQueue(context.levels, of_series=True, form=form)
        # Of the same time there may be others, but for ends of windows that it is not in.
        is_of_time = window is not None and window.kind is WindowKind.TIME
        self._inclusive = window is not None and (window.inclusive or not is_of_time)
        self._ranks = frozen(np.array(ranks_of(node.components), np.int64))

    def __len__(self) -> int:
        return len(self.queue)

    def add(self, found: SetBindings) -> None:
        """Queue matches that are complete, or have ended."""
        self.queue.add(found, self._due(found))

    def _due(self, found: SetBindings) -> Numbers:
        """The time of detection of each match."""
        assert found.detected is not None
        if not self._ends:
            return found.detected
        assert self._window is not None
        known = detected(self._store.numbers("ts")[found.first & self._store.mask], self._window)
        is_end = [found.lengths[after + 1 :].sum(axis=0) == 0 for after in self._ends]
        return np.where(np.any(is_end, axis=0), known, found.detected)

    def released(self, watermark: Watermark) -> Iterator[SetBindings]:
        """Yield the matches whose time has come, in the order of results."""
        found = self.queue.released(watermark, inclusive=self._inclusive)
        if found.size:
            yield found[:, self._sorted(found)]

    def _sorted(self, found: SetBindings) -> Numbers:
        order, room = np.arange(found.size), np.empty(found.size, np.int64)
        due = self._due(found)
        sort_detected(found.events, found.slots, found.ends, due, self._ranks, order, room)
        return order

    def next_timer(self) -> int | None:
        """The time at which the first of them is detected."""
        return self.queue.next_timer(inclusive=self._inclusive)

    def oldest(self) -> int | None:
        """An event that is not after any of those that wait."""
        return self.queue.oldest()
