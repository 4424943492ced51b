"""(P) Confidence: pass the candidates that may be matches, once nothing to come can change it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import Placeholder, ranks_of
from sase.engine.blocks.block import Block, Watermark
from sase.engine.columns.arrays import Floats, Numbers
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.kleene.set_order import sort_detected
from sase.engine.kernels.sentinels import ANY_SPAN, EARLIEST, LATEST
from sase.engine.operators.bindings import Bindings
from sase.engine.operators.candidate_bindings import DETECTED, CandidateBindings
from sase.engine.operators.candidate_confidence import (
    CandidateConfidence,
    PlacedNegative,
    TimeBounds,
)
from sase.engine.operators.contract import Checkpoint, Context, Counters, size_of, span_of
from sase.engine.operators.interval_negatives import IntervalNegatives
from sase.engine.operators.scan_filter import ScanFilter
from sase.engine.operators.timer_queue import TimerQueue
from sase.engine.snapshots.saved_state import Saved
from sase.planning.nodes import Confidence
from sase.planning.split import may_end


class ConfidenceState:
    """A running filter: candidates wait until time has passed all that is in them."""

    def __init__(self, node: Confidence, context: Context) -> None:
        self._node, self._context = node, context
        self._span = span_of(node.window)
        simple = [each for n in node.negations for each in context.negative_conditions(n)]
        self._conditions = ScanFilter(context, simple)
        self._negatives = [IntervalNegatives(each, node, context) for each in node.negations]
        ends = (n for n in node.negations if may_end(context.components, n))
        self._ends = [0 if each.after is None else each.after + 1 for each in ends]
        self._queue = TimerQueue(context.levels, of_series=True, form=context.form)
        reach = np.iinfo(np.int64).max if self._span == ANY_SPAN else self._span
        self._confidence = CandidateConfidence(int(reach))
        assert not isinstance(node.threshold, Placeholder), "a plan that runs has all parameters"
        self._least = node.threshold
        self._sets = [each.is_series and not each.is_sequence for each in context.components]
        self._ranks = frozen(np.array(ranks_of(context.components), np.int64))
        # The longest interval of an event so far.
        self._longest = 0
        self._seen = self._passed = self._most_waiting = 0
        self._is_analyzed = context.options.analyze
        for name in ("ts", "until"):
            context.buffer.keep(name)

    def push(self, block: Block, below: Iterator[Any]) -> Iterator[CandidateBindings]:
        """Queue candidates."""
        if len(block):
            self._longest = max(self._longest, int((block.until - block.ts).max()))
        if self._negatives:
            states = self._conditions.states(block)
            for each in self._negatives:
                each.insert(block, states)
        self._queue_all(below)
        return iter(())

    def advance(self, watermark: Watermark, below: Iterator[Any]) -> Iterator[CandidateBindings]:
        """Yield the matches whose time has passed, in the order of results."""
        self._queue_all(below)
        found = self._queue.released(watermark, inclusive=True)
        if found.size and self._negatives:
            found = self._judged(found, self._placed(found))
        if found.size:
            found = found.at(self._sorted(found))
            self._passed += found.size
            yield found
        if self._negatives and self._span != ANY_SPAN and not watermark.is_final:
            bound = watermark.ts - self._longest - 2 * (self._span + 1)
            for each in self._negatives:
                each.evict(max(bound, EARLIEST))

    def _queue_all(self, below: Iterator[Bindings]) -> None:
        """Queue the candidates that may be matches by the order of their events and the window."""
        for found in below:
            self._seen += found.size
            likely = self._judged(self._timed(found), [])
            if likely.size:
                self._queue.add(likely, likely.times[DETECTED])
                self._most_waiting = max(self._most_waiting, len(self._queue))

    def _timed(self, found: Bindings) -> CandidateBindings:
        """Candidates with their times, and no confidence yet."""
        buffer = self._context.buffer
        lo, hi = (buffer.numbers(n)[found.events & buffer.mask] for n in ("ts", "until"))
        begins = found.begins
        latest = np.maximum.reduceat(hi, begins)
        is_bound = found.lengths > 0
        columns = np.arange(found.size)
        first, last = is_bound.argmax(axis=0), len(is_bound) - 1 - is_bound[::-1].argmax(axis=0)
        heads, tails = begins + found.lengths[first, columns], found.lengths[last, columns]
        start = _reduced(np.minimum, lo, begins, heads)
        end = _reduced(np.maximum, hi, found.ends - tails, found.ends)
        detected = latest
        if self._ends:
            assert self._node.window is not None
            size = size_of(self._node.window)
            over = _reduced(np.minimum, hi, begins, heads)
            known = np.where(over > LATEST - size, LATEST, over + size)
            is_end = [found.lengths[split:].sum(axis=0) == 0 for split in self._ends]
            detected = np.where(np.any(is_end, axis=0), np.maximum(latest, known), latest)
        times = np.array([start, end, detected], np.int64)
        nothing = np.zeros(found.size)
        return CandidateBindings(found.events, found.ends, found.lengths, times, nothing)

    def _judged(
        self, found: CandidateBindings, negatives: Sequence[tuple[int, Numbers, Numbers]]
    ) -> CandidateBindings:
        """The candidates that are matches, as far as these may forbid them, with confidences."""
        confidences = self._confidences(found, negatives)
        judged = CandidateBindings(
            found.events, found.ends, found.lengths, found.times, confidences
        )
        keep = self._reaches(confidences)
        return judged if keep.all() else judged.at(keep)

    def _reaches(self, confidences: Floats) -> NDArray[np.bool_]:
        if self._least is None:
            return np.asarray(confidences > 0.0)
        least = float(self._least)
        return np.asarray(confidences > least if self._node.strict else confidences >= least)

    def _confidences(
        self, found: CandidateBindings, negatives: Sequence[tuple[int, Numbers, Numbers]]
    ) -> Floats:
        """The confidence of each candidate."""
        buffer = self._context.buffer
        los, his = buffer.numbers("ts"), buffer.numbers("until")
        bounds = [
            TimeBounds(int(los[place]), int(his[place]))
            for place in (found.events & buffer.mask).tolist()
        ]
        placed: list[list[tuple[int, TimeBounds]]] = [[] for _ in range(found.size)]
        for split, events, numbers in negatives:
            places = (events & buffer.mask).tolist()
            for number, place in zip(numbers.tolist(), places, strict=True):
                placed[number].append((split, TimeBounds(int(los[place]), int(his[place]))))
        out = np.empty(found.size)
        begin = 0
        for number, lengths in enumerate(found.lengths.T.tolist()):
            steps: list[list[TimeBounds]] = []
            before = [0]
            for length, is_set in zip(lengths, self._sets, strict=True):
                own = bounds[begin : begin + length]
                steps += [own] if is_set and own else [[each] for each in own]
                before.append(len(steps))
                begin += length
            others = [PlacedNegative(each, before[split]) for split, each in placed[number]]
            out[number] = self._confidence.of(steps, others)
        return out

    def _placed(self, found: CandidateBindings) -> list[tuple[int, Numbers, Numbers]]:
        """By negative component the levels before it, what may forbid, and which candidates."""
        return [(each.split, *each.of(found)) for each in self._negatives]

    def _sorted(self, found: CandidateBindings) -> Numbers:
        order, room = np.arange(found.size), np.empty(found.size, np.int64)
        levels = np.tile(np.arange(found.shape[0]), found.size)
        slots = np.repeat(levels, np.ascontiguousarray(found.lengths.T).reshape(-1))
        due = np.ascontiguousarray(found.times[DETECTED])
        sort_detected(found.events, slots, found.ends, due, self._ranks, order, room)
        return order

    def next_timer(self) -> int | None:
        """The time at which the first candidate waits no more."""
        return self._queue.next_timer(inclusive=True)

    def horizon(self) -> int | None:
        """The oldest event of a candidate that waits, or that may forbid one."""
        known = [self._queue.oldest(), *(each.oldest() for each in self._negatives)]
        return min((each for each in known if each is not None), default=None)

    def counters(self) -> Counters:
        """Candidates in and waiting, matches out; events in each index."""
        found = {
            "in": self._seen,
            "out": self._passed,
            "waiting": len(self._queue),
            "indexed": [each.alive for each in self._negatives],
        }
        if not self._is_analyzed:
            return found
        return {
            **found,
            "rejected_events": self._conditions.rejected,
            "most_waiting": self._most_waiting,
            "most_indexed": [each.most for each in self._negatives],
            "most_bytes": sum(each.size for each in self._negatives),
        }

    def checkpoint(self) -> Checkpoint:
        """The candidates that wait, and what may forbid them."""
        return {
            "seen": self._seen,
            "passed": self._passed,
            "longest": self._longest,
            "negatives": [each.checkpoint() for each in self._negatives],
            "waiting": self._queue.checkpoint(),
        }

    def restore(self, saved: Saved) -> None:
        """Continue from a checkpoint."""
        self._seen, self._passed = saved.part("seen").count(), saved.part("passed").count()
        self._longest = saved.part("longest").number(0, LATEST)
        parts = saved.part("negatives").parts(len(self._negatives))
        for each, part in zip(self._negatives, parts, strict=True):
            each.restore(part)
        self._queue.restore(saved.part("waiting"))


def _reduced(by: np.ufunc, values: Numbers, begins: Numbers, ends: Numbers) -> Numbers:
    """Reduce ranges of values, none of which is empty."""
    bounds = np.array([begins, ends]).T.reshape(-1)
    found: Numbers = by.reduceat(np.append(values, 0), bounds)[::2]
    return found
