"""(NFAb) Backtracking: advance the runs of a block one by one, and sort its matches."""

from __future__ import annotations

from typing import Any

import numpy as np

from sase.engine.columns.arrays import grown
from sase.engine.kernels.baselines import backtracking as of
from sase.engine.kernels.baselines import rereading as again
from sase.engine.kernels.kleene.run_nodes import DONE, WATCHED, Incoming, Machine
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.contract import Counters
from sase.engine.operators.kleene.evaluation import RunCode
from sase.engine.operators.kleene.match_room import MatchRoom
from sase.engine.operators.kleene.run_operator import NodeStore, RunStep
from sase.engine.snapshots.layout import Count
from sase.engine.snapshots.saved_state import Saved


class BacktrackingStore(NodeStore):
    """Runs that process the events of a block depth first; between pushes none is suspended."""

    layout = NodeStore.layout | dict(backtracked=Count(), reread=Count())
    advance: Any = staticmethod(of.advance_backtracking)
    _search: of.RunSearch

    def __init__(self, code: RunCode, step: RunStep, room: MatchRoom) -> None:
        super().__init__(code, step, room)
        size, self.kernel = code.context.options.stack, self.advance
        self._waiting = np.zeros((size, of.WAITING_WIDTH), np.int64)
        self._matches = np.zeros(size, np.int64)
        self._backtracked = self._reread = 0
        self._is_sorted = False

    def begin_block(self, incoming: Incoming) -> None:
        """Prepare to search the events by partition, each in order."""
        self._search, self._is_sorted = self._begun(incoming), False

    def step(self, machine: Machine, incoming: Incoming) -> int:
        """Apply events, then write the matches of all runs; return why the kernel stopped."""
        if not self._is_sorted:
            why: int = self.advance(machine, self._graph, self._runs, incoming, self._search)
            if why != DONE:
                return why
            self._backtracked += int(self._search.state[of.BACKTRACKED])
            self._reread += int(self._search.state[of.REREAD])
            of.sort_found(self._runs, self._search)
            self._is_sorted = True
        return int(of.write_found(self._runs, self._search, self._room.written))

    def _begun(self, incoming: Incoming) -> of.RunSearch:
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

    def make_room(self, incoming: Incoming) -> None:
        """Make room for the runs that an event may add, and double full arrays."""
        search, state, levels = self._search, self._search.state, self._code.context.levels
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
        self._search = search._replace(
            waiting=self._waiting, matches=self._matches, spare=np.zeros_like(self._matches)
        )

    def counters(self) -> Counters:
        """Count how often a run was put off, and how often events were read again."""
        return {"backtracked": self._backtracked, "reread": self._reread}

    def _take(self, saved: Saved, values: Any) -> None:
        super()._take(saved, values)
        self._backtracked, self._reread = values.backtracked, values.reread


class RereadingStore(BacktrackingStore):
    """Backtracking in which a run that was put off reads the event of its choice again."""

    advance: Any = staticmethod(again.advance_rereading)
