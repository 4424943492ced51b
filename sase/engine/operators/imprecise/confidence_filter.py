"""(P) Confidence: pass candidates that are likely enough, once no later event can change them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sase.binding.bound import Placeholder, ranks_of
from sase.engine.blocks.block import Block, Watermark
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.confidence.candidate_orders import SEVERAL
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.sentinels import ANY_SPAN, EARLIEST, LATEST
from sase.engine.kernels.sets.detection_order import sort_detected
from sase.engine.operators.bindings.bindings import DETECTED, Bindings
from sase.engine.operators.conditions import ScanFilter
from sase.engine.operators.contract import (
    Context,
    Counters,
    HasTimers,
    size_of,
    span_of,
)
from sase.engine.operators.imprecise.candidate_confidence import TimeBounds
from sase.engine.operators.imprecise.confidence import OrderConfidence, tidied
from sase.engine.operators.imprecise.forbidden_confidence import ForbiddenConfidence, Forbidding
from sase.engine.operators.imprecise.interval_negatives import IntervalNegatives, sets_of
from sase.engine.operators.imprecise.interval_sequences import IntervalSequences
from sase.engine.operators.timer_queue import TimerQueue
from sase.engine.resources import is_too_much
from sase.engine.snapshots.layout import Count, Declared, Each, Number, Own
from sase.errors import BudgetError
from sase.planning.plan.nodes import Confidence
from sase.planning.split import may_end

TOO_MANY = (
    "the candidates of this query that wait until time has passed them need more memory than there"
    " is: narrow its conditions, give it a smaller WITHIN, or ask for a higher WITH CONFIDENCE"
)


class ConfidenceState(Declared, HasTimers):
    """A running filter: candidates wait until time has passed all of their events."""

    layout = dict(
        seen=Count(),
        passed=Count(),
        longest=Number(0, LATEST),
        negatives=Each(Own(), path="_lists"),
        waiting=Own(path="_queue"),
    )

    def __init__(self, node: Confidence, context: Context) -> None:
        self._node, self._context = node, context
        self._span = span_of(node.window)
        simple = [each for n in node.elements for each in context.negative_conditions(n)]
        self._conditions = ScanFilter(context, simple)
        self._negatives = [IntervalNegatives(each, node, context) for each in node.negations]
        self._sequences = [IntervalSequences(each, node, context) for each in node.sequences]
        self._lists = [*self._negatives, *self._sequences]
        ends = (n for n in node.elements if may_end(context.components, n))
        self._ends = [0 if each.after is None else each.after + 1 for each in ends]
        self._queue = TimerQueue(context.levels, context.form)
        reach = np.iinfo(np.int64).max if self._span == ANY_SPAN else self._span
        self._orders = OrderConfidence(int(reach))
        self._sets = sets_of(context.components)
        self._confidence = ForbiddenConfidence(
            context, int(reach), self._sets, enumerates=node.enumerates
        )
        self._ranks = frozen(np.array(ranks_of(context.components), np.int64))
        # The longest interval of an event so far.
        self._longest = 0
        self._seen = self._passed = self._most_waiting = 0
        self._is_analyzed = context.options.analyze
        for name in ("ts", "until"):
            context.buffer.keep(name)

    def push(self, block: Block, below: Iterator[Any]) -> Iterator[Bindings]:
        """Queue candidates."""
        if len(block):
            self._longest = max(self._longest, int((block.until - block.ts).max()))
        if self._lists:
            states = self._conditions.states(block)
            for each in self._lists:
                each.insert(block, states)
        self._queue_all(below)
        return iter(())

    def advance(self, watermark: Watermark, below: Iterator[Any]) -> Iterator[Bindings]:
        """Yield the matches that time has passed, in the order of results."""
        self._queue_all(below)
        found = self._queue.released(watermark, inclusive=True)
        if found.size and self._lists:
            found = self._unforbidden(found)
        if found.size:
            found = found[:, self._sorted(found)]
            self._passed += found.size
            yield found
        if self._lists and self._span != ANY_SPAN and not watermark.is_final:
            bound = watermark.ts - self._longest - 2 * (self._span + 1)
            for each in self._lists:
                each.evict(max(bound, EARLIEST))

    def _queue_all(self, below: Iterator[Bindings]) -> None:
        """Queue the candidates that are likely enough by order and window."""
        for found in below:
            self._seen += found.size
            likely = self._likely(self._timed(found))
            if likely.size:
                self._queue.add(likely, likely.times[DETECTED])
                self._check_memory()
                self._most_waiting = max(self._most_waiting, len(self._queue))

    def _check_memory(self) -> None:
        """Refuse more candidates than fit in memory: they wait until time has passed them."""
        waiting = self._queue.nbytes
        self._context.check(waiting)
        if is_too_much(waiting):
            raise BudgetError(TOO_MANY)

    def _timed(self, bindings: Bindings) -> Bindings:
        """Candidates with their times, without confidence."""
        buffer = self._context.buffer
        lo, hi = (buffer.numbers(n)[bindings.events & buffer.mask] for n in ("ts", "until"))
        begins = bindings.begins
        latest = np.maximum.reduceat(hi, begins)
        is_bound = bindings.lengths > 0
        columns = np.arange(bindings.size)
        first, last = is_bound.argmax(axis=0), len(is_bound) - 1 - is_bound[::-1].argmax(axis=0)
        heads, tails = begins + bindings.lengths[first, columns], bindings.lengths[last, columns]
        start = _reduced(np.minimum, lo, begins, heads)
        end = _reduced(np.maximum, hi, bindings.ends - tails, bindings.ends)
        detected = latest
        if self._ends:
            assert self._node.window is not None
            size = size_of(self._node.window)
            over = _reduced(np.minimum, hi, begins, heads)
            known = np.where(over > LATEST - size, LATEST, over + size)
            is_end = [bindings.lengths[split:].sum(axis=0) == 0 for split in self._ends]
            detected = np.where(np.any(is_end, axis=0), np.maximum(latest, known), latest)
        times = np.array([start, end, detected], np.int64)
        return replace(bindings, times=times)

    def _likely(self, bindings: Bindings) -> Bindings:
        """The candidates that are likely enough by order and window."""
        buffer = self._context.buffer
        earliest, latest = buffer.numbers("ts"), buffer.numbers("until")
        if self._node.enumerates:
            known = np.full(bindings.size, SEVERAL)
        else:
            known = self._orders.of_candidates(bindings, self._sets, earliest, latest, buffer.mask)
        bindings = replace(bindings, confidences=known)
        several = np.flatnonzero(known == SEVERAL).tolist()
        self._confidence.write(bindings, {number: Forbidding() for number in several}, self._bounds)
        return self._reaching(bindings)

    def _unforbidden(self, bindings: Bindings) -> Bindings:
        """The candidates that are likely enough despite events that may forbid them."""
        forbidding = defaultdict[int, Forbidding](Forbidding)
        for events in self._negatives:
            for number, event in events.of(bindings):
                forbidding[number].events.append((events.split, event))
        for sequences in self._sequences:
            for number, match in sequences.of(bindings):
                forbidding[number].add(sequences.split, match)
        if not forbidding:
            return bindings
        self._confidence.write(bindings, forbidding, self._bounds)
        return self._reaching(bindings)

    def _reaching(self, bindings: Bindings) -> Bindings:
        confidences, least = tidied(bindings.confidences), self._node.threshold
        bindings = replace(bindings, confidences=confidences)
        if least is None:
            keep = confidences > 0.0
        else:
            assert not isinstance(least, Placeholder), "a plan that runs has all parameters"
            is_strict = self._node.strict
            keep = confidences > float(least) if is_strict else confidences >= float(least)
        return bindings if keep.all() else bindings[:, keep]

    def _bounds(self, events: Numbers) -> list[TimeBounds]:
        buffer = self._context.buffer
        lo, hi = (buffer.numbers(n)[events & buffer.mask].tolist() for n in ("ts", "until"))
        return list(map(TimeBounds, lo, hi))

    def _sorted(self, bindings: Bindings) -> Numbers:
        order, room = np.arange(bindings.size), np.empty(bindings.size, np.int64)
        due = np.ascontiguousarray(bindings.times[DETECTED])
        sort_detected(
            bindings.events, bindings.known_states, bindings.ends, due, self._ranks, order, room
        )
        return order

    def next_timer(self) -> int | None:
        """The time at which the first candidate is released."""
        return self._queue.next_timer(inclusive=True)

    def horizon(self) -> int | None:
        """The oldest event of a waiting candidate, or one that may forbid it."""
        known = [self._queue.oldest(), *(each.oldest() for each in self._lists)]
        return min((each for each in known if each is not None), default=None)

    def counters(self) -> Counters:
        """Candidates seen and waiting, matches passed; events in each index."""
        found = {
            "in": self._seen,
            "out": self._passed,
            "waiting": len(self._queue),
            "indexed": [each.alive for each in self._lists],
        }
        if not self._is_analyzed:
            return found
        return {
            **found,
            "rejected": {"confidence": self._seen - self._passed - len(self._queue)},
            "rejected_events": self._conditions.rejected,
            "most_waiting": self._most_waiting,
            "most_indexed": [each.most for each in self._lists],
            "most_bytes": sum(each.nbytes for each in self._lists),
        }


def _reduced(by: np.ufunc, values: Numbers, begins: Numbers, ends: Numbers) -> Numbers:
    """Reduce non-empty ranges of values."""
    bounds = np.array([begins, ends]).T.reshape(-1)
    found: Numbers = by.reduceat(np.append(values, 0), bounds)[::2]
    return found
