"""Negations with imprecise time: the events that may forbid, and the matches they may forbid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sase.binding.bound import BoundComponent
from sase.engine.blocks.block import Block
from sase.engine.columns.arrays import Numbers
from sase.engine.columns.decode.time_column import is_beyond
from sase.engine.expressions.series import Term
from sase.engine.kernels.confidence.placed_negatives import (
    BoundTimes,
    IntervalIndex,
    note_latest,
    place_negatives,
)
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.contract import Context, span_of
from sase.engine.operators.kleene.series_negation import SeriesCheck
from sase.engine.snapshots.layout import SAME, Array, Declared
from sase.engine.snapshots.saved_state import Saved
from sase.planning.plan.negatives import NegativeComponent, NegativeElement
from sase.planning.plan.nodes import Confidence

# Rows of the stored events.
LIST, EVENT, LO, HI = range(4)
FIELDS = 4


class IntervalLists(Declared):
    """The events that meet the conditions on them alone: a list by key and component."""

    layout = dict(kept=Array(SAME, None))

    def __init__(self, element: NegativeElement, node: Confidence, context: Context) -> None:
        self._context, self._span = context, span_of(node.window)
        self._components = element.components
        self.split = 0 if element.after is None else element.after + 1
        self._bits = [context.bit_of(each.index) for each in self._components]
        # A test with a fixed value is a condition on the event.
        tests = [test for test in element.equivalences if test.value is None]
        keyed = tuple(test for test in tests if all(test.declared))
        self._key = context.dictionary.key(keyed)
        self._key_row = context.buffer.keep_codes(self._key) if keyed else None
        self._rest = [test for test in tests if test not in keyed]
        self._sets = sets_of(context.components)
        self._kept = np.zeros((FIELDS, 0), np.int64)
        self._index: IntervalIndex | None = None
        self.most = 0

    @property
    def alive(self) -> int:
        """The number of events."""
        return self._kept.shape[1]

    def insert(self, block: Block, states: Numbers) -> None:
        """Add the events of a block."""
        codes, width = block.codes(self._key), len(self._bits)
        parts = [self._kept]
        for number, bit in enumerate(self._bits):
            own = np.flatnonzero(((states >> bit) & 1 == 1) & (codes >= 0))
            lists = codes[own] * width + number
            new = [lists, block.numbers[own], block.ts[own], block.until[own]]
            parts.append(np.array(new, np.int64))
        if sum(part.shape[1] for part in parts[1:]):
            self._kept = np.concatenate(parts, axis=1)
            self._index, self.most = None, max(self.most, self.alive)

    def evict(self, bound: int) -> None:
        """Drop the events that are over before a bound."""
        stays = self._kept[HI] >= bound
        if not stays.all():
            self._kept, self._index = self._kept[:, stays], None

    def oldest(self) -> int | None:
        """The oldest event."""
        return int(self._kept[EVENT].min()) if self.alive else None

    def _times(self) -> BoundTimes:
        buffer = self._context.buffer
        keys = np.zeros(0, np.int64) if self._key_row is None else buffer.codes[self._key_row]
        return BoundTimes(buffer.numbers("ts"), buffer.numbers("until"), keys)

    def _indexed(self) -> IntervalIndex:
        if self._index is None:
            lists, width = self._kept[LIST], len(self._bits)
            order = np.argsort(lists, kind="stable")
            counts = np.bincount(lists, minlength=width)
            counts = np.append(counts, np.zeros(-len(counts) % width, np.int64))
            begins = np.append(0, np.cumsum(counts)).astype(np.int64)
            event, lo, hi = (np.ascontiguousarray(self._kept[n][order]) for n in (EVENT, LO, HI))
            self._index = IntervalIndex(event, lo, hi, np.empty_like(hi), begins)
            note_latest(self._index)
        return self._index

    def _take(self, saved: Saved, values: Any) -> None:
        kept = values.kept
        saved.check_events(kept[EVENT])
        order = np.lexsort((kept[EVENT], kept[LIST]))
        ranked = kept[:, np.argsort(kept[LIST], kind="stable")]
        is_ranked = (ranked[EVENT] == kept[EVENT][order]).all()
        twice = (np.diff(ranked[LIST]) == 0) & (np.diff(ranked[EVENT]) == 0)
        saved.check(bool(is_ranked and not twice.any()), "events are not in their order")
        is_wrong = (kept[LO] > kept[HI]) | is_beyond(kept[LO], kept[HI])
        saved.check(not is_wrong.any(), "a time begins after its end, or is too long")
        most = max(saved.live.sizes.get(self._key, 1), 1) * len(self._bits)
        is_list = (kept[LIST] >= 0) & (kept[LIST] < most)
        saved.check(bool(is_list.all()), "there is no such key")
        self._kept, self._index = kept, None


class IntervalNegatives(IntervalLists):
    """The events of a negative component."""

    def __init__(self, negation: NegativeComponent, node: Confidence, context: Context) -> None:
        super().__init__(negation, node, context)
        alone = negation.alone
        several = [each.condition for each in negation.conditions if each not in alone]
        terms = [Term(each, judged=negation.component.index) for each in several]
        self._check = SeriesCheck(context, self._rest, terms, 1)
        self._room = np.zeros((1024, 2), np.int64)

    def of(self, bindings: Bindings) -> Iterator[tuple[int, int]]:
        """Yield pairs: the number of a match, and an event that may forbid it."""
        machine, _, cells, matches = self._check.arguments(bindings)
        state, is_done = np.zeros(2, np.int64), False
        while not is_done:
            is_done = place_negatives(
                machine, cells, matches, self._indexed(), self._times(), self._sets, self.split,
                self._span, self._room, state,
            )  # fmt: skip
            yield from map(tuple, self._room[: state[1]].tolist())
            if not (is_done or state[1]):
                self._room = np.zeros((2 * len(self._room), 2), np.int64)
            state[1] = 0


def sets_of(components: Sequence[BoundComponent]) -> Numbers:
    """For each level, whether it is a series without order."""
    return frozen(
        np.array([each.is_series and not each.is_sequence for each in components], np.int64)
    )
