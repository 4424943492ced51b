"""Fused lines: one kernel executes deterministic runs over loaded columns.

It executes series with conditions between a further event and the event before it, or with
conditions on single events only. Examples are rising prices, or all events of a kind up to another
one. The conditions on single events are decided for several blocks in advance, and one kernel makes
matches from the columns. It keeps lines in a store of its own, so it takes an input as a whole or
not at all.

Shared lines are a separate path. Where the key is the only condition between events, another kernel
keeps the lines that wait for the same events in one stack.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any
from weakref import proxy

import numpy as np
from numpy.typing import NDArray

from sase.engine.blocks.block import Block, EventRange, Watermark
from sase.engine.columns import Events
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.jit.arrow_memory import forms_of
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.kleene.line_scan import LineStream
from sase.engine.kernels.kleene.run_nodes import DONE, FULL
from sase.engine.kernels.scan.admission import look_up_states
from sase.engine.kernels.scan.fused_scan import ADDRESS
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.batch_stacks import MOST_NUMBERS
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.kleene.evaluation import RunEvaluationBase
from sase.engine.operators.kleene.line_store import LineStore
from sase.engine.operators.kleene.run_operator import RunOperator
from sase.engine.operators.kleene.shared_line_store import SharedLineStore
from sase.engine.operators.kleene.stretch_store import StretchStore
from sase.engine.operators.transformation import Results, TransformationState
from sase.engine.pipeline.fused.keys import estimated, far_apart, numbers_of_keys
from sase.engine.pipeline.fused.scan import (
    CODES_AS_THEY_ARE,
    NO_DIGITS,
    SHARE,
)
from sase.engine.pipeline.pipeline import Pipeline
from sase.planning.cost_values import OF_ROWS
from sase.planning.physical.drive import Need
from sase.planning.physical.line_drives import FusedLinesDrive, LineDrive, SharedLinesDrive

# Each key of lines that are kept alone takes a cache line.
MOST_KEYS = 1 << 23
# The blocks for which the conditions on single events are decided at once: a byte per event.
BLOCKS = 4
ONE_NUMBER = bytes(8)
# The parts of a stopwatch.
EVALUATION, OUTPUT = 1, 2


class FusedLines:
    """Runs a pipeline over loaded, complete events.

    With `shares` lines share stacks. Otherwise, or if the events require it, each line is kept
    alone.
    """

    needs_all = True

    def __init__(self, pipeline: Pipeline, drive: LineDrive) -> None:
        evaluation, top = pipeline.operators
        assert isinstance(evaluation, RunEvaluationBase)
        assert isinstance(top, TransformationState)
        # A proxy: the pipeline holds this object, and a circle of references would delay freeing
        # both.
        self._pipeline, self._top = proxy(pipeline), top
        self._evaluation: RunEvaluationBase = evaluation
        self._shares = isinstance(drive, SharedLinesDrive)
        self._stopwatch = pipeline.stopwatch
        self.use = pipeline.use_of(drive.name)
        self._codes = pipeline.dictionary.codes_of(evaluation.key)
        # The numbers of keys, once it is certain that events can be fused; none if a table gives
        # codes.
        self._arrays: list[NDArray[Any]] | None = None
        self._has_table = False
        self._refused: Need | None = None
        # The types of the last events, and their levels.
        self._states: tuple[tuple[str, ...], NDArray[np.uint8]] | None = None

    def uncoded(self, events: Events, parts: int) -> list[str]:
        """The keys with widely spread values, if enough events are of the query's types."""
        tests, block = self._evaluation.key.tests, self._pipeline.plan.options.block
        found = far_apart(events, tests, block, self._codes_of_rows(events), parts)
        return found if found and self._is_of_types(events) else []

    def run(self, events: Events) -> Generator[Results, None, int]:
        """Yield the results of all events and return their count, or return 0."""
        if not self.takes_all(events):
            self.use.refused = None if self._refused is None else self._refused.value
            return 0
        yield from self._run_all(events)
        return len(events)

    def _run_all(self, events: Events) -> Generator[Results, None, None]:
        """Yield the results of all events, which can be fused."""
        assert self._arrays is not None
        pipeline, evaluation, at = self._pipeline, self._evaluation, self._pipeline.at
        count, lines = len(events), self._lines
        keys, digits = forms_of(self._arrays), self._codes.digits
        digits, by_code = NO_DIGITS if digits is None else digits, self._states_of(events)
        codes = np.empty(0, np.int64)
        position, size = at.events, pipeline.plan.options.block
        # Codes from a table take memory for each event.
        step = size if self._has_table else BLOCKS * size
        for begin in range(0, count, step):
            piece = self._block(events, begin, min(begin + step, count), position)
            states = states_by_code(by_code, events.types[piece.rows])
            if self._has_table:
                codes = self._looked_up(piece, states)
                lines.make_room_for_keys(pipeline.dictionary.size(evaluation.key))
                keys, digits = forms_of([codes]), CODES_AS_THEY_ARE
                keys[:, ADDRESS] -= codes.itemsize * begin  # from the first row of the piece
            evaluation.see(int(np.count_nonzero(states)))
            stream = lines.stream(piece, states, keys, digits)
            pipeline.warnings.note_types(events, piece.rows)
            length = len(piece)
            for first in range(0, length, size):
                end = min(first + size, length)
                yield from self._results(self._found(stream, end))
                at.events = at.numbers = position + begin + end
                evaluation.advance(Watermark(int(piece.ts[end - 1]), at.events), iter(()))
                pipeline.watch(at.events)
                pipeline.check(0)
                pipeline.evict_when_due()
        yield from self._results(evaluation.flushed(DONE))

    @property
    def _lines(self) -> LineStore | StretchStore:
        """The store of the runs of the evaluation."""
        assert isinstance(self._evaluation, RunOperator)
        lines = self._evaluation.store
        assert isinstance(lines, LineStore | StretchStore)
        return lines

    def _found(self, stream: LineStream, end: int) -> Iterator[Bindings]:
        """Apply events up to a given one, and yield matches whenever the room is full."""
        lines, why = self._lines, NOTHING
        while why != DONE:
            why = lines.push_stream(stream, end)
            self._pipeline.check(0)
            if why == FULL:
                yield from self._evaluation.flushed(why)

    def _results(self, bindings: Iterator[Bindings]) -> Iterator[Results]:
        """Make results of matches, and count the time of both operators."""
        watch = self._stopwatch
        if watch is None:
            return self._top.results(bindings)
        return watch.pulled(OUTPUT, self._top.results(watch.pulled(EVALUATION, bindings)))

    def takes_all(self, events: Events) -> bool:
        """Whether these events can be fused: all keys have codes, and columns are whole.

        No events are not.
        """
        if self._arrays is None and len(events):
            self._refused = self._begin(events)
        return self._arrays is not None

    def _begin(self, events: Events) -> Need | None:
        """Prepare to fuse events, or return the need that they do not meet."""
        pipeline, evaluation = self._pipeline, self._evaluation
        if not self._pays(events):
            return Need.MOST_OF_TYPES
        arrays = numbers_of_keys(events, evaluation.key.tests)
        if arrays is None:
            return Need.INTEGER_KEYS
        ranges = np.array([(each.min(), each.max()) for each in arrays], np.int64)
        if self._shares and len(events) >= MOST_NUMBERS:
            self.use.refused = Need.FEW_EVENTS.value
            self.use, self._shares = pipeline.use_of(FusedLinesDrive.name), False
        codes = self._codes_of_rows(events)
        if arrays and not (self._codes.is_open and self._codes.fit(ranges, len(events), codes)):
            if not self._shares:
                return Need.CODES_FIT
            arrays, self._has_table = [], True
        keys = pipeline.dictionary.size(evaluation.key)
        if keys > MOST_KEYS and not codes:
            return Need.FEW_KEYS
        if not self._begin_evaluation(events, keys):
            return Need.NUMBERS
        self._arrays = arrays
        return None

    def _codes_of_rows(self, events: Events) -> int:
        """How many codes stacks of rows may have; none if lines are kept alone."""
        return OF_ROWS * len(events) if self._shares else 0

    def _begin_evaluation(self, events: Events, keys: int) -> bool:
        """Whether the evaluation can be fused over events with this number of keys."""
        if self._shares:
            assert isinstance(self._evaluation, RunOperator)
            self._evaluation.keep_in(SharedLineStore)
        block, is_ranked = self._block(events, 0, len(events), 0), bool(self._pipeline.plan.ranked)
        return self._lines.begin(block, keys, is_ranked=is_ranked)

    def _states_of(self, events: Events) -> NDArray[np.uint8]:
        """The levels that admit each type, by its code plus one; the first entry is for no type."""
        known = self._states
        if known is None or known[0] is not events.type_names:
            states = self._pipeline.builder.states_of(events.type_names)
            known = self._states = events.type_names, frozen(states.astype(np.uint8))
        return known[1]

    def _pays(self, events: Events) -> bool:
        """Whether a kernel that visits every event pays."""
        return self._is_of_types(events)

    def _is_of_types(self, events: Events) -> bool:
        """Whether enough events are of types that the query names, and all in whole columns."""
        return not events.by_type and self._of_types(events) >= SHARE * max(len(events), 1)

    def _of_types(self, events: Events) -> int:
        """How many events are of types that the query names, estimated from a sample."""
        states = self._states_of(events)
        return estimated(events, lambda types: int(np.count_nonzero(states_by_code(states, types))))

    def _looked_up(self, piece: Block, states: NDArray[np.uint8]) -> Numbers:
        """The key codes of a piece by a table, for events of admitted types."""
        codes, rows = np.zeros(len(piece), np.int64), np.flatnonzero(states)
        places = rows + piece.range.begin
        numbers = places + piece.range.position
        some = Block(piece.range, places, rows, piece.ts[rows], numbers, numbers, piece.coding)
        codes[rows] = some.codes(self._evaluation.key)
        return codes

    def _block(self, events: Events, begin: int, end: int, position: int) -> Block:
        """A block of all events of a piece; only types and attributes are read from it."""
        # One number as an array with stride 0, without copies in memory.
        number = np.ndarray((end - begin,), np.int64, ONE_NUMBER, strides=(0,))
        coding = self._pipeline.dictionary
        stretch = EventRange(events, begin, end, position, self._pipeline.at.ties)
        return Block(stretch, number, number, events.ts[begin:end], number, number, coding)


def states_by_code(by_code: NDArray[np.uint8], types: NDArray[Any]) -> NDArray[np.uint8]:
    """Look up the states of events by the codes of their types, of which there may be only one."""
    if len(by_code) == 2 and types.min() == 0:
        return np.full(len(types), by_code[1])
    states = np.empty(len(types), np.uint8)
    look_up_states(by_code, types, states)  # seven times as fast as fancy indexing
    return states
