"""The events that may forbid, by key in order of time: of a negative component, or of several."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import BoundWindow, WindowKind
from sase.engine.blocks.block import Block
from sase.engine.columns.arrays import Numbers, grown, grown_ring
from sase.engine.kernels.scan.negation_index import (
    Gap,
    NegativeIndex,
    Stored,
    drop,
    insert,
)
from sase.engine.kernels.scan.stacks import Arrivals
from sase.engine.kernels.sentinels import ANY_SPAN, EARLIEST, NOTHING
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.contract import Context, measures_of, size_of, span_of
from sase.engine.snapshots.layout import Array, Declared
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved
from sase.planning.negatives import NegativeComponent, NegativeElement
from sase.planning.nodes import Negation


class NegativeLists(Declared):
    """Events in lists by the key on which all concerned agree, and by component.

    By time alone there is one key, and what they must agree on is tested in the gap.
    """

    layout = dict(
        **{
            name: Array("room", path=f"arrays.{name}", ring=0) for name in NegativeIndex._fields[:6]
        },
        heads=Array("lists", low=NOTHING, path="arrays.heads"),
        sizes=Array(2, low=0, high=MOST_COUNTED, path="arrays.sizes"),
    )
    # The lists of a key, and whether they are always by key.
    count = 1
    is_keyed = False

    def __init__(self, element: NegativeElement, node: Negation, context: Context) -> None:
        window = node.window
        self._context, self._window = context, window
        self.is_end = element.before is None
        # A fixed value is a condition on the event.
        tests = [test for test in element.equivalences if test.value is None]
        by_time = node.by_time and not self.is_keyed
        keyed = () if by_time else tuple(test for test in tests if all(test.declared))
        self.rest = [test for test in tests if test not in keyed]
        self._key = context.dictionary.key(keyed)
        context.buffer.keep("tie")
        self._measure = context.keep_measure(window)
        self._key_row = context.buffer.keep_codes(self._key) if keyed else None
        # An event that does not declare a tested attribute has no rank in a partition.
        is_ranked = all(all(test.declared) for test in element.equivalences)
        self.gap = _gap(element, window, falls=is_ranked)
        arrays = [np.zeros(context.options.stack, np.int64) for _ in range(6)]
        ends = [np.full(self.count, NOTHING, np.int64), np.zeros(2, np.int64)]
        self.arrays = NegativeIndex._make([*arrays, *ends])
        # For ANALYZE: sequences probed, those forbidden, and the greatest size.
        self.probed = self.hit = self.most = 0

    @property
    def alive(self) -> int:
        """The number of events."""
        return int(self.arrays.sizes[0] - self.arrays.sizes[1])

    def insert(self, block: Block, states: Numbers) -> None:
        """Add the events of a block."""
        raise NotImplementedError

    def is_at_end(self, found: Bindings) -> NDArray[np.bool_]:
        """Whether nothing is bound behind the element, for each match."""
        return np.asarray(found.lengths[self.gap.levels[0] + 1 :].sum(axis=0) == 0)

    def stored(self) -> Stored:
        """What the event buffer holds of the events."""
        store = self._context.buffer
        key = np.zeros(0, np.int64) if self._key_row is None else store.codes[self._key_row]
        return Stored(store.numbers("tie"), store.numbers(self._measure), key)

    def evict(self, bound: int) -> None:
        """Drop the events before a bound."""
        if bound > EARLIEST:
            drop(self.arrays, bound)

    def oldest(self) -> int | None:
        """The oldest event."""
        mask = len(self.arrays.row) - 1
        return int(self.arrays.row[self.arrays.sizes[1] & mask]) if self.alive else None

    # Whether the events of the lists are still in the event buffer.
    _needs_events = True

    def _take(self, saved: Saved, values: Any) -> None:
        count, tail = values.sizes.tolist()
        room = len(values.row)
        saved.check(len(values.heads) > 0, "there is no list")
        saved.check((values.heads < count).all(), "a list leads to no event")
        saved.check(tail <= count <= tail + room, "there are more events than places")
        numbers = np.arange(tail, count)
        alive = numbers & (room - 1)
        if self._needs_events:
            saved.check_events(values.row[alive])
        # Every pointer of a live event leads to an earlier one.
        pointers = (values.below[alive] < numbers) & (values.jump[alive] < numbers)
        saved.check(bool(pointers.all()), "an event leads to one that is not before it")
        # What a list leads to that is dead: nothing.
        is_dead = np.ones(room, np.bool_)
        is_dead[alive] = False
        values.below[is_dead] = values.jump[is_dead] = NOTHING
        # For keys that are none, too, which count from the end.
        values.heads = grown(values.heads, max(2, len(values.heads)), NOTHING)
        super()._take(saved, values)
        self._make_room(0, self._list_count)

    @property
    def _list_count(self) -> int:
        """How many lists the keys have so far, each of which may be looked up."""
        return self._context.dictionary.size(self._key) * self.count

    def _arrivals(self, block: Block, states: Numbers, events: int) -> Arrivals:
        """The events of a block, for so many of which there is room."""
        keys = block.codes(self._key)
        self._make_room(events, self._list_count)
        measures = measures_of(block, self._window)
        if self._window is not None and self._window.kind is WindowKind.PARTITION_EVENTS:
            measures = np.where(measures == NOTHING, EARLIEST, measures)
        return block.arrivals(states, keys, measures)

    def _make_room(self, events: int, lists: int) -> None:
        arrays = self.arrays
        if lists > len(arrays.heads):
            arrays = arrays._replace(heads=grown(arrays.heads, lists, NOTHING))
        needed = self.alive + events
        if needed > len(arrays.row):
            numbers = np.arange(arrays.sizes[1], arrays.sizes[0])
            room = 1 << (needed - 1).bit_length()
            rings = zip(NegativeIndex._fields[:6], arrays, strict=False)
            larger = {name: grown_ring(ring, room, numbers) for name, ring in rings}
            arrays = arrays._replace(**larger)
        self.arrays = arrays


class IndexedEvents(NegativeLists):
    """The index of a negative component."""

    def __init__(self, negation: NegativeComponent, node: Negation, context: Context) -> None:
        super().__init__(negation, node, context)
        self._bit = context.bit_of(negation.component.index)
        self.several = [
            conjunct.condition
            for conjunct in negation.conditions
            if not set(conjunct.references) <= {negation.component.index}
        ]

    def insert(self, block: Block, states: Numbers) -> None:
        """Add the events of a block."""
        insert(self._arrivals(block, states, len(block)), self._bit, self.arrays)
        self.most = max(self.most, self.alive)


def _gap(element: NegativeElement, window: BoundWindow | None, *, falls: bool) -> Gap:
    """The place of an element; `falls` if measures fall along a key's list."""
    levels = [NOTHING if n is None else n for n in (element.after, element.before)]
    if window is None:
        bounds = [ANY_SPAN, EARLIEST, 0, 0, 1]
    else:
        falls = falls or window.kind is not WindowKind.PARTITION_EVENTS
        inclusive = window.inclusive
        bounds = [span_of(window), EARLIEST + (not inclusive), size_of(window), inclusive, falls]
    return Gap(np.array(levels, np.int64), np.array(bounds, np.int64))
