"""The straight way of a push: from a batch to what its events complete by one kernel.

Most streams come as small batches of one schema, in order and without NULLs, and most queries tell
events apart by type and key alone. Then the work on the events of a push is little beside the steps
from one part of the engine to the next, of which this way makes none. It writes into the state of
the same operators, so that any push may go either way: what it does not know it leaves untouched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import proxy

import numpy as np

from sase.binding.types import INTEGER
from sase.engine.columns.arrays import Numbers
from sase.engine.columns.batch_decoder import BatchDecoder, BatchTypes, UnreadBatch
from sase.engine.columns.c_data import Exported
from sase.engine.columns.input import SMALL, as_batch
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.scan.fused_scan import ROWS, Swept
from sase.engine.kernels.scan.straight import FOREIGN, Batch, Moment
from sase.engine.operators.transformation import Results
from sase.engine.pipeline.fused.scan import NO_DIGITS, Plain
from sase.engine.results.row_history import HistorySegment

if TYPE_CHECKING:
    from sase.engine.pipeline.matcher import Matcher

# What is found as long as nothing is known of the types.
NOTHING_KNOWN = Swept(0, 0, 0, FOREIGN)


class Straight:
    """Pushes batches onto the stacks of a matcher whose plan asks no more of events."""

    def __init__(self, matcher: Matcher, plain: Plain) -> None:
        # Not held: the matcher holds this, and both would stay until garbage is collected.
        self._matcher, self._plain = proxy(matcher), plain
        self._codes = plain.codes
        self._attributes = tuple(test.attribute for test in plain.key.tests)
        # The short way of the schema that came last, and its batches if they can go straight.
        self._quick: BatchDecoder | None = None
        self._exported: Exported | None = None
        # The types that came last, and how batches are read with them.
        self._types: BatchTypes | None = None
        self._reading: Batch | None = None
        self._room = np.empty((ROWS, 0), np.int64)

    @classmethod
    def of(cls, matcher: Matcher) -> Straight | None:
        """That of a matcher, if its plan is plain and rows are events in the order they come in."""
        plan, plain = matcher._plan, Plain.of(matcher)
        asks_more = (
            plan.schema.seq or plan.lateness or plan.on_bad_row != "error"
            or plan.options.analyze or matcher._stopwatch
        )  # fmt: skip
        return None if plain is None or asks_more else cls(matcher, plain)

    def push(self, events: object) -> list[Results] | None:
        """What a batch completes; None if nothing of it was taken, which is for the other way."""
        quick, batch = self._matcher._loader.decoder, as_batch(events)
        if quick is None or not quick.knows(batch) or not 0 < batch.num_rows <= SMALL:
            return None
        if self._quick is not quick:
            self._quick, self._exported, self._reading = quick, self._exporting(quick), None
        digits = self._codes.digits if self._attributes else NO_DIGITS
        if self._exported is None or digits is None:
            return None
        if batch.num_rows >= self._room.shape[1]:
            self._room = np.empty((len(self._room), 2 * batch.num_rows), np.int64)
        found = NOTHING_KNOWN
        if self._reading is not None:
            if self._reading.digits is not digits:
                self._reading = self._reading._replace(digits=digits)
            found = self._arrive(batch, self._exported, self._reading)
        if found.lacks == FOREIGN:
            types = BatchTypes.of(quick, batch)
            if types is None:
                return None
            self._types, self._reading = types, self._read(types, self._exported, digits)
            found = self._arrive(batch, self._exported, self._reading)
        if found.lacks or self._types is None:
            return None
        return self._pushed(UnreadBatch(self._types, batch), found)

    def _exporting(self, quick: BatchDecoder) -> Exported | None:
        """The batches of a schema, if all that keys are made of are whole numbers."""
        if quick.is_sparse or not quick.has_dictionary:
            return None
        known = {column.name: column for column in quick.columns}
        keys = [known.get(attribute) for attribute in self._attributes]
        whole = tuple(key for key in keys if key and key.is_plain and key.type == INTEGER)
        return Exported(quick, whole) if len(whole) == len(keys) else None

    def _read(self, types: BatchTypes, exported: Exported, digits: Numbers) -> Batch:
        """How batches are read that have these types."""
        states = types.by_index(self._matcher._front.states_of(types.names)[1:])
        return Batch(
            exported.address, exported.columns, types.identity, frozen(np.append([0], states)),
            digits, self._plain.measure,
        )  # fmt: skip

    def _arrive(self, batch: Any, exported: Exported, reading: Batch) -> Swept:
        """Push the events of a batch, unless it is to go another way."""
        matcher, (scan, construction, *_) = self._matcher, self._plain
        at, keys = matcher._front.at, self._plain.keys
        after = Moment(matcher._time, at.events, at.ties)
        exported.hold(batch)
        try:
            return scan.push_batch(reading, keys, after, self._room, construction.room)
        finally:
            exported.let_go()

    def _pushed(self, batch: UnreadBatch, found: Swept) -> list[Results]:
        """Remember the events that were pushed, and show what they complete."""
        matcher, (_, construction, top, *_) = self._matcher, self._plain
        last, length, at = found.reached, batch.batch.num_rows, matcher._front.at
        piece = HistorySegment(at.events, length, batch)
        if matcher._notes.unseen:
            matcher._notes.note_types(piece.events, slice(None))
        matcher._history = matcher._history.with_piece(piece)
        at.numbers += found.admitted
        at.events += length
        at.ties += length
        matcher._last, matcher._time = (last,), last
        matcher._reorder.passed(length, last)
        has_results = found.written > 0
        results = list(top.results(construction.construct(found.written))) if has_results else []
        self._plain.passed(matcher, length, found.admitted, last)
        return results
