"""(SC←) Sequence construction: build sequences by walks back through the stacks.

A walk begins at each event of the last component. Later operators check the conditions that are
left, so not every sequence is a match.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sase.binding.bound import Condition
from sase.engine.blocks.block import Block, Watermark
from sase.engine.columns.result_memory import ResultMemory
from sase.engine.kernels.expressions.checks import Checks, Tally
from sase.engine.operators.conditions import ResidualFilter
from sase.engine.operators.contract import Context, Counters, Sequences
from sase.engine.operators.sequence_scan import SequenceScanState
from sase.engine.snapshots.layout import Count, Declared
from sase.planning.plan.nodes import SequenceConstruction
from sase.planning.plan.trees import part_of


class SequenceConstructionState(Declared):
    """A running sequence construction, which writes chunk by chunk into one buffer."""

    layout = dict(built=Count())

    def __init__(
        self, node: SequenceConstruction, scan: SequenceScanState, context: Context
    ) -> None:
        self._scan, self._limit, self._check = scan, node.limit, context.check
        # Fixed values are checked by the scan.
        tests = [] if context.is_alone else [t for t in node.equivalences if t.value is None]
        groups = _by_join(node, context) if node.joins else _by_level(node, context)
        self._checking = ResidualFilter(context, tests, groups, context.levels)
        room = context.options.chunk if self._limit is None else self._limit
        self.room = np.empty((context.levels, min(room, context.options.chunk)), np.int64)
        self._memory = ResultMemory()
        self._built = self._beyond = 0

    def push(self, block: Block, below: Iterator[Sequences]) -> Iterator[Sequences]:
        """Yield the sequences that a block completes."""
        return self.construct()

    def construct(self, written: int | None = None) -> Iterator[Sequences]:
        """Yield the sequences of new final events; some may be `written` to `room` already."""
        tally = self._checking.tally
        checks = None if self._checking.is_empty else self._checking.checks()
        while self._limit is None or self._built < self._limit:
            if written is None:
                written = self._walked(checks, tally)
            is_done = written < self.room.shape[1]
            if self._limit is not None:
                left = self._limit - self._built
                self._beyond += max(written - left, 0)
                written = min(written, left)
            if written:
                yield self.detach(written)
            if is_done:
                return
            written = None

    def _walked(self, checks: Checks | None, tally: Tally | None) -> int:
        """Write sequences until there are no more, or no room; return how many are written."""
        stacks, room = self._scan.stacks, self.room.shape[1]
        written = stacks.walk(checks, tally, self.room, 0)
        self._check(0)
        while written < room and stacks.is_paused:
            written = stacks.walk(checks, tally, self.room, written)
            self._check(0)
        return written

    def detach(self, written: int) -> Sequences:
        """Split off the sequences written to `room`."""
        self._built += written
        found, self.room = self._memory.detach(self.room, written)
        return found

    @property
    def tally(self) -> Tally | None:
        """The counters of ANALYZE by level."""
        return self._checking.tally

    def advance(self, watermark: Watermark, below: Iterator[Sequences]) -> Iterator[Sequences]:
        """Yield nothing of its own: time completes no sequence."""
        return below

    def horizon(self) -> int | None:
        """None: nothing is kept between blocks."""
        return None

    def counters(self) -> Counters:
        """Walks, instances visited by level, and sequences."""
        checking, stacks = self._checking, self._scan.stacks
        found = {**stacks.walked(), "sequences": self._built}
        if checking.tally is None:
            return found
        flow = stacks.flow(checking.tally, checking.rejected_at, self._built + self._beyond)
        beyond = {} if self._limit is None else {"beyond_limit": self._beyond}
        rest = {"rejected": checking.rejected, **beyond, "most_bytes": self.room.nbytes}
        return {**found, **flow, **rest}


def _by_level(node: SequenceConstruction, context: Context) -> list[list[Condition]]:
    """The conditions by the level at which the walk, which begins at the last, decides them."""
    found: list[list[Condition]] = [[] for _ in range(context.levels)]
    for conjunct in node.conditions:
        first = min(context.level_of(component) for component in conjunct.references)
        assert first < context.levels - 1, "a condition on one event is for the scan"
        found[first].append(conjunct.condition)
    return found if node.conditions else []


def _by_join(node: SequenceConstruction, context: Context) -> list[list[Condition]]:
    """The conditions by the first join of a tree that binds all of their events."""
    found: list[list[Condition]] = [[] for _ in node.joins]
    for conjunct in node.conditions:
        found[part_of(node.joins, context.components, conjunct)].append(conjunct.condition)
    return found if node.conditions else []
