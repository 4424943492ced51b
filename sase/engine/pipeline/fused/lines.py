"""Fused lines: one kernel executes deterministic runs over loaded columns.

Such are series of which a further event is compared with the one before it, or with none: rising
prices, or all events of a kind up to another one. The conditions on single events are decided for
many of them before, and one kernel goes from the columns to the matches. It keeps lines in a store
of its own, so that an input goes this way as a whole or not at all.

Shared lines are a path of their own: where nothing is asked of several events but a key, another
kernel has the lines that wait for the same events in one stack.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, TypeAlias
from weakref import proxy

import numpy as np
from numpy.typing import NDArray

from sase.engine.blocks.block import Block, EventRange, Watermark
from sase.engine.columns import Events
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.jit.arrow_memory import forms_of
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.scan.admission import look_up_states
from sase.engine.kernels.scan.fused_scan import ADDRESS
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.kleene.line_evaluation import LineEvaluationState
from sase.engine.operators.kleene.stretch_evaluation import StretchEvaluationState
from sase.engine.operators.transformation import Results, TransformationState
from sase.engine.pipeline.fused.scan import (
    CODES_AS_THEY_ARE,
    NO_DIGITS,
    SHARE,
    far_apart,
    numbers_of_keys,
)
from sase.engine.pipeline.pipeline import Pipeline
from sase.planning.physical.drive import Need
from sase.planning.physical.line_drives import FusedLinesDrive, SharedLinesDrive

Evaluating: TypeAlias = LineEvaluationState | StretchEvaluationState
# Each key takes a line of the cache.
MOST_KEYS = 1 << 23
# The conditions on single events are decided for so many blocks at once, as they take a byte each.
BLOCKS = 4
# Every event is gone through: of so many first ones a share must be of the query's types.
FIRST = 1 << 12
ONE_NUMBER = bytes(8)
# The parts of a stopwatch.
EVALUATION, OUTPUT = 1, 2


class FusedLines:
    """Takes a pipeline through events that are loaded, which are all there are.

    It `shares` what lines take, or keeps them one by one, also where events turn out to need that.
    """

    needs_all = True

    def __init__(self, pipeline: Pipeline, drive: SharedLinesDrive | FusedLinesDrive) -> None:
        evaluation, top = pipeline.operators
        assert isinstance(evaluation, Evaluating)
        assert isinstance(top, TransformationState)
        # Not held: the pipeline holds this, and both would stay until garbage is collected.
        self._pipeline, self._evaluation, self._top = proxy(pipeline), evaluation, top
        self._shares = isinstance(drive, SharedLinesDrive)
        self._has_series, self._stopwatch = drive.has_series, pipeline.stopwatch
        self.meter = pipeline.meter(drive.name)
        self._codes = pipeline.dictionary.codes_of(evaluation.key)
        # The numbers of keys, once it is known that events can be fused; none of codes by a table.
        self._arrays: list[NDArray[Any]] | None = None
        self._has_table = False
        self._refused: Need | None = None
        # The types of the last events, and their levels.
        self._states: tuple[tuple[str, ...], NDArray[np.uint8]] | None = None

    def uncoded(self, events: Events) -> list[str]:
        """The keys that lie far apart, where enough events are of the query's types."""
        if events.by_type:
            return []
        found = far_apart(events, self._evaluation.key.tests, self._pipeline.plan.options.block)
        return found if found and self._pays(events) else []

    def run(self, events: Events) -> Generator[Results, None, int]:
        """The results of all events, or of none: how many were gone through."""
        count = len(events)
        if not count:
            return 0
        if not self.takes_all(events):
            self.meter.refused = None if self._refused is None else self._refused.value
            return 0
        assert self._arrays is not None
        pipeline, evaluation, at = self._pipeline, self._evaluation, self._pipeline.at
        keys, digits = forms_of(self._arrays), self._codes.digits
        digits, by_code = NO_DIGITS if digits is None else digits, self._states_of(events)
        codes = np.empty(0, np.int64)
        position, size = at.events, pipeline.plan.options.block
        # Codes that are looked up take room, event by event.
        step = size if self._has_table else BLOCKS * size
        for begin in range(0, count, step):
            piece = self._block(events, begin, min(begin + step, count), position)
            states = _by_type(by_code, events.types[piece.rows])
            if self._has_table:
                codes = self._looked_up(piece, states)
                assert isinstance(evaluation, LineEvaluationState)
                evaluation.make_room_for_keys(pipeline.dictionary.size(evaluation.key))
                keys, digits = forms_of([codes]), CODES_AS_THEY_ARE
                keys[:, ADDRESS] -= codes.itemsize * begin  # their first row is that of the piece
            stream = evaluation.stream(piece, states, keys, digits)
            pipeline.warnings.note_types(events, piece.rows)
            length = len(piece)
            for first in range(0, length, size):
                end = min(first + size, length)
                yield from self._results(evaluation.push_stream(stream, end))
                at.events = at.numbers = position + begin + end
                evaluation.advance(Watermark(int(piece.ts[end - 1]), at.events), iter(()))
                pipeline.watch(at.events)
                pipeline.check(0)
                pipeline.evict_when_due()
        yield from self._results(evaluation.rest())
        return count

    def _results(self, found: Iterator[Bindings]) -> Iterator[Results]:
        """The results that matches are; the time of both operators is counted."""
        watch = self._stopwatch
        if watch is None:
            return self._top.results(found)
        return watch.pulled(OUTPUT, self._top.results(watch.pulled(EVALUATION, found)))

    def takes_all(self, events: Events) -> bool:
        """Whether these events are fused: there are codes of all keys, and whole columns."""
        if self._arrays is None:
            self._refused = self._begin(events)
        return self._arrays is not None

    def _begin(self, events: Events) -> Need | None:
        """Prepare to fuse events, or return the need that they do not meet."""
        pipeline, evaluation = self._pipeline, self._evaluation
        if events.by_type or not self._pays(events):
            return Need.MOST_OF_TYPES
        arrays = numbers_of_keys(events, evaluation.key.tests)
        if arrays is None:
            return Need.INTEGER_KEYS
        ranges = np.array([(each.min(), each.max()) for each in arrays], np.int64)
        if self._shares and len(events.ties) and self._has_series:
            self.meter.refused = Need.NO_TIES.value
            self.meter, self._shares = pipeline.meter(FusedLinesDrive.name), False
        if arrays and not (self._codes.is_open and self._codes.fit(ranges, len(events))):
            if not self._shares:
                return Need.CODES_FIT
            arrays, self._has_table = [], True
        keys = pipeline.dictionary.size(evaluation.key)
        if keys > MOST_KEYS:
            return Need.FEW_KEYS
        if not self._begin_evaluation(events, keys):
            return Need.NUMBERS
        self._arrays = arrays
        return None

    def _begin_evaluation(self, events: Events, keys: int) -> bool:
        """Whether the evaluation can be fused over events with so many keys."""
        evaluation = self._evaluation
        if self._shares:
            assert isinstance(evaluation, LineEvaluationState)
            evaluation.begin_shared(keys)
            return True
        block, is_ranked = self._block(events, 0, len(events), 0), bool(self._pipeline.plan.ranked)
        return evaluation.begin(block, keys, is_ranked=is_ranked)

    def _states_of(self, events: Events) -> NDArray[np.uint8]:
        """The levels that admit each type, by its code plus one; the first is that of no type."""
        known = self._states
        if known is None or known[0] is not events.type_names:
            states = self._pipeline.builder.states_of(events.type_names)
            known = self._states = events.type_names, frozen(states.astype(np.uint8))
        return known[1]

    def _pays(self, events: Events) -> bool:
        """Whether enough events are of types that the query names."""
        types = events.types[:FIRST]
        if not len(types):
            return False
        known = np.count_nonzero(_by_type(self._states_of(events), types))
        return bool(known >= SHARE * len(types))

    def _looked_up(self, piece: Block, states: NDArray[np.uint8]) -> Numbers:
        """The codes by a table of the keys of a piece, where a component admits an event's type."""
        codes, rows = np.zeros(len(piece), np.int64), np.flatnonzero(states)
        places = rows + piece.range.begin
        numbers = places + piece.range.position
        some = Block(piece.range, places, rows, piece.ts[rows], numbers, numbers, piece.coding)
        codes[rows] = some.codes(self._evaluation.key)
        return codes

    def _block(self, events: Events, begin: int, end: int, position: int) -> Block:
        """All events of a piece, which are asked for their types and attributes alone."""
        # One number as an array, which is not repeated in memory.
        number = np.ndarray((end - begin,), np.int64, ONE_NUMBER, strides=(0,))
        coding = self._pipeline.dictionary
        stretch = EventRange(events, begin, end, position, self._pipeline.at.ties)
        return Block(stretch, number, number, events.ts[begin:end], number, number, coding)


def _by_type(by_code: NDArray[np.uint8], types: NDArray[Any]) -> NDArray[np.uint8]:
    """What events have by the code of their type, of which there may be but one."""
    if len(by_code) == 2 and types.min() == 0:
        return np.full(len(types), by_code[1])
    states = np.empty(len(types), np.uint8)
    look_up_states(by_code, types, states)  # seven times as fast as by an index of arrays
    return states
