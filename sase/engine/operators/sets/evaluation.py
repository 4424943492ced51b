"""(SES) Run evaluation of patterns with sets, and of `earliest_maximal`: advance their runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sase.binding.bound import WindowKind
from sase.engine.blocks.block import Block, Watermark
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.kleene import run_nodes as nodes
from sase.engine.kernels.runs.advance import advance_maximal, advance_sets, end_runs, oldest_of
from sase.engine.kernels.runs.step import KEY, WATCHES, Ended
from sase.engine.kernels.sentinels import EARLIEST, LATEST, NOTHING
from sase.engine.operators.bindings.detection import detected
from sase.engine.operators.bindings.sets import SetBindings, SetForm
from sase.engine.operators.contract import (
    Context,
    Counters,
    HasTimers,
    bound_of,
    span_of,
)
from sase.engine.operators.kleene.match_room import MatchRoom, Written
from sase.engine.operators.kleene.run_evaluation import RunEvaluationState
from sase.engine.operators.sets.waiting_matches import WaitingMatches
from sase.engine.operators.taken_matches import TakenMatches
from sase.engine.snapshots.layout import Count, IfThere, Own
from sase.lang.ast import StrategyName
from sase.planning.nodes import RunEvaluation


class SetEvaluationState(RunEvaluationState, HasTimers):
    """A running evaluation whose states are sets of members.

    Under `earliest_maximal` a match that may grow waits until its window has passed; behind one of
    the levels `ends` a negated end may stand, for which others do.
    """

    layout = RunEvaluationState.layout | dict(waiting=IfThere(Own(), path=None), numbers=Count())

    def __init__(
        self,
        node: RunEvaluation,
        context: Context,
        taken: TakenMatches | None = None,
        ends: Sequence[int] = (),
    ) -> None:
        detects = node.strategy is StrategyName.EARLIEST_MAXIMAL
        self.kernel = advance_maximal if detects else advance_sets
        super().__init__(node, context, taken)
        self.form = SetForm(context.levels, detects)
        self._ended = Ended(np.array([NOTHING, 0, 0], np.int64))
        self._waiting: WaitingMatches | None = None
        if detects and self._states.can_grow_at_end:
            self._waiting = WaitingMatches(node, context, self.form, ends)
        self._watches = self._waiting is not None and node.ends_by_event
        self._ended.state[WATCHES] = self._watches
        # No run begins with a lower measure.
        self._least = EARLIEST
        self._times: Numbers = np.empty(0, np.int64)
        self._numbers = 0
        if detects:
            context.buffer.keep("ts")

    # ------------------------------------------------------------ matches

    def push(self, block: Block, below: Iterator[Any]) -> Iterator[Any]:
        """Yield the matches that the events of a block complete."""
        self._times = block.ts
        if len(block):
            self._numbers = int(block.numbers[-1]) + 1
        for found in super().push(block, below):
            if self._waiting is None:
                yield found
            else:
                assert isinstance(found, SetBindings)
                self._waiting.add(found)

    def advance(self, watermark: Watermark, below: Iterator[Any]) -> Iterator[Any]:
        """Yield the matches that time has ended."""
        self._watermark = watermark
        if self._waiting is None:
            return
        for each in self._end_runs():
            self._waiting.add(each)
        yield from self._waiting.released(watermark)

    def _end_runs(self) -> Iterator[Any]:
        """End the runs whose window has passed; yield those that match."""
        watermark, bound = self._watermark, self._bound()
        if not watermark.is_final and self._least >= bound:
            return
        self._ended.state[KEY] = 0
        why = nodes.FULL
        while why == nodes.FULL:
            why = end_runs(
                self._program.machine(), self._graph, self._members, self._runs, self._ended, bound,
                watermark.position, watermark.is_final, self._room.written, self._room.beside,
            )  # fmt: skip
            yield from self._flush(why)
        oldest, is_counted = self._oldest(), self._window_kind is WindowKind.EVENTS
        now = watermark.position if is_counted else watermark.ts
        self._least = now if oldest is None else oldest[1]

    def _bound(self) -> int:
        """The least measure of the first event of a run that has not ended.

        A window in events is passed with the first event beyond it, not with the last one inside.
        """
        watermark = self._watermark
        if watermark.is_final:
            return EARLIEST
        if self._window_kind is WindowKind.EVENTS:
            watermark = watermark._replace(position=watermark.position - 1)
        return bound_of(watermark, self._window)

    @property
    def _window_kind(self) -> WindowKind | None:
        return None if self._window is None else self._window.kind

    def _oldest(self) -> tuple[int, int] | None:
        """The first event of any run and its measure, which may be any number."""
        found = np.empty(2, np.int64)
        oldest_of(self._runs.cells, self._runs.heads, found)
        return None if found[0] == NOTHING else (int(found[0]), int(found[1]))

    def _detected(self, found: SetBindings, closes: Numbers) -> Numbers:
        """The time of detection of matches, which the events at some places closed, if any did."""
        store, mask = self._context.buffer, self._context.buffer.mask
        times = store.numbers("ts")
        last: Numbers = times[found.last & mask]
        if not self._states.can_grow_at_end:
            return last
        if self._window is None:
            known = np.full(found.size, LATEST)
        elif self._window.kind is WindowKind.TIME:
            known = detected(times[found.first & mask], self._window)
        elif self._window.kind is WindowKind.EVENTS:
            # Every event is kept, so that numbers are as far apart as positions.
            beyond = found.first + span_of(self._window) + 1
            is_seen = beyond < self._numbers
            known = np.where(is_seen, times[beyond & mask], LATEST)
        else:
            known, is_closed = np.full(found.size, LATEST), closes != NOTHING
            known[is_closed] = self._times[closes[is_closed]]
        return np.where(self._states.may_grow(found.lengths), known, last)

    def _step(self, machine: nodes.Machine, incoming: nodes.Incoming) -> int:
        detects, room = self.form.detects, self._room
        why: int = self.kernel(
            machine, self._graph, None, self._members, self._ended if detects else None, None,
            self._runs, incoming, self._most, room.written, room.listed,
        )  # fmt: skip
        return why

    def _match_room(self, matches: int) -> MatchRoom:
        return MatchRoom(self._memory, self._context.levels, matches, groups=0)

    def _matches_of(self, written: Written) -> SetBindings:
        """The matches, and when they are detected."""
        assert written.listed is not None
        found = SetBindings(*written[:3], written.listed.levels)
        if not self.form.detects:
            return found
        return found.detected_at(self._detected(found, written.listed.closes))

    # ------------------------------------------------------------ time and state

    def horizon(self) -> int | None:
        """The oldest event of any run, and of a match that waits."""
        if self._waiting is None:
            return super().horizon()
        oldest = self._oldest()
        known = [None if oldest is None else oldest[0], self._waiting.oldest()]
        return min((each for each in known if each is not None), default=None)

    def next_timer(self) -> int | None:
        """The time at which the next match is detected."""
        if self._waiting is None or self._window_kind is not WindowKind.TIME:
            return None
        assert self._window is not None
        known, oldest = [self._waiting.next_timer()], self._oldest()
        if oldest is not None:
            known.append(min(oldest[1] + span_of(self._window), LATEST - 1) + 1)
        return min((each for each in known if each is not None), default=None)

    def counters(self) -> Counters:
        """Count events, runs made and alive, steps, and matches."""
        waiting = {} if self._waiting is None else {"waiting": len(self._waiting)}
        return super().counters() | waiting

    def _encoded(self) -> dict[str, Any]:
        return {"waiting": None if self._waiting is None else self._waiting.queue}
