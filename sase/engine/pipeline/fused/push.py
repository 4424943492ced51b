"""The fused push: one kernel takes a pushed batch from Arrow's memory to what its events complete.

Most streams come as small batches of one schema, in order and without NULLs, and most queries tell
events apart by type and key alone. Then the work on the events of a push is little beside the steps
from one part of the engine to the next, of which this path makes none. It writes into the state of
the same operators, so that any push may go either way: what it does not know it leaves untouched.
"""

from __future__ import annotations

from functools import partial
from typing import Any
from weakref import proxy

import numpy as np

from sase.binding.types import INTEGER
from sase.engine.columns.arrays import Numbers
from sase.engine.columns.batch_decoder import BatchDecoder, BatchTypes, UnreadBatch
from sase.engine.columns.c_data import BatchExport
from sase.engine.columns.input import SMALL, as_batch
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.scan.fused_scan import (
    FOREIGN,
    ROWS,
    BatchLayout,
    ScanResult,
    StreamEnd,
)
from sase.engine.operators.transformation import Results
from sase.engine.pipeline.fused.contract import FusedKind
from sase.engine.pipeline.fused.scan import NO_DIGITS
from sase.engine.pipeline.fused.sequence import OUTPUT, SequenceOperators, timed_by_kernel
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.results.row_history import HistorySegment
from sase.planning.physical import Feed
from sase.planning.rewrites.contract import Declined

# What is found as long as nothing is known of the types.
NOTHING_KNOWN = ScanResult(0, 0, 0, FOREIGN)


class FusedPush:
    """Pushes batches onto the stacks of a pipeline whose plan asks no more of events."""

    def __init__(self, pipeline: Pipeline, operators: SequenceOperators) -> None:
        # Not held: the pipeline holds this, and both would stay until garbage is collected.
        self._pipeline, self._fused = proxy(pipeline), operators
        self.meter = pipeline.meter(KIND.name)
        self._stopwatch, self._counting = pipeline.stopwatch, operators.counting(pipeline)
        self._codes = operators.codes
        self._attributes = tuple(test.attribute for test in operators.key.tests)
        # The decoder of the schema that came last, and its batches if they can be read in place.
        self._decoder: BatchDecoder | None = None
        self._exported: BatchExport | None = None
        # The types that came last, and how batches are read with them.
        self._types: BatchTypes | None = None
        self._reading: BatchLayout | None = None
        self._buffer = np.empty((ROWS, 0), np.int64)

    @classmethod
    def of(cls, pipeline: Pipeline) -> FusedPush | Declined:
        """Return the path of a pipeline whose rows need no sorting, or why it declines."""
        plan, operators = pipeline.plan, SequenceOperators.of(pipeline)
        if isinstance(operators, Declined):
            return operators
        asks_more = {
            "events are ordered by `seq`": plan.schema.seq,
            "rows wait for late ones": plan.lateness,
            "bad rows go to quarantine": plan.on_bad_row != "error",
        }
        for reason, holds in asks_more.items():
            if holds:
                return Declined(reason)
        return cls(pipeline, operators)

    def push(self, events: object) -> list[Results] | None:
        """The results that a batch completes; None if nothing of it was taken."""
        watch = self._stopwatch
        if watch is None:
            return self._push(events)
        before = watch.total
        results = watch.during(0, partial(self._push, events))
        self.meter.spend(watch.total - before)
        return results

    def _push(self, events: object) -> list[Results] | None:
        decoder, batch = self._pipeline.loader.decoder, as_batch(events)
        if decoder is None or not decoder.accepts(batch) or not 0 < batch.num_rows <= SMALL:
            return None
        decoder.prove(batch, self._pipeline.loader.gate)
        if self._decoder is not decoder:
            self._decoder, self._exported, self._reading = decoder, self._export_of(decoder), None
        digits = self._codes.digits if self._attributes else NO_DIGITS
        if self._exported is None or digits is None:
            return None
        if batch.num_rows >= self._buffer.shape[1]:
            self._buffer = np.empty((len(self._buffer), 2 * batch.num_rows), np.int64)
        found = NOTHING_KNOWN
        if self._reading is not None:
            if self._reading.digits is not digits:
                self._reading = self._reading._replace(digits=digits)
            found = self._arrive(batch, self._exported, self._reading)
        if found.lacks == FOREIGN:
            types = BatchTypes.of(decoder, batch)
            if types is None:
                return None
            self._types, self._reading = types, self._read(types, self._exported, digits)
            found = self._arrive(batch, self._exported, self._reading)
        if found.lacks or self._types is None:
            return None
        return self._pushed(UnreadBatch(self._types, batch), found)

    def _export_of(self, decoder: BatchDecoder) -> BatchExport | None:
        """The batches of a schema, if all that keys are made of are whole numbers."""
        if decoder.is_sparse or not decoder.has_dictionary:
            return None
        known = {column.name: column for column in decoder.columns}
        keys = [known.get(attribute) for attribute in self._attributes]
        whole = tuple(key for key in keys if key and key.is_plain and key.type == INTEGER)
        return BatchExport(decoder, whole) if len(whole) == len(keys) else None

    def _read(self, types: BatchTypes, exported: BatchExport, digits: Numbers) -> BatchLayout:
        """How batches are read that have these types."""
        states = types.by_index(self._pipeline.builder.states_of(types.names)[1:])
        return BatchLayout(
            exported.address, exported.columns, types.identity, frozen(np.append([0], states)),
            digits, self._fused.measure,
        )  # fmt: skip

    def _arrive(self, batch: Any, exported: BatchExport, reading: BatchLayout) -> ScanResult:
        """Push the events of a batch, unless it is to go another way."""
        pipeline, (scan, construction, *_) = self._pipeline, self._fused
        at, keys = pipeline.at, self._fused.keys
        after = StreamEnd(pipeline.state.watermark, at.events, at.ties)
        push = partial(
            self._fused.stacks.push_batch,
            *(reading, keys, after, scan.span, self._counting, self._buffer, construction.room),
        )
        exported.export(batch)
        try:
            found = timed_by_kernel(self._stopwatch, self._counting, push)
        finally:
            exported.release()
        scan.count(found.admitted)
        return found

    def _pushed(self, batch: UnreadBatch, found: ScanResult) -> list[Results]:
        """Remember the events that were pushed, and show what they complete."""
        pipeline, (_, construction, top, *_) = self._pipeline, self._fused
        last, length, at = found.reached, batch.batch.num_rows, pipeline.at
        state, piece = pipeline.state, HistorySegment(at.events, length, batch)
        if pipeline.warnings.unseen:
            pipeline.warnings.note_types(piece.events, slice(None))
        if pipeline.warnings.ties is not None:
            pipeline.warnings.ties.pass_by(length, found.admitted, lambda: piece.events)
        state.history = state.history.with_piece(piece)
        at.numbers += found.admitted
        at.events += length
        at.ties += length
        state.last, state.watermark = (last,), last
        pipeline.reorder_buffer.passed(length, last)
        results: list[Results] = []
        if found.written:
            shown, watch = top.results(construction.construct(found.written)), self._stopwatch
            results = list(shown if watch is None else watch.pulled(OUTPUT, shown))
            self.meter.matches += sum(map(len, results))
        self.meter.events += length
        self._fused.advance(pipeline, length, found.admitted, last)
        return results


KIND = FusedKind(
    "fused push",
    Feed.PUSHED,
    "scan, construction and output by one kernel from the memory of each batch",
    FusedPush.of,
)
