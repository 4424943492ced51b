"""(Basic) The runtime stack of the NFA: a cell for every event, searched back cell by cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from sase.engine.blocks.block import Block
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.baselines.nfa_stack import (
    RuntimeStack,
    StackSearch,
    advance,
    search,
    search_checked,
    search_counted,
    search_tallied,
)
from sase.engine.kernels.expressions.checks import Checks, Tally
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.contract import Context, Counters, Sequences, span_of
from sase.engine.snapshots.layout import SAME, Array, Declared, Record
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved
from sase.planning.plan.nodes import SequenceConstruction


class NfaStack(Declared):
    """The runtime stack, which is never pruned, and the search through it."""

    layout = dict(
        stack=Record(
            **{name: Array("room", ring=0) for name in RuntimeStack._fields[:5]},
            sizes=Array(1),
            path="stack",
        ),
        search=Record(
            at=Array(2),
            choice=Array(SAME),
            visited=Array(SAME, low=0, high=MOST_COUNTED),
        ),
    )

    def __init__(self, above: SequenceConstruction, context: Context) -> None:
        assert not above.elements, "negative components are pushed to active instance stacks"
        room, levels = context.options.stack, context.levels
        arrays = [np.zeros(room, np.int64) for _ in range(5)]
        self.stack = RuntimeStack._make([*arrays, np.zeros(1, np.int64)])
        self._levels, self._is_analyzed = levels, context.options.analyze
        self._search = StackSearch(
            np.array([0, NOTHING]),
            np.zeros(levels, np.int64),
            np.array([span_of(above.window)]),
            np.zeros(levels, np.int64),
        )

    def push(self, block: Block, states: Numbers, measures: Numbers, span: int) -> None:
        """Push a cell for each event of the block, admitted or not."""
        self._make_room(block.end)
        arrivals = block.arrivals(states, np.zeros(len(block), np.int64), measures)
        advance(arrivals, frozen(block.positions), block.end, self._levels, self.stack)

    def walk(self, checks: Checks | None, tally: Tally | None, out: Sequences, written: int) -> int:
        """Write the sequences that end in final states after those written.

        Return how many are written then; it may have paused although there is more, and room for
        it.
        """
        if tally is None:
            searches = search if checks is None else search_checked
        else:
            searches = search_tallied if checks is None else search_counted
        return searches(self.stack, self._search, checks, tally, out, written)

    @property
    def is_paused(self) -> bool:
        """Whether there are more sequences to write or to search."""
        return bool(self._search.at[0] < self.stack.sizes[0])

    def evict(self, bound: int) -> None:
        """Evict nothing: only active instance stacks use a window."""

    def free(self) -> int | None:
        """The first event of all."""
        return 0

    def _make_room(self, cells: int) -> None:
        """Make room for some cells; the place of a cell is its number."""
        room = len(self.stack.active)
        if cells > room:
            more = np.zeros((1 << (cells - 1).bit_length()) - room, np.int64)
            *arrays, sizes = self.stack
            self.stack = RuntimeStack._make([*(np.append(array, more) for array in arrays), sizes])

    def counters(self) -> Counters:
        """Cells."""
        cells = int(self.stack.sizes[0])
        if not self._is_analyzed:
            return {"cells": cells}
        return {"cells": cells, "most_bytes": sum(array.nbytes for array in self.stack)}

    def walked(self) -> Counters:
        """Walks, and cells visited by level; each cell of the last level begins a walk."""
        visited = self._search.visited.tolist()
        return {"walks": visited[-1], "visited": visited}

    def flow(self, tally: Tally, rejected: list[int], built: int) -> Counters:
        """By level the cells that passed, were skipped, or ended a choice."""
        passed = tally.levels.tolist()
        known = zip(self._search.visited.tolist(), passed, rejected, strict=True)
        unfit = [seen - through - turned for seen, through, turned in known]
        return {"passed": passed, "unfit": unfit, "ended": [*passed[1:], 0]}

    def _take(self, saved: Saved, values: Any) -> None:
        part, cells, stack = saved.part("stack"), saved.live.positions, values.stack
        part.check(stack.sizes[0] == cells <= len(stack.row), "there is not a cell for each event")
        part.check_events(stack.row[:cells][stack.entered[:cells] != 0])
        # Between pushes no search is under way, unless LIMIT ended it.
        part, at = saved.part("search"), values.search.at
        is_left = saved.live.is_done and 0 <= at[0] <= cells and NOTHING <= at[1] < self._levels
        part.check(is_left or (at[0] == cells and at[1] == NOTHING), "a search is under way")
        super()._take(saved, values)
