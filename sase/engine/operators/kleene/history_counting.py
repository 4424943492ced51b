"""(NFAb) Count matches by the histories of merged runs: none of them is enumerated, or kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from sase.engine.columns.arrays import grown
from sase.engine.kernels.kleene.run_nodes import PAUSED, Incoming, Machine
from sase.engine.kernels.runs import history_counts as of
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.contract import Context, Counters
from sase.engine.operators.kleene.merged_evaluation import MergedEvaluationState
from sase.planning.nodes import RunEvaluation


class HistoryCountingState(MergedEvaluationState):
    """A running merged evaluation that only counts: it yields no match, and has no checkpoint."""

    kernel: Any = staticmethod(of.count_merged)

    def __init__(self, node: RunEvaluation, context: Context) -> None:
        super().__init__(node, context)
        self._histories = of.Histories(
            np.zeros((len(self._runs.cells), 2), np.int64),
            np.zeros((2 * context.options.stack + context.levels, of.DIGITS + 1), np.int64),
            np.zeros(2, np.int64),
            np.zeros(of.HISTORIES_STATE, np.int64),
        )
        self._count = 0

    @property
    def count(self) -> int:
        """How many matches the events so far complete, of any size."""
        digits = enumerate(self._histories.total.tolist())
        self._count += sum(digit << (of.BITS * place) for place, digit in digits)
        self._histories.total[:] = 0
        return self._count

    def _step(self, machine: Machine, incoming: Incoming) -> int:
        """Apply events until the kernel stops; why it did."""
        why = of.count_merged(
            machine, self._graph, self._runs, self._merging, self._histories, incoming
        )
        if why == of.WIDER:
            self._widen()
            return PAUSED
        return int(why)

    def _widen(self) -> None:
        """Give counts another digit."""
        assert self.count >= 0  # what was counted so far is taken out
        rows, total, state = self._histories.rows, self._histories.total, self._histories.state
        self._check_memory(rows.nbytes + 8 * len(rows))
        state[of.WIDE] = 0
        self._histories = self._histories._replace(
            rows=grown(rows, rows.shape[1] + 1, axis=1), total=grown(total, len(total) + 1)
        )

    def _make_room_for_event(self, key: int) -> None:
        """Make room for what the runs of a partition may become, or for the sums of tables."""
        is_between = not self._histories.state[of.UNDER_WAY]
        if is_between:
            super()._make_room_for_event(key)
            nodes = max(len(self._runs.cells), len(self._histories.tables))
            self._histories = self._histories._replace(tables=grown(self._histories.tables, nodes))
        size, used = len(self._histories.rows), int(self._histories.state[of.TOP])
        if is_between and size - used >= max(self._context.levels, size // 4):
            return
        self._move_tables()
        # The sum of two tables is at most as long as both, which may be the same one.
        used = int(self._histories.state[of.TOP])
        while size < 3 * used + self._context.levels:
            size *= 2
        if size > len(self._histories.rows):
            self._check_memory(size * self._histories.rows[0].nbytes)
            self._histories = self._histories._replace(rows=grown(self._histories.rows, size))

    def _move_tables(self) -> None:
        """Keep the tables of the runs that there are."""
        into = np.zeros_like(self._histories.rows)
        moved = np.full(len(into), NOTHING, np.int64)
        of.move_tables(self._runs, self._histories, into, moved)
        self._histories = self._histories._replace(rows=into)

    def _expire(self, bound: int) -> int:
        """Expire runs; return the oldest event still needed."""
        self._make_room_for_measures()
        spot = self._watermark.position
        return int(of.expire_counted(self._runs, self._merging, self._histories, bound, spot))

    def counters(self) -> Counters:
        """The counters of merged runs, of which none is shown as a match."""
        return {**super().counters(), "matches": self.count}
