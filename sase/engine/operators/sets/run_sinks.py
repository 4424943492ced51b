"""(SES) Make matches from the runs of patterns with sets, and of `earliest_maximal`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sase.binding.bound import WindowKind, ranks_of
from sase.engine.blocks.block import Block, Watermark
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.runs.advance import advance_maximal, advance_sets
from sase.engine.kernels.runs.step import KEY, WATCHES, Ended
from sase.engine.kernels.sentinels import EARLIEST, LATEST, NOTHING
from sase.engine.kernels.sets.detection_order import sort_detected
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.bindings.detection import detected
from sase.engine.operators.bindings.forms import SetForm
from sase.engine.operators.contract import Context, Counters, HasTimers, bound_of, span_of
from sase.engine.operators.kleene.evaluation import RunCode
from sase.engine.operators.kleene.match_room import EVENTS_A_MATCH, Written
from sase.engine.operators.kleene.run_operator import Flush, NodeStore, RunStep, SeriesSink
from sase.engine.operators.timer_queue import TimerQueue
from sase.engine.snapshots.layout import Count, IfThere, Own
from sase.lang.ast import StrategyName
from sase.planning.plan.nodes import RunEvaluation

# Runs in rows have a kernel of their own.
ROW_STEP = RunStep(None)


class RowSink(SeriesSink):
    """Makes matches from runs in rows; they are detected with their last event."""

    def __init__(self, code: RunCode, step: RunStep = ROW_STEP, events: int | None = None) -> None:
        super().__init__(code, step, groups=0, events=events or code.context.levels)
        self._detects, self._store = is_detected(code), code.context.buffer
        if self._detects:
            self._store.keep("ts")

    def formed(self, written: Written) -> Bindings:
        """The matches, with their times of detection."""
        assert written.listed is not None
        found = Bindings(*written[:3], written.listed.levels)
        if not self._detects:
            return found
        return replace(found, detected=self._detected(found, written))

    def _detected(self, bindings: Bindings, written: Written) -> Numbers:
        """The time of detection of each match."""
        times: Numbers = self._store.numbers("ts")[bindings.last & self._store.mask]
        return times


class SetSink(RowSink):
    """Makes matches from runs with sets of members as states.

    Under `earliest_maximal` a match that may grow waits until its window has passed. After one of
    the levels `ends` there may be a negated end, for which other matches wait.
    """

    layout = dict(waiting=IfThere(Own(), path=None), numbers=Count())

    def __init__(self, code: RunCode, ends: Sequence[int] = ()) -> None:
        self._window, members = code.node.window, code.program.automaton[2]
        ended = Ended(np.array([NOTHING, 0, 0], np.int64))
        self._waiting: WaitingMatches | None = None
        step = RunStep(advance_sets, members=members)
        if is_detected(code):
            step = RunStep(advance_maximal, members=members, ended=ended)
            if code.states.can_grow_at_end:
                self._waiting = WaitingMatches(code.node, code.context, ends)
        super().__init__(code, step, EVENTS_A_MATCH)
        ended.state[WATCHES] = self._waiting is not None and code.node.ends_by_event
        # No run begins with a lower measure.
        self._least = EARLIEST
        self._times: Numbers = np.empty(0, np.int64)
        self._numbers = 0

    # ------------------------------------------------------------ matches

    def note(self, block: Block) -> None:
        """Note the times of a block, and the number of its last event."""
        self._times = block.ts
        if len(block):
            self._numbers = int(block.numbers[-1]) + 1

    def passed(self, found: Iterator[Any]) -> Iterator[Any]:
        """Pass the matches on, or have them wait."""
        if self._waiting is None:
            return found
        for each in found:
            self._waiting.add(each)
        return iter(())

    def released(self, watermark: Watermark, runs: NodeStore, flush: Flush) -> Iterator[Any]:
        """Yield the matches that become certain at the watermark."""
        if self._waiting is not None:
            for each in self._ended(watermark, runs, flush):
                self._waiting.add(each)
            yield from self._waiting.released(watermark)

    def _ended(self, watermark: Watermark, runs: NodeStore, flush: Flush) -> Iterator[Any]:
        """End the runs with a past window; yield those that match."""
        bound, ended = self._bound(watermark), self.step.ended
        if not watermark.is_final and self._least >= bound:
            return
        assert ended is not None
        ended.state[KEY] = 0
        why = nodes.FULL
        while why == nodes.FULL:
            why = runs.end(bound, watermark)
            yield from flush(why)
        oldest, measure = runs.oldest()
        is_counted = self._window_kind is WindowKind.EVENTS
        now = watermark.position if is_counted else watermark.ts
        self._least = now if oldest == NOTHING else measure

    def _bound(self, watermark: Watermark) -> int:
        """The least measure of the first event of a run that has not ended.

        A window in events is passed with the first event beyond it, not with the last one inside.
        """
        if watermark.is_final:
            return EARLIEST
        if self._window_kind is WindowKind.EVENTS:
            watermark = watermark._replace(position=watermark.position - 1)
        return bound_of(watermark, self._window)

    @property
    def _window_kind(self) -> WindowKind | None:
        return None if self._window is None else self._window.kind

    def _detected(self, bindings: Bindings, written: Written) -> Numbers:
        """The time of detection of matches; some were closed by an event."""
        last = super()._detected(bindings, written)
        if not self._code.states.can_grow_at_end:
            return last
        times, mask = self._store.numbers("ts"), self._store.mask
        if self._window is None:
            known = np.full(bindings.size, LATEST)
        elif self._window.kind is WindowKind.TIME:
            known = detected(times[bindings.first & mask], self._window)
        elif self._window.kind is WindowKind.EVENTS:
            # Every event is kept, so numbers and positions have the same distances.
            beyond = bindings.first + span_of(self._window) + 1
            is_seen = beyond < self._numbers
            known = np.where(is_seen, times[beyond & mask], LATEST)
        else:
            assert written.listed is not None
            closes = written.listed.closes
            known, is_closed = np.full(bindings.size, LATEST), closes != NOTHING
            known[is_closed] = self._times[closes[is_closed]]
        return np.where(self._code.states.may_grow(bindings.lengths), known, last)

    # ------------------------------------------------------------ time and state

    def oldest(self, runs: NodeStore, bound: int) -> int | None:
        """The oldest event of any run, and of a waiting match; ended runs do not count."""
        if self._waiting is None:
            return super().oldest(runs, bound)
        oldest, _ = runs.oldest()
        known = [None if oldest == NOTHING else oldest, self._waiting.oldest()]
        return min((each for each in known if each is not None), default=None)

    def next_timer(self, runs: NodeStore) -> int | None:
        """The time at which the next match is detected."""
        if self._waiting is None or self._window_kind is not WindowKind.TIME:
            return None
        assert self._window is not None
        known, (oldest, measure) = [self._waiting.next_timer()], runs.oldest()
        if oldest != NOTHING:
            known.append(min(measure + span_of(self._window), LATEST - 1) + 1)
        return min((each for each in known if each is not None), default=None)

    def counters(self) -> Counters:
        """Count the matches that wait."""
        return {} if self._waiting is None else {"waiting": len(self._waiting)}

    def _encoded(self) -> dict[str, Any]:
        return {"waiting": None if self._waiting is None else self._waiting.queue}


class WaitingMatches(HasTimers):
    """A queue of matches by the time of detection, which sorts those of the same time.

    After one of the levels `ends` there may be a negated end, for which a match waits, too.
    """

    def __init__(self, node: RunEvaluation, context: Context, ends: Sequence[int]) -> None:
        window = self._window = node.window
        self._store, self._ends = context.buffer, ends
        form = SetForm(context.levels, detects=True)
        self.queue = TimerQueue(context.levels, form)
        # Further matches of the same time may come, except if the times are ends of time windows
        # that do not include their end.
        is_of_time = window is not None and window.kind is WindowKind.TIME
        self._inclusive = window is not None and (window.inclusive or not is_of_time)
        self._ranks = frozen(np.array(ranks_of(node.components), np.int64))

    def __len__(self) -> int:
        return len(self.queue)

    def add(self, bindings: Bindings) -> None:
        """Queue matches that are complete, or have ended."""
        self.queue.add(bindings, self._due(bindings))

    def _due(self, bindings: Bindings) -> Numbers:
        """The time of detection of each match."""
        assert bindings.detected is not None
        if not self._ends:
            return bindings.detected
        assert self._window is not None
        known = detected(self._store.numbers("ts")[bindings.first & self._store.mask], self._window)
        is_end = [bindings.lengths[after + 1 :].sum(axis=0) == 0 for after in self._ends]
        return np.where(np.any(is_end, axis=0), known, bindings.detected)

    def released(self, watermark: Watermark) -> Iterator[Bindings]:
        """Yield the matches that are due, in the order of results."""
        found = self.queue.released(watermark, inclusive=self._inclusive)
        if found.size:
            yield found[:, self._sorted(found)]

    def _sorted(self, bindings: Bindings) -> Numbers:
        order, room = np.arange(bindings.size), np.empty(bindings.size, np.int64)
        due = self._due(bindings)
        sort_detected(
            bindings.events, bindings.states, bindings.ends, due, self._ranks, order, room
        )
        return order

    def next_timer(self) -> int | None:
        """The time at which the first of them is detected."""
        return self.queue.next_timer(inclusive=self._inclusive)

    def oldest(self) -> int | None:
        """An event that is not after any event of a waiting match."""
        return self.queue.oldest()


def is_detected(code: RunCode) -> bool:
    """Whether the time of detection of matches is computed."""
    return code.node.strategy is StrategyName.EARLIEST_MAXIMAL
