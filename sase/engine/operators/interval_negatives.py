"""The events of a negative component of imprecise time, and which of them may forbid a match."""

from __future__ import annotations

import numpy as np

from sase.engine.blocks.block import Block
from sase.engine.columns.arrays import Numbers
from sase.engine.expressions.series import Term
from sase.engine.kernels.confidence.placed_negatives import (
    BoundTimes,
    IntervalIndex,
    note_latest,
    place_negatives,
)
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.operators.bindings import Bindings
from sase.engine.operators.contract import Checkpoint, Context, span_of
from sase.engine.operators.series_negation import SeriesCheck
from sase.engine.snapshots.saved_state import Saved
from sase.planning.negatives import NegativeComponent
from sase.planning.nodes import Confidence

# What is kept of an event.
KEY, EVENT, LO, HI = range(4)
FIELDS = 4


class IntervalNegatives:
    """The events that pass what is asked of them alone, in stream order."""

    def __init__(self, negation: NegativeComponent, node: Confidence, context: Context) -> None:
        self._context, self._span = context, span_of(node.window)
        self.split = 0 if negation.after is None else negation.after + 1
        self._bit = context.bit_of(negation.component.index)
        # A fixed value is a condition on the event.
        tests = [test for test in negation.equivalences if test.value is None]
        keyed = tuple(test for test in tests if all(test.declared))
        self._key = context.dictionary.key(keyed)
        self._key_row = context.buffer.keep_codes(self._key) if keyed else None
        alone = negation.alone
        several = [each.condition for each in negation.conditions if each not in alone]
        terms = [Term(each, judged=negation.component.index) for each in several]
        rest = [test for test in tests if test not in keyed]
        self._check = SeriesCheck(context, rest, terms, 1)
        sets = [int(each.is_series and not each.is_sequence) for each in context.components]
        self._sets = frozen(np.array(sets, np.int64))
        self._kept = np.zeros((FIELDS, 0), np.int64)
        self._index: IntervalIndex | None = None
        self._room = np.zeros((1024, 2), np.int64)
        self.most = 0

    @property
    def alive(self) -> int:
        """The number of events."""
        return self._kept.shape[1]

    @property
    def size(self) -> int:
        """The bytes of the arrays."""
        return self._kept.nbytes

    def insert(self, block: Block, states: Numbers) -> None:
        """Add the events of a block."""
        codes = block.codes(self._key)
        own = np.flatnonzero(((states >> self._bit) & 1 == 1) & (codes >= 0))
        if len(own):
            new = [codes[own], block.numbers[own], block.ts[own], block.until[own]]
            self._kept = np.concatenate([self._kept, np.array(new, np.int64)], axis=1)
            self._index, self.most = None, max(self.most, self.alive)

    def evict(self, bound: int) -> None:
        """Drop the events that are over before a bound."""
        stays = self._kept[HI] >= bound
        if not stays.all():
            self._kept, self._index = self._kept[:, stays], None

    def oldest(self) -> int | None:
        """The oldest event."""
        return int(self._kept[EVENT, 0]) if self.alive else None

    def of(self, found: Bindings) -> tuple[Numbers, Numbers]:
        """The events that may forbid some of the matches, and the numbers of these."""
        buffer = self._context.buffer
        keys = np.zeros(0, np.int64) if self._key_row is None else buffer.codes[self._key_row]
        times = BoundTimes(buffer.numbers("ts"), buffer.numbers("until"), keys)
        machine, cells, matches = self._check.arguments(found)
        parts, state = [np.zeros((0, 2), np.int64)], np.zeros(2, np.int64)
        is_done = False
        while not is_done:
            is_done = place_negatives(
                machine, cells, matches, self._indexed(), times, self._sets, self.split,
                self._span, self._room, state,
            )  # fmt: skip
            parts.append(self._room[: state[1]].copy())
            if not (is_done or state[1]):
                self._room = np.zeros((2 * len(self._room), 2), np.int64)
            state[1] = 0
        numbers, events = np.concatenate(parts).T
        return events, numbers

    def _indexed(self) -> IntervalIndex:
        """The events by key."""
        if self._index is None:
            keys = self._kept[KEY]
            order = np.argsort(keys, kind="stable")
            counts = np.bincount(keys, minlength=1)
            begins = np.append(0, np.cumsum(counts)).astype(np.int64)
            event, lo, hi = (np.ascontiguousarray(self._kept[n][order]) for n in (EVENT, LO, HI))
            self._index = IntervalIndex(event, lo, hi, np.empty_like(hi), begins)
            note_latest(self._index)
        return self._index

    def checkpoint(self) -> Checkpoint:
        """The events."""
        return {"kept": self._kept}

    def restore(self, saved: Saved) -> None:
        """Continue from a checkpoint."""
        kept = saved.part("kept").array(FIELDS, None)
        saved.check_events(kept[EVENT])
        saved.check(bool((np.diff(kept[EVENT]) > 0).all()), "events are not in their order")
        saved.check(bool((kept[LO] <= kept[HI]).all()), "a time begins after its end")
        most = saved.live.sizes.get(self._key, 1)
        is_key = (kept[KEY] >= 0) & (kept[KEY] < max(most, 1))
        saved.check(bool(is_key.all()), "there is no such key")
        self._kept, self._index = kept, None
