"""(NG) Negation: pass the sequences that no event of a negative component forbids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sase.engine.blocks.block import Block, Watermark
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.scan.negation_index import forbid, forbid_counted
from sase.engine.kernels.sentinels import EARLIEST
from sase.engine.operators.bindings.detection import detected
from sase.engine.operators.conditions import ResidualFilter, ScanFilter, by_text
from sase.engine.operators.contract import (
    Context,
    Counters,
    HasTimers,
    Sequences,
    bound_of,
    span_of,
)
from sase.engine.operators.negative_sequences import IndexedEvents, NegativeLists
from sase.engine.operators.timer_queue import TimerQueue
from sase.engine.snapshots.layout import Count, Declared, Each, Own
from sase.planning.plan.negatives import NegativeComponent
from sase.planning.plan.nodes import Negation
from sase.planning.split import may_end

if TYPE_CHECKING:
    from sase.engine.operators.negative_sequences import SequencesInGaps
    from sase.engine.operators.tight_sequences import TightSequences

# Opens the index for negative sequences.
OpenSequences: TypeAlias = "Callable[[Negation, Context], list[SequencesInGaps | TightSequences]]"


class NegationBase(Declared, HasTimers):
    """The base of negations: an index of each component, and a queue until the window passes."""

    layout = dict(
        seen=Count(),
        passed=Count(),
        indexes=Each(Own(), path="_every"),
        postponed=Own(path="_timers"),
    )

    def __init__(self, node: Negation, context: Context, indexes: Sequence[NegativeLists]) -> None:
        self._window, self._store = node.window, context.buffer
        simple = [each for n in node.elements for each in context.negative_conditions(n)]
        self._conditions = ScanFilter(context, simple)
        self._every = indexes
        self._timers = TimerQueue(context.levels, context.form)
        self._may_end = any(may_end(context.components, each) for each in node.elements)
        self._waits = context.form is not None and context.form.detects
        # The last watermark, and the position of the last watermark with an earlier time.
        self._now, self._before = Watermark(EARLIEST, 0), 0
        self._seen = self._passed = self._most_waiting = 0
        self._is_analyzed = context.options.analyze
        if self._may_end:
            context.buffer.keep("ts")

    def push(self, block: Block, below: Iterator[Any]) -> Iterator[Any]:
        """Yield the matches that no event can forbid any more; queue the others."""
        states = self._conditions.states(block)
        for index in self._every:
            index.insert(block, states)
        yield from self._passed_on(below)

    def _passed_on(self, below: Iterator[Any]) -> Iterator[Any]:
        """Yield those of the matches that no event can forbid any more; queue the others."""
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
        """Yield the matches with a past window and without a forbidding event."""
        yield from self._passed_on(below)
        if self._may_end and self._window is not None:
            due = self._timers.released(watermark, inclusive=self._window.inclusive)
            passing = self._pass(due, at_end=True)
            self._passed += passing.shape[1]
            if passing.size:
                yield passing
        bound = bound_of(watermark, self._window)
        if self._waits and bound > EARLIEST:
            # A match that waits until its window has passed looks back from its end. If events are
            # counted, the end is certain when the time of the watermark is after the event beyond
            # the window.
            if watermark.ts > self._now.ts:
                self._before = self._now.position
            self._now = watermark
            bound = bound_of(watermark._replace(position=self._before), self._window)
            bound = max(bound - span_of(self._window) - 1, EARLIEST)
        for index in self._every:
            index.evict(bound)

    def _pass(self, bindings: Any, *, at_end: bool) -> Any:
        """The matches that no event forbids, at their end or elsewhere."""
        raise NotImplementedError

    def _due(self, bindings: Any) -> Numbers:
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
            "most_bytes": sum(index.nbytes for index in self._every),
        }


class NegationState(NegationBase):
    """A running negation of sequences."""

    def __init__(self, node: Negation, context: Context, opened: OpenSequences) -> None:
        self._indexes = [_Index(negation, node, context) for negation in node.negations]
        self._sequences = opened(node, context)
        super().__init__(node, context, [*self._indexes, *self._sequences])

    def _pass(self, sequences: Sequences, *, at_end: bool) -> Sequences:
        """Drop the sequences that an index forbids, at the end or elsewhere."""
        sequences, keep = np.ascontiguousarray(sequences), np.ones(sequences.shape[1], np.bool_)
        for index in self._indexes:
            if index.is_end == at_end:
                index.forbid(sequences, keep)
        for sequence in self._sequences:
            if sequence.is_end == at_end:
                sequence.forbid_sequences(sequences, keep)
        return sequences if keep.all() else sequences[:, keep]

    def _due(self, sequences: Sequences) -> Numbers:
        """At ts(e1) + T, saturated."""
        assert self._window is not None
        first = self._store.numbers("ts")[sequences[0] & self._store.mask]
        return detected(first, self._window)

    def _analysis(self) -> Counters:
        rejected = (each for index in self._indexes for each in index.rejected.items())
        analysis = super()._analysis()
        analysis["rejected"] = by_text(rejected)
        analysis["most_bytes"] += self._most_waiting * self._timers.width
        return analysis


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
