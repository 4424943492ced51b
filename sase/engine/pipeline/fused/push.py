"""The fused push: one kernel processes a pushed batch, from Arrow's memory to the sequences.

Most streams come as small batches of one schema, in order and without NULLs, and most queries have
conditions on types and keys only. Then the operators need little time for a push; most of it is
spent on calls between the parts of the engine. This path avoids these calls. It writes into the
state of the same operators, so each push may take either way. A batch that it cannot read it leaves
untouched.
"""

from __future__ import annotations

from functools import partial
from typing import Any
from weakref import ref

import numpy as np

from sase.binding.types import INTEGER
from sase.engine.columns.arrays import Numbers
from sase.engine.columns.arrow.input import SMALL, as_batch
from sase.engine.columns.batch_memory import BatchMemory
from sase.engine.columns.decode.batch_decoder import BatchDecoder, BatchTypes, UnreadBatch
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.scan.fused_scan import FOREIGN, ROWS, BatchLayout, ScanResult
from sase.engine.operators.transformation import Results
from sase.engine.pipeline.fused.scan import NO_DIGITS, SequenceOperators
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.results.row_history import HistorySegment
from sase.planning.physical.drive import Need
from sase.planning.physical.stack_drives import FusedPushDrive


class FusedPush:
    """Pushes batches onto the stacks of a plan with conditions on types and keys only."""

    def __init__(self, pipeline: Pipeline, drive: FusedPushDrive) -> None:
        operators = SequenceOperators.of(pipeline, drive.key)
        # The pipeline is not held: it holds this object, and both would stay until garbage is
        # collected. No proxy either, which looks up its object at each use.
        self._held, self._fused, self._stacks = ref(pipeline), operators, operators.stacks
        self.use = pipeline.use_of(drive.name)
        self._stopwatch, self._counting = pipeline.stopwatch, operators.counting(pipeline)
        self._codes = operators.codes
        self._attributes = tuple(test.attribute for test in operators.key.tests)
        # The decoder of the last schema, and the exporter of its batches if they can be read in
        # place.
        self._decoder: BatchDecoder | None = None
        self._memory: BatchMemory | None = None
        # The last dictionary of types, and how batches with it are read.
        self._types: BatchTypes | None = None
        self._layout: BatchLayout | None = None
        self._buffer = np.empty((ROWS, 0), np.int64)

    def push(self, events: object) -> list[Results] | None:
        """The results that a batch completes; None if nothing of it was taken."""
        pipeline = self._held()
        assert pipeline is not None, "a pipeline holds its path"
        decoder = pipeline.loader.decoder
        if decoder is None:
            return self._refuse(Need.SAME_SCHEMA) if pipeline.at.events else None
        batch = as_batch(events, decoder.schema)
        if not decoder.accepts(batch):
            return self._refuse(Need.SAME_SCHEMA)
        if not 0 < batch.num_rows <= SMALL:
            return self._refuse(Need.SMALL_BATCH) if batch.num_rows else None
        if self._decoder is not decoder:
            self._decoder, self._memory, self._layout = decoder, self._memory_of(decoder), None
        digits = self._codes.digits if self._attributes else NO_DIGITS
        if self._memory is None or digits is None:
            return self._refuse(Need.IN_PLACE if self._memory is None else Need.CODES_FIT)
        if batch.num_rows >= self._buffer.shape[1]:
            self._buffer = np.empty((len(self._buffer), 2 * batch.num_rows), np.int64)
        memory, layout = self._memory, self._layout
        exported = memory.export(batch)
        if layout is not None and layout.digits is not digits:
            layout = layout._replace(digits=digits)
        lacks = FOREIGN if layout is None else memory.lacks(exported, layout)
        if lacks == FOREIGN:
            layout = self._layout_of(batch, digits)
            lacks = FOREIGN if layout is None else memory.lacks(exported, layout)
        self._layout = layout
        if lacks or layout is None:
            return self._refuse(Need.IN_PLACE)
        found = self._arrive(pipeline, exported.address, layout)
        return self._refuse(Need.FOLLOWING) if found.lacks else self._pushed(pipeline, batch, found)

    def _refuse(self, need: Need) -> list[Results] | None:
        """Leave a batch that does not meet a need to the operators."""
        self.use.refused = need.value
        return None

    def _memory_of(self, decoder: BatchDecoder) -> BatchMemory | None:
        """The exporter for batches of a schema, if all parts of keys are integers."""
        if decoder.is_sparse or not decoder.has_dictionary:
            return None
        known = {column.name: column for column in decoder.columns}
        keys = [known.pop(attribute, None) for attribute in self._attributes]
        whole = tuple(key for key in keys if key and key.is_plain and key.type == INTEGER)
        return BatchMemory(decoder, whole) if len(whole) == len(keys) and not known else None

    def _layout_of(self, batch: Any, digits: Numbers) -> BatchLayout | None:
        """How batches that share a dictionary are read, if that dictionary was loaded."""
        assert self._decoder is not None
        assert self._memory is not None
        try:
            self._types = BatchTypes.of(self._decoder, batch.column(self._decoder.type.at))
        except SystemError:  # Python raises it for a length below 0
            return None
        if self._types is None:
            return None
        states = self._types.by_index(self._fused.states_of(self._types.names)[1:])
        known = self._types.identity, frozen(np.append([0], states)), digits
        window = self._fused.measure, self._fused.scan.span
        return BatchLayout(self._memory.columns, *known, *window, self._stacks.tagged)

    def _arrive(self, pipeline: Pipeline, batch: int, layout: BatchLayout) -> ScanResult:
        """Push the events of an exported batch, unless they must take another way."""
        fused = self._fused
        at, push, counting = pipeline.at, self._stacks.push_batch, self._counting
        after = pipeline.state.watermark, at.events, at.ties
        keys, room = self._codes.size, fused.construction.room
        if self._stopwatch is None:
            found = push(batch, layout, keys, after, counting, self._buffer, room)
        else:
            step = partial(push, batch, layout, keys, after, counting, self._buffer, room)
            found = fused.timed(self._stopwatch, counting, step)
        fused.count(found.admitted)
        return found

    def _pushed(self, pipeline: Pipeline, batch: Any, found: ScanResult) -> list[Results]:
        """Remember the pushed events, and make results of the sequences."""
        assert self._types is not None
        assert self._memory is not None
        unread = UnreadBatch(self._types, batch, self._memory.proof)
        at, state, warnings = pipeline.at, pipeline.state, pipeline.warnings
        last, length = found.reached, batch.num_rows
        piece = HistorySegment(at.events, length, unread)
        if warnings.unseen:
            warnings.note_types(piece.events, slice(None))
        if warnings.ties is not None:
            warnings.ties.pass_by(length, found.admitted, lambda: piece.events)
        state.history = state.history.with_piece(piece)
        at.numbers += found.admitted
        at.events += length
        at.ties += length
        state.last, state.watermark = (last,), last
        pipeline.reorder_buffer.passed(length, last)
        results: list[Results] = []
        if found.written:
            sequences = self._fused.construction.construct(found.written)
            results = list(self._fused.shown(self._stopwatch, sequences))
            self.use.matches += sum(map(len, results))
        self.use.events += length
        self._fused.advance(pipeline, length, found.admitted, last)
        return results


class _TimedPush(FusedPush):
    """The fused push with time measured."""

    def push(self, events: object) -> list[Results] | None:
        watch = self._stopwatch
        assert watch is not None
        before = watch.total
        results = watch.during(0, partial(super().push, events))
        self.use.spend(watch.total - before)
        return results


def fused_push(pipeline: Pipeline, drive: FusedPushDrive) -> FusedPush:
    """Open the drive of a pipeline, with time measured if the pipeline measures it."""
    return (FusedPush if pipeline.stopwatch is None else _TimedPush)(pipeline, drive)
