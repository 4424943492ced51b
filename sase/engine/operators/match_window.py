"""(MW) Match window: narrow blocks to the events of windows that may hold a match."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sase.binding.bound import Condition, WindowKind, elements_of
from sase.engine.blocks.block import Block, Watermark
from sase.engine.columns.arrays import Mask, Numbers, grown
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.scan.match_windows import (
    BITS,
    COUNTS,
    WINDOWS,
    link,
    mark_starts,
    mark_windows,
)
from sase.engine.kernels.sentinels import EARLIEST, LATEST, NOTHING
from sase.engine.operators.conditions import ScanFilter
from sase.engine.operators.contract import (
    Context,
    Counters,
    bound_of,
    measures_of,
    span_of,
)
from sase.engine.operators.kleene.evaluation import conditions_on_each
from sase.engine.operators.sequence_scan import conditions_of_scan
from sase.engine.snapshots.layout import Array, Blocks, Count, Declared, Each
from sase.engine.snapshots.saved_state import Saved
from sase.planning.plan.match_windows import MatchWindow, fewest_events, first_levels, steps_of
from sase.planning.plan.nodes import Operator, RunEvaluation, SequenceConstruction, SequenceScan

_NO_LINKS = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))


class MatchWindowState(Declared):
    """Narrows each block, before any of its events are kept.

    An event is passed on with its own block or not at all. So if a window reaches beyond a block,
    it is assumed that all needed later events will come.
    """

    layout = dict(
        latest=Array(None),
        reached=Blocks("live.end"),
        windows=Array(COUNTS, low=0, path="_counts"),
        counts=Each(Count(), path=None),
    )

    def __init__(self, node: MatchWindow, above: Sequence[Operator], context: Context) -> None:
        self.node, self._context, self._span = node, context, span_of(node.window)
        self._filter = ScanFilter(context, _conditions(above, context))
        self._key = context.dictionary.key(node.partitions)
        components = context.components
        self._positive = (1 << len(components)) - 1
        self._steps = steps_of(components) if node.counts else ()
        self._slots = _slots(self._steps)
        first = first_levels(components) if node.counts else range(len(components))
        self._first = sum(1 << level for level in first)
        self._fewest = fewest_events(components) if node.counts else 0
        # Whether an event of the first component is always the first of a match.
        is_alone = len(elements_of(components)[0]) == 1
        self._begins = node.counts and is_alone and components[0].maximum == 1
        self._latest = np.zeros(0, np.int64)
        # The last measure and the first event of blocks that the window reaches.
        self._reached: deque[tuple[int, int]] = deque()
        self._counts = np.zeros(COUNTS, np.int64)
        self._seen = self._filtered = self._keyless = self._out = 0
        # The end position of the events, if it is certain.
        self.end: int | None = None

    def push(self, block: Block, below: Iterator[Sequence[object]]) -> Iterator[Sequence[object]]:
        """Narrow a block; no match is yielded here."""
        states = self._filter.states(block)
        takes, keys = states & self._positive, block.codes(self._key)
        is_taken = takes != 0
        taken = int(np.count_nonzero(is_taken))
        if taken < len(takes):
            keys = np.where(is_taken, keys, NOTHING)
        measures = np.ascontiguousarray(measures_of(block, self.node.window))
        self._count(block, states, taken, keys)
        starts = self._starts(block, takes, keys, measures)
        inside = self._inside(keys, measures, starts)
        self._remember(block, measures)
        if not inside.all():
            states = np.where(inside, states, states & ~self._positive)
        if self._begins:
            states = np.where(starts, states, states & ~1)
        block.narrow(np.flatnonzero(states), states)
        self._out += len(block)
        return iter(())

    def _starts(self, block: Block, takes: Numbers, keys: Numbers, measures: Numbers) -> Mask:
        """The events that begin a window that may hold a match."""
        if not (self.node.counts or self._context.options.analyze):
            each: Mask = keys >= 0
            self._counts[WINDOWS] += np.count_nonzero(each)
            return each
        size, starts = self._context.dictionary.size(self._key), np.empty(len(keys), np.bool_)
        count = sum(map(len, self._steps))
        ends = np.zeros((size, count + 1), np.int64)
        links = _NO_LINKS
        if self._context.options.analyze or count > len(self._steps):
            before, ranks = np.empty((2, len(keys)), np.int64)
            links = before, ranks, np.empty(size, np.int64)
            link(keys, links[2], before, ranks)
        mark_starts(
            takes,
            keys,
            measures,
            self._span,
            self._behind(block),
            self._first,
            self._fewest,
            self._slots,
            np.cumsum([0, *map(len, self._steps)]),
            links,
            ends,
            starts,
            self._counts,
        )
        return starts

    def _behind(self, block: Block) -> int:
        """The least measure of events to come."""
        if self.end is not None and block.end >= self.end:
            return LATEST
        if self.node.window.kind is WindowKind.EVENTS:
            return block.end
        return int(block.events.ts[block.range.end - 1])

    def _inside(self, keys: Numbers, measures: Numbers, starts: Mask) -> Mask:
        """The events of windows that may hold a match."""
        if not self.node.counts:
            return starts
        size = self._context.dictionary.size(self._key)
        if size > len(self._latest):
            self._latest = grown(self._latest, max(size, 2 * len(self._latest)), EARLIEST)
        inside = np.empty(len(keys), np.bool_)
        mark_windows(keys, measures, self._span, starts, self._latest, inside)
        return inside

    def _remember(self, block: Block, measures: Numbers) -> None:
        """Remember the first event of a block: its key is used while the window reaches it."""
        if self.node.partitions and len(block):
            self._reached.append((int(measures[-1]), int(block.numbers[0])))

    def _count(self, block: Block, states: Numbers, taken: int, keys: Numbers) -> None:
        self._seen += len(block)
        if states is not block.states:
            self._filtered += int(np.count_nonzero(block.states & self._positive)) - taken
        if self.node.partitions:
            self._keyless += taken - int(np.count_nonzero(keys >= 0))

    def advance(
        self, watermark: Watermark, below: Iterator[Sequence[object]]
    ) -> Iterator[Sequence[object]]:
        """Forget the blocks that the window no longer reaches."""
        bound = bound_of(watermark, self.node.window)
        while self._reached and self._reached[0][0] < bound:
            self._reached.popleft()
        return iter(())

    def horizon(self) -> int | None:
        """The oldest event with a key that a window may use."""
        return self._reached[0][1] if self._reached else None

    def counters(self) -> Counters:
        """Counts of events, of dropped events and windows, and of events passed on."""
        windows, inside, not_first, incomplete, too_small = map(int, self._counts)
        found: Counters = {
            "events": self._seen,
            "filtered": self._filtered,
            "keyless": self._keyless,
            "windows": windows,
            "not_first": not_first,
            "incomplete": incomplete,
            "too_small": too_small,
            "out": self._out,
        }
        if self._context.options.analyze:
            found["rejected_events"] = self._filter.rejected
            found["window_events"] = inside
        return found

    def _encoded(self) -> dict[str, Any]:
        return {"counts": [self._seen, self._filtered, self._keyless, self._out]}

    def _take(self, saved: Saved, values: Any) -> None:
        super()._take(saved, values)
        self._seen, self._filtered, self._keyless, self._out = values.counts


def _slots(steps: Sequence[Sequence[int]]) -> Numbers:
    """Slots by the bits of levels, with the step of the first, for `mark_starts`.

    A level that is in several steps is alone in each.
    """
    found, slot = np.zeros((BITS, 3), np.int64), 0
    for number, step in enumerate(steps):
        for level in step:
            place = found[(1 << level) % BITS]
            if place[1] == 0:
                place[0], place[2] = slot, number
            slot += 1
            place[1] = slot
    return frozen(found)


def _conditions(above: Sequence[Operator], context: Context) -> Iterator[tuple[int, Condition]]:
    """The conditions on each event of a component, which the evaluation above need not decide."""
    source = above[0]
    if isinstance(source, RunEvaluation):
        return conditions_on_each(source, context)
    assert isinstance(source, SequenceScan) and isinstance(above[1], SequenceConstruction)
    return conditions_of_scan(source, above[1], context)
