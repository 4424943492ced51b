"""(WD) Window: lets the sequences pass whose first and last event lie close enough."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sase.engine.kernels.sentinels import EARLIEST
from sase.engine.operators.contract import Context, Counters, Sequences, span_of
from sase.engine.operators.filter import SequenceFilter
from sase.planning.nodes import Window


class WindowState(SequenceFilter):
    """A running window."""

    def __init__(self, node: Window, context: Context) -> None:
        super().__init__()
        self._store, self._span = context.buffer, span_of(node.window)
        self._measure = context.keep_measure(node.window)
        self._is_analyzed = context.options.analyze

    def passes(self, sequences: Sequences) -> NDArray[np.bool_]:
        """Whether the span of each sequence is within the window."""
        measures, mask = self._store.numbers(self._measure), self._store.mask
        first, last = measures[sequences[0] & mask], measures[sequences[-1] & mask]
        # The difference may leave int64, the least first measure may not.
        least = np.where(last < EARLIEST + self._span, EARLIEST, last - self._span)
        return np.asarray(first >= least)

    def analysis(self) -> Counters:
        """Sequences turned away."""
        return {"rejected": {"window": self._seen - self._passed}} if self._is_analyzed else {}
