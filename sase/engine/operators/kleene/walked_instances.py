"""The instances of evaluations that walk back: their counters, checkpoints, and oldest event."""

from __future__ import annotations

from typing import Any

import numpy as np

from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.kleene import candidates as of
from sase.engine.kernels.kleene.match_buffer import MatchBuffer
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.contract import Counters
from sase.engine.operators.kleene.evaluation import RunEvaluationBase
from sase.engine.snapshots.layout import SAME, Array
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved


class WalkedInstances(RunEvaluationBase):
    """The base of evaluations that keep instances; each instance leads to earlier ones."""

    layout = RunEvaluationBase.layout | dict(
        cells=Array(None, SAME, path=None),
        known=Array(None, SAME, path="_walk.known"),
        state=Array(SAME, low=0, high=MOST_COUNTED, path="_walk.state"),
    )
    # The number of an instance's fields before those of levels, and the fields of the levels that
    # it may enter.
    fields, begins, takes = of.FIELDS, of.BEGINS, of.TAKES
    _walk: of.WalkBack

    def _live(self) -> Numbers:
        cells, state = self._walk.cells, self._walk.state
        found: Numbers = cells[np.arange(state[of.TAIL], state[of.COUNT]) & (len(cells) - 1)]
        return found

    def _oldest(self) -> int | None:
        """Return the event of the oldest live instance."""
        cells, tail = self._walk.cells, self._walk.state[of.TAIL]
        if tail == self._walk.state[of.COUNT]:
            return None
        return int(cells[tail & (len(cells) - 1), of.ROW])

    @property
    def written(self) -> MatchBuffer:
        """The buffer of the matches that kernels write."""
        buffer: MatchBuffer = self._room.written
        return buffer

    def count_walks(self, instances: int, walks: int, visited: int) -> None:
        """Count instances of a whole input, which are gone after the run, and their walks."""
        state = self._walk.state
        state[of.COUNT] += instances
        state[of.TAIL] = state[of.COUNT]
        state[of.WALKS] += walks
        state[of.VISITED] += visited

    def _counted_walks(self) -> Counters:
        """Count the instances, those that are alive, and the steps of walks."""
        state = self._walk.state
        return {
            "instances": int(state[of.COUNT]),
            "alive": int(state[of.COUNT] - state[of.TAIL]),
            "walks": int(state[of.WALKS]),
            "visited": int(state[of.VISITED]),
            "bound": int(state[of.BOUND]),
            "failed": int(state[of.FAILED]),
        }

    def _encoded(self) -> dict[str, Any]:
        return super()._encoded() | {"cells": self._live()}

    def _take(self, saved: Saved, values: Any) -> None:
        super()._take(saved, values)
        cells, known, state = values.cells, values.known, values.state
        levels, size = self._context.levels, len(self._walk.cells)
        tail, count = state[of.TAIL], state[of.COUNT]
        saved.check(count - tail == len(cells), "there is not a row for each instance")
        numbers = np.arange(tail, count)
        is_still = not (state[of.DEPTH] or state[of.WAYS])
        saved.check(is_still or saved.live.is_done, "a walk is under way")
        saved.check_events(cells[:, of.ROW])
        is_before = cells[:, self.fields : self.fields + levels] < numbers[:, np.newaxis]
        saved.check(bool(is_before.all()), "an instance leads to one that is not before it")
        bits = cells[:, [self.begins, self.takes]]
        saved.check(bool((bits >> levels == 0).all()), "there is no such level")
        saved.check(len(known) % levels == 0, "keys have no row for each level")
        tops = known[:, of.TOP]
        is_there = (tops >= NOTHING) & (tops < count)
        saved.check(bool(is_there.all()), "a key leads to no instance")
        while size < len(cells):
            size *= 2
        ring = np.zeros((size, cells.shape[1]), np.int64)
        ring[numbers & (size - 1)] = cells
        self._walk = self._walk._replace(cells=ring)
