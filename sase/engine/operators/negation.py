"""(NG) Negation: pass the sequences that no event of a negative component forbids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import BoundWindow, WindowKind
from sase.engine.blocks.block import Block, Watermark
from sase.engine.columns.arrays import Numbers, grown, grown_ring
from sase.engine.kernels.scan.negation_index import (
    Gap,
    NegativeIndex,
    Stored,
    drop,
    forbid,
    forbid_counted,
    insert,
)
from sase.engine.kernels.sentinels import ANY_SPAN, EARLIEST, LATEST, NOTHING
from sase.engine.operators.bindings import Bindings
from sase.engine.operators.contract import (
    Checkpoint,
    Context,
    Counters,
    Sequences,
    bound_of,
    measures_of,
    size_of,
    span_of,
)
from sase.engine.operators.group_bindings import IterationForm
from sase.engine.operators.residual_filter import ResidualFilter, by_text
from sase.engine.operators.scan_filter import ScanFilter
from sase.engine.operators.timer_queue import TimerQueue
from sase.engine.plan import EnginePlan
from sase.engine.snapshots.saved_state import MOST_COUNTED, Saved
from sase.planning.nodes import Negation, NegativeComponent
from sase.planning.split import may_end


class NegationBase:
    """The base of negations: an index of each component, and a queue until the window passes."""

    def __init__(
        self, node: Negation, context: Context, indexes: Sequence[IndexedEvents], *, of_series: bool
    ) -> None:
        self._window, self._store = node.window, context.buffer
        simple = [each for n in node.negations for each in context.negative_conditions(n)]
        self._conditions = ScanFilter(context, simple)
        self._every = indexes
        iterations = IterationForm.of(context.components)
        self._timers = TimerQueue(context.levels, of_series=of_series, iterations=iterations)
        self._may_end = any(may_end(context.components, each) for each in node.negations)
        self._seen = self._passed = self._most_waiting = 0
        self._is_analyzed = context.options.analyze
        if self._may_end:
            context.buffer.keep("ts")

    def push(self, block: Block, below: Iterator[Any]) -> Iterator[Any]:
        """Yield the matches that no event can forbid any more; queue the others."""
        states = self._conditions.states(block)
        for index in self._every:
            index.insert(block, states)
        for found in below:
            self._seen += found.shape[1]
            passing = self._pass(found, at_end=False)
            if self._may_end and passing.size:
                self._timers.add(passing, self._due(passing))
                self._most_waiting = max(self._most_waiting, len(self._timers))
            elif passing.size:
                self._passed += passing.shape[1]
                yield passing

    def advance(self, watermark: Watermark, below: Iterator[Any]) -> Iterator[Any]:
        """Yield the matches whose window passed without a forbidding event."""
        if self._may_end and self._window is not None:
            due = self._timers.released(watermark, inclusive=self._window.inclusive)
            passing = self._pass(due, at_end=True)
            self._passed += passing.shape[1]
            if passing.size:
                yield passing
        for index in self._every:
            index.evict(bound_of(watermark, self._window))

    def _pass(self, found: Any, *, at_end: bool) -> Any:
        """The matches that no event forbids, at their end or elsewhere."""
        raise NotImplementedError

    def _due(self, found: Any) -> Numbers:
        """The time of detection of each match."""
        raise NotImplementedError

    def next_timer(self) -> int | None:
        """The time at which the next queued matches are detected."""
        if self._window is None:
            return None
        return self._timers.next_timer(inclusive=self._window.inclusive)

    def horizon(self) -> int | None:
        """The oldest event of an index, or of a queued match."""
        oldest = [self._timers.oldest(), *(index.oldest() for index in self._every)]
        return min((each for each in oldest if each is not None), default=None)

    def counters(self) -> Counters:
        """Matches in, out and queued; events in each index."""
        found = {
            "in": self._seen,
            "out": self._passed,
            "waiting": len(self._timers),
            "indexed": [index.alive for index in self._every],
        }
        return {**found, **self._analysis()} if self._is_analyzed else found

    def _analysis(self) -> Counters:
        return {
            "probed": [index.probed for index in self._every],
            "hit": [index.hit for index in self._every],
            "rejected_events": self._conditions.rejected,
            "most_waiting": self._most_waiting,
            "most_indexed": [index.most for index in self._every],
            "most_bytes": sum(index.size for index in self._every),
        }

    def checkpoint(self) -> Checkpoint:
        """The indexes and the queue."""
        return {
            "seen": self._seen,
            "passed": self._passed,
            "indexes": [index.arrays._asdict() for index in self._every],
            "postponed": self._timers.checkpoint(),
        }

    def restore(self, saved: Saved) -> None:
        """Continue from a checkpoint."""
        self._seen, self._passed = saved.part("seen").count(), saved.part("passed").count()
        parts = saved.part("indexes").parts(len(self._every))
        for index, part in zip(self._every, parts, strict=True):
            index.restore(part)
        self._timers.restore(saved.part("postponed"))


class NegationState(NegationBase):
    """A running negation of sequences."""

    def __init__(self, node: Negation, context: Context) -> None:
        self._indexes = [_Index(negation, node, context) for negation in node.negations]
        super().__init__(node, context, self._indexes, of_series=False)

    def _pass(self, found: Sequences, *, at_end: bool) -> Sequences:
        """Drop the sequences that an index forbids, at the end or elsewhere."""
        found, keep = np.ascontiguousarray(found), np.ones(found.shape[1], np.bool_)
        for index in self._indexes:
            if index.is_end == at_end:
                index.forbid(found, keep)
        return found if keep.all() else found[:, keep]

    def _due(self, found: Sequences) -> Numbers:
        """At ts(e1) + T, saturated."""
        assert self._window is not None
        first = self._store.numbers("ts")[found[0] & self._store.mask]
        return detected(first, self._window)

    def _analysis(self) -> Counters:
        rejected = (each for index in self._indexes for each in index.rejected.items())
        analysis = super()._analysis()
        analysis["rejected"] = by_text(rejected)
        analysis["most_bytes"] += self._most_waiting * self._timers.width
        return analysis


def detected(first: Numbers, window: BoundWindow) -> Numbers:
    """The time of detection of a negated end, by the time of the first event."""
    size = size_of(window)
    return np.where(first > LATEST - size, LATEST, first + size)


def detection(
    plan: EnginePlan, first: Numbers, last: Numbers, found: Numbers | Bindings
) -> Numbers:
    """The time of detection of each match, by the times of its first and last event."""
    if plan.postponed is None:
        return last
    known = detected(first, plan.postponed)
    if not isinstance(found, Bindings):
        return known
    is_end = [found.lengths[after + 1 :].sum(axis=0) == 0 for after in plan.ends]
    return np.where(np.any(is_end, axis=0), known, last)


class IndexedEvents:
    """The index of a negative component: its events by the key on which all components agree.

    By time alone they are in one list, and what they must agree on is tested in the gap.
    """

    def __init__(self, negation: NegativeComponent, node: Negation, context: Context) -> None:
        window = node.window
        self._context, self._window = context, window
        self._bit = context.bit_of(negation.component.index)
        self.is_end = negation.before is None
        # A fixed value is a condition on the event.
        tests = [test for test in negation.equivalences if test.value is None]
        keyed = () if node.by_time else tuple(test for test in tests if all(test.declared))
        self.rest = [test for test in tests if test not in keyed]
        self._key = context.dictionary.key(keyed)
        self.several = [
            conjunct.condition
            for conjunct in negation.conditions
            if not set(conjunct.references) <= {negation.component.index}
        ]
        context.buffer.keep("tie")
        self._measure = context.keep_measure(window)
        self._key_row = context.buffer.keep_codes(self._key) if keyed else None
        # An event that does not declare a tested attribute has no rank in a partition.
        is_ranked = all(all(test.declared) for test in negation.equivalences)
        self.gap = _gap(negation, window, falls=is_ranked)
        arrays = [np.zeros(context.options.stack, np.int64) for _ in range(6)]
        ends = [np.full(1, NOTHING, np.int64), np.zeros(2, np.int64)]
        self.arrays = NegativeIndex._make([*arrays, *ends])
        # For ANALYZE: sequences probed, those forbidden, and the greatest size.
        self.probed = self.hit = self.most = 0

    @property
    def alive(self) -> int:
        """The number of events."""
        return int(self.arrays.sizes[0] - self.arrays.sizes[1])

    @property
    def size(self) -> int:
        """The bytes of the arrays, which only grow."""
        return sum(array.nbytes for array in self.arrays)

    def insert(self, block: Block, states: Numbers) -> None:
        """Add the events of a block."""
        keys = block.codes(self._key)
        self._make_room(len(block), self._context.dictionary.size(self._key))
        measures = measures_of(block, self._window)
        if self._window is not None and self._window.kind is WindowKind.PARTITION_EVENTS:
            measures = np.where(measures == NOTHING, EARLIEST, measures)
        insert(block.arrivals(states, keys, measures), self._bit, self.arrays)
        self.most = max(self.most, self.alive)

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

    def restore(self, saved: Saved) -> None:
        """Continue from a checkpoint: every pointer of a live event leads to an earlier one."""
        row = saved.part("row").ring(None)
        room = len(row)
        names = NegativeIndex._fields[1:6]
        tie, measure, below, jump, depth = (saved.part(name).array(room) for name in names)
        count, tail = saved.part("sizes").array(2, low=0, high=MOST_COUNTED).tolist()
        heads = saved.part("heads").array(None, low=NOTHING, high=count - 1)
        saved.check(len(heads) > 0, "there is no list")
        saved.check(tail <= count <= tail + room, "there are more events than places")
        numbers = np.arange(tail, count)
        alive = numbers & (room - 1)
        saved.check_events(row[alive])
        pointers = (below[alive] < numbers) & (jump[alive] < numbers)
        saved.check(bool(pointers.all()), "an event leads to one that is not before it")
        # What a list leads to that is dead: nothing.
        is_dead = np.ones(room, np.bool_)
        is_dead[alive] = False
        below[is_dead] = jump[is_dead] = NOTHING
        sizes = np.array([count, tail], np.int64)
        # For keys that are none, too, which count from the end.
        heads = np.append(heads, np.full(max(2 - len(heads), 0), NOTHING, np.int64))
        self.arrays = NegativeIndex(row, tie, measure, below, jump, depth, heads, sizes)

    def _make_room(self, events: int, keys: int) -> None:
        arrays = self.arrays
        if keys > len(arrays.heads):
            arrays = arrays._replace(heads=grown(arrays.heads, keys, NOTHING))
        needed = self.alive + events
        if needed > len(arrays.row):
            numbers = np.arange(arrays.sizes[1], arrays.sizes[0])
            room = 1 << (needed - 1).bit_length()
            rings = zip(NegativeIndex._fields[:6], arrays, strict=False)
            larger = {name: grown_ring(ring, room, numbers) for name, ring in rings}
            arrays = arrays._replace(**larger)
        self.arrays = arrays


class _Index(IndexedEvents):
    """The index of a negation of sequences, with its residual filter."""

    def __init__(self, negation: NegativeComponent, node: Negation, context: Context) -> None:
        super().__init__(negation, node, context)
        if not context.options.analyze:
            context.kernels.append(forbid)  # construction is compiled before it
        self._checking = ResidualFilter(context, self.rest, [self.several], context.levels + 1)

    @property
    def rejected(self) -> dict[str, int]:
        """By test and condition how many events in the gap of a sequence did not forbid it."""
        return self._checking.rejected

    def forbid(self, sequences: Sequences, keep: NDArray[np.bool_]) -> None:
        """Clear `keep` for the sequences that some event forbids."""
        stored, gap = self.stored(), self.gap
        checks, tally = self._checking.checks(), self._checking.tally
        if tally is None:
            forbid(self.arrays, gap, stored, checks, None, sequences, keep)
            return
        asked = int(np.count_nonzero(keep))
        forbid_counted(self.arrays, gap, stored, checks, tally, sequences, keep)
        self.probed += asked
        self.hit += asked - int(np.count_nonzero(keep))


def _gap(negation: NegativeComponent, window: BoundWindow | None, *, falls: bool) -> Gap:
    """The place of a component; `falls` if measures fall along a key's list."""
    levels = [NOTHING if n is None else n for n in (negation.after, negation.before)]
    if window is None:
        bounds = [ANY_SPAN, EARLIEST, 0, 0, 1]
    else:
        falls = falls or window.kind is not WindowKind.PARTITION_EVENTS
        inclusive = window.inclusive
        bounds = [span_of(window), EARLIEST + (not inclusive), size_of(window), inclusive, falls]
    return Gap(np.array(levels, np.int64), np.array(bounds, np.int64))
