"""(NFAb) Backtracking evaluation: advance the runs of a block one by one, and sort its matches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sase.engine.columns.arrays import grown
from sase.engine.kernels.baselines import backtracking as of
from sase.engine.kernels.baselines import rereading as again
from sase.engine.kernels.kleene.run_nodes import CROWDED, DONE, WATCHED, Incoming
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.contract import Context, Counters
from sase.engine.operators.kleene.run_evaluation import RunEvaluationState
from sase.engine.operators.taken_matches import TakenMatches
from sase.engine.snapshots.saved_state import Saved
from sase.planning.nodes import RunEvaluation


class BacktrackingState(RunEvaluationState):
    """A running evaluation, depth first, which `rereads` the events at which runs were put off."""

    def __init__(
        self,
        node: RunEvaluation,
        context: Context,
        taken: TakenMatches | None = None,
        *,
        rereads: bool = False,
    ) -> None:
        self.kernel = again.advance_rereading if rereads else of.advance_backtracking
        super().__init__(node, context, taken)
        size = context.options.stack
        self._waiting = np.zeros((size, of.WAITING_WIDTH), np.int64)
        self._matches = np.zeros(size, np.int64)
        self._backtracked = self._reread = 0

    def _advance(self, incoming: Incoming) -> Iterator[Bindings]:
        """Yield the matches that events complete, once all runs have met all of them."""
        search = self._search(incoming)
        machine, state = self._program.machine(), search.state
        why = NOTHING
        while why != DONE:
            why = self.kernel(machine, self._graph, self._runs, incoming, search)
            self._context.check(0)
            if why == CROWDED:
                search = self._make_room(incoming, search)
        self._backtracked += int(state[of.BACKTRACKED])
        self._reread += int(state[of.REREAD])
        of.sort_found(self._runs, search)
        why = NOTHING
        while why != DONE:
            why = of.write_found(self._runs, search, self._room.written)
            yield from self._flush(why)

    def _search(self, incoming: Incoming) -> of.RunSearch:
        """The events by partition, each in order."""
        is_met = np.asarray(incoming.keys) >= 0
        if self._runs.rules.strategy != WATCHED:
            is_met &= (incoming.begins | incoming.takes) != 0
        events = np.flatnonzero(is_met)
        order = events[np.argsort(incoming.keys[events], kind="stable")]
        keys = incoming.keys[order]
        stops = np.searchsorted(keys, keys, side="right").astype(np.int64)
        spare, state = np.zeros_like(self._matches), np.zeros(of.STATE, np.int64)
        state[of.ENDS] = NOTHING
        return of.RunSearch(order, stops, self._waiting, self._matches, spare, state)

    def _make_room(self, incoming: Incoming, search: of.RunSearch) -> of.RunSearch:
        """Make room for what an event may make, and double what is full."""
        state, levels = search.state, self._context.levels
        key, most = NOTHING, 0
        if state[of.AT] < len(search.order):
            key = int(incoming.keys[search.order[state[of.AT]]])
            most = int(self._runs.counts[key])
        self._make_room_for_nodes(levels)
        waiting, found = int(state[of.WAITING]) + most + levels, int(state[of.FOUND]) + levels
        if waiting >= len(self._waiting):
            self._waiting = grown(self._waiting, 2 * waiting)
        if found >= len(self._matches):
            self._matches = grown(self._matches, 2 * found)
        return search._replace(
            waiting=self._waiting, matches=self._matches, spare=np.zeros_like(self._matches)
        )

    def counters(self) -> Counters:
        """The counters of runs, how often one was put off, and events were read once more."""
        return {**super().counters(), **self._counts()}

    def checkpoint(self) -> dict[str, Any]:
        """The runs; between pushes none is suspended."""
        return {**super().checkpoint(), **self._counts()}

    def restore(self, saved: Saved) -> None:
        """Continue from a checkpoint."""
        super().restore(saved)
        self._backtracked = saved.part("backtracked").count()
        self._reread = saved.part("reread").count()

    def _counts(self) -> dict[str, int]:
        return {"backtracked": self._backtracked, "reread": self._reread}
