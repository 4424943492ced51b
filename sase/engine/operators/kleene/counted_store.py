"""(NFAb) Count the matches of merged runs by their histories, without a list of matches."""

from __future__ import annotations

import numpy as np

from sase.engine.columns.arrays import grown
from sase.engine.kernels.kleene.run_nodes import PAUSED, Incoming, Machine
from sase.engine.kernels.runs import history_counts as of
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.contract import Counters
from sase.engine.operators.kleene.evaluation import RunCode
from sase.engine.operators.kleene.match_room import MatchRoom
from sase.engine.operators.kleene.merged_store import MergedStore
from sase.engine.operators.kleene.run_operator import RunStep


class CountedStore(MergedStore):
    """Merged runs that only count their matches: none is written, and there is no checkpoint."""

    def __init__(self, code: RunCode, step: RunStep, room: MatchRoom) -> None:
        super().__init__(code, step, room)
        self.kernel, context = of.count_merged, code.context
        self._histories = of.Histories(
            np.zeros((len(self._runs.cells), 2), np.int64),
            np.zeros((2 * context.options.stack + context.levels, of.DIGITS + 1), np.int64),
            np.zeros(2, np.int64),
            np.zeros(of.HISTORIES_STATE, np.int64),
        )
        self._count = 0

    @property
    def count(self) -> int:
        """The number of matches that the events so far complete; it may exceed 64 bits."""
        digits = enumerate(self._histories.total.tolist())
        self._count += sum(digit << (of.BITS * place) for place, digit in digits)
        self._histories.total[:] = 0
        return self._count

    def step(self, machine: Machine, incoming: Incoming) -> int:
        """Apply events until the kernel stops; return its reason."""
        why = of.count_merged(
            machine, self._graph, self._runs, self._merging, self._histories, incoming
        )
        if why == of.WIDER:
            self._widen()
            return PAUSED
        return int(why)

    def _widen(self) -> None:
        """Widen all counts by a digit."""
        assert self.count >= 0  # `count` moves the total out of the arrays
        rows, total, state = self._histories.rows, self._histories.total, self._histories.state
        self._code.check_memory(rows.nbytes + 8 * len(rows))
        state[of.WIDE] = 0
        self._histories = self._histories._replace(
            rows=grown(rows, rows.shape[1] + 1, axis=1), total=grown(total, len(total) + 1)
        )

    def make_room(self, incoming: Incoming) -> None:
        """Make room for the runs that an event may make, or for the sums of tables."""
        is_between = not self._histories.state[of.UNDER_WAY]
        if is_between:
            super().make_room(incoming)
            nodes = max(len(self._runs.cells), len(self._histories.tables))
            self._histories = self._histories._replace(tables=grown(self._histories.tables, nodes))
        size, used = len(self._histories.rows), int(self._histories.state[of.TOP])
        levels = self._code.context.levels
        if is_between and size - used >= max(levels, size // 4):
            return
        self._move_tables()
        # The sum of two tables has at most the rows of both; both may be the same table.
        used = int(self._histories.state[of.TOP])
        while size < 3 * used + levels:
            size *= 2
        if size > len(self._histories.rows):
            self._code.check_memory(size * self._histories.rows[0].nbytes)
            self._histories = self._histories._replace(rows=grown(self._histories.rows, size))

    def _move_tables(self) -> None:
        """Keep only the tables of runs and fresh nodes."""
        into = np.zeros_like(self._histories.rows)
        moved = np.full(len(into), NOTHING, np.int64)
        of.move_tables(self._runs, self._histories, into, moved)
        self._histories = self._histories._replace(rows=into)

    def expire(self, bound: int) -> int:
        """Expire runs; return the oldest event still needed, NOTHING if there is none."""
        counted = self._merging, self._histories
        return int(of.expire_counted(self._runs, *counted, bound, self.spot))

    def counters(self) -> Counters:
        """Count merged runs, and matches, none of which is written."""
        return {**super().counters(), "matches": self.count}
