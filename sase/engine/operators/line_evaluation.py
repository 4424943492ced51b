"""(NFAb) Runs that never fork: what each has bound is a list of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from sase.engine.blocks.block import Block
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.expressions.operations import FLOAT, INTEGER, NULL
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.kleene import pieces as of
from sase.engine.kernels.kleene.lines import Gate, advance_lines, expire_lines
from sase.engine.kernels.kleene.match_buffer import Written
from sase.engine.kernels.kleene.runs import AT, CROWDED, DONE, FULL, NEXT_MATCH, USED, Incoming
from sase.engine.kernels.sentinels import EARLIEST, NOTHING
from sase.engine.operators.bindings import Bindings, ColumnarBindings, begins_of
from sase.engine.operators.contract import Checkpoint, Context, Counters, bound_of, detach
from sase.engine.operators.run_evaluation import RunEvaluationState
from sase.planning.nodes import RunEvaluation

# The pieces that there is room for at first.
PIECES = 64
NO_GATE = Gate(0, NULL, frozen(np.zeros(0, np.int64)))


class LineEvaluationState(RunEvaluationState):
    """A running evaluation of lines, event by event.

    Where matches are `shown` as they are they come component by component.
    """

    kernel: ClassVar[Any] = staticmethod(advance_lines)
    # The events that a chunk of results has room for at first, for each match.
    events_a_match: ClassVar[int] = 8

    def __init__(self, node: RunEvaluation, context: Context, *, shown: bool) -> None:
        super().__init__(node, context)
        assert not self._program.code.ranges, (
            "a line knows its last event alone, and what it has noted"
        )
        self._runs.state[USED] = of.FIRST_LINE
        self._lines = of.Lines(
            self._runs,
            np.zeros((PIECES, of.PIECE + 1), np.int64),
            np.zeros(len(self._runs.heads), np.int64),
            np.array([0, NOTHING, 0], np.int64),
        )
        self._levels = context.levels
        is_series = [not each.is_single for each in context.components]
        self._series = is_series.index(True) if any(is_series) else self._levels
        bounds = (self._series, self._series + any(is_series)) if shown else (0, self._levels)
        self._form = of.Form(
            int(self._program.code.asks),
            self._series,
            self._program.code.gate(self._series),
            *bounds,
        )
        self._is_shown, chunk = shown, context.options.chunk
        self._output = of.Output(
            np.empty((self._levels, chunk), np.int64),
            np.empty(chunk * self.events_a_match, np.int64),
            np.empty(chunk, np.int64),
            np.zeros(2, np.int64),
        )

    def _room(self, chunk: int) -> Written:
        """None: they are written in a way of their own."""
        return super()._room(0)

    def _incoming(self, block: Block, spots: Numbers) -> Incoming:
        """Also what a further event of the series is asked first, where that is simple to say."""
        self._gate, form = NO_GATE, self._form
        if form.gate != NOTHING and self._rules.strategy == NEXT_MATCH:
            accepted, attribute = self._program.code.asked(form.gate)
            lane = block.vector(attribute)
            if lane.valid is None and isinstance(lane.tag, int) and lane.tag in (INTEGER, FLOAT):
                values = np.ascontiguousarray(lane.values).view(np.int64)
                self._gate = Gate(accepted, lane.tag, frozen(values))
        return super()._incoming(block, spots)

    def _found(self, incoming: Incoming) -> Iterator[Bindings]:
        """The matches that events complete."""
        machine, state = self._program.machine(), self._runs.state
        state[AT] = 0
        why = NOTHING
        while why != DONE:
            self._make_room_for_events()
            why = advance_lines(
                machine, self._pattern, self._form, self._rules, self._gate, self._lines, incoming,
                self._output,
            )  # fmt: skip
            is_empty = not self._output.sizes[0]
            yield from self._results()
            if why != DONE:
                key = int(incoming.keys[state[AT]])
                if why == CROWDED:
                    self._make_room_for_nodes(1)
                    self._make_room_for_pieces(int(self._runs.counts[key]) + 1)
                elif why == FULL and is_empty:
                    self._make_room_for_matches(key)

    def _results(self) -> Iterator[Bindings]:
        """What was written, if anything was."""
        output, levels = self._output, self._levels
        matches, events = (int(size) for size in output.sizes)
        self._built += matches
        output.sizes[:] = 0
        if not matches:
            return
        found, room = detach(output.events, events)
        self._output = output._replace(events=room)
        ends, series = output.ends[:matches].copy(), self._series
        if self._is_shown:
            every = range(levels)
            singles = output.singles[:, :matches]
            bound = [found if level == series else singles[level].copy() for level in every]
            yield ColumnarBindings(bound, [ends if level == series else None for level in every])
        else:
            lengths = np.ones((levels, matches), np.int64)
            if series < levels:
                lengths[series] = ends - begins_of(ends) - (levels - 1)
            yield Bindings(found, ends, lengths)

    # ------------------------------------------------------------ room

    def _make_room_for_events(self) -> None:
        """What is known of each partition, and the rows as they are now."""
        held, more = self._lines.held, len(self._runs.heads) - len(self._lines.held)
        if more > 0:
            held = np.append(held, np.zeros(more, np.int64))
        self._lines = self._lines._replace(runs=self._runs, held=held)

    def _make_room_for_pieces(self, needed: int) -> None:
        pieces, sizes = self._lines.pieces, self._lines.sizes
        size = len(pieces)
        while size - int(sizes[of.USED_PIECES]) + int(sizes[of.SPARE_PIECES]) < needed:
            size *= 2
        if size > len(pieces):
            self._check_memory(8 * size * pieces.shape[1])
            larger = np.empty((size, pieces.shape[1]), np.int64)
            larger[: len(pieces)] = pieces
            self._lines = self._lines._replace(pieces=larger)

    def _make_room_for_matches(self, key: int) -> None:
        """Room for all that the lines of a partition may become by an event."""
        output, matches = self._output, int(self._runs.counts[key]) + 1
        events = int(self._lines.held[key]) + matches
        if matches > len(output.ends):
            room = np.empty((self._levels, matches), np.int64)
            output = output._replace(singles=room, ends=np.empty(matches, np.int64))
        if events > len(output.events):
            output = output._replace(events=np.empty(events, np.int64))
        self._output = output

    # ------------------------------------------------------------ time and state

    def horizon(self) -> int | None:
        """The first event of any line, once those that are over are gone."""
        bound = EARLIEST if self._clock.is_final else bound_of(self._clock, self._window)
        self._make_room_for_events()
        first = expire_lines(self._lines, self._rules, bound, self._clock.position)
        return None if first == NOTHING else int(first)

    def _counted(self, bytes_held: int) -> Counters:
        """What is counted for ANALYZE only."""
        own = self._lines.pieces.nbytes + self._output.events.nbytes
        return super()._counted(bytes_held + own)

    def checkpoint(self) -> Checkpoint:
        """The lines, and their events."""
        lines = self._lines
        used = int(lines.sizes[of.USED_PIECES])
        events = {"pieces": lines.pieces[:used], "held": lines.held, "sizes": lines.sizes}
        return {**super().checkpoint(), **events}

    def restore(self, saved: Checkpoint) -> None:
        """Go on from a state that was saved."""
        super().restore(saved)
        kept, lines = np.array(saved["pieces"], np.int64), self._lines
        pieces = np.empty((max(len(kept), len(lines.pieces)), of.PIECE + 1), np.int64)
        pieces[: len(kept)] = kept
        held, sizes = (np.array(saved[name], np.int64) for name in ("held", "sizes"))
        self._lines = of.Lines(self._runs, pieces, held, sizes)
