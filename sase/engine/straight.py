"""The straight way of a push: from the columns of a batch onto the stacks by one kernel.

Most streams come as small batches of one schema, in order and without NULLs, and most queries tell
events apart by type and key alone. Then the work on the events of a push is little beside the steps
from one part of the engine to the next, of which this way makes none. It writes into the state of
the same operators, so that any push may go either way: what it does not know it leaves untouched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sase.binding.bound import WindowKind
from sase.binding.types import Kind
from sase.engine.block import Clock, Tests
from sase.engine.events import Events
from sase.engine.events.inputs import Input, Inputs
from sase.engine.events.quick import Place, Quick, whole_numbers
from sase.engine.history import Piece
from sase.engine.kernels.arrivals import Moment, arrive
from sase.engine.kernels.stacks import Arrivals
from sase.engine.operators.sequence_construction import SequenceConstructionState
from sase.engine.operators.sequence_scan import SequenceScanState
from sase.engine.operators.transformation import Results, TransformationState

if TYPE_CHECKING:
    from sase.engine.matcher import Matcher

# The rows of a small batch: larger ones gain nothing.
SMALL = 1 << 14
NO_DIGITS = np.zeros((0, 3), np.int64)


class _Operators(NamedTuple):
    """Those of a plan that is nothing but stacks and the walk through them."""

    scan: SequenceScanState
    construction: SequenceConstructionState
    top: TransformationState


class _Columns(NamedTuple):
    """Where a schema has the numbers of the key, by test; None if these are not all such."""

    quick: Quick
    keys: tuple[Place, ...] | None


class Straight:
    """Pushes batches onto the stacks of a matcher whose plan asks no more of events."""

    def __init__(self, matcher: Matcher, operators: _Operators, tests: Tests) -> None:
        self._matcher, self._operators, self._tests = matcher, operators, tests
        window, coding = operators.scan.measured, matcher._context.coding
        self._by_position = window is not None and window.kind is WindowKind.EVENTS
        self._codes = coding.codes_of(coding.key(tests))
        self._columns: _Columns | None = None
        self._keys = np.empty((len(tests), 0), np.int64)
        self._out = np.empty((5, 0), np.int64)

    @classmethod
    def of(cls, matcher: Matcher) -> Straight | None:
        """That of a matcher, if its plan tells events apart by type and key alone."""
        plan, (scan, *above) = matcher._plan, matcher._operators
        if not isinstance(scan, SequenceScanState) or len(above) != 2:
            return None
        construction, top = above
        assert isinstance(construction, SequenceConstructionState)
        assert isinstance(top, TransformationState)
        tests = scan.plain_key
        asks_more = (
            matcher._keeps or plan.ranked or plan.watches_all or plan.options.analyze
            or plan.schema.seq or plan.lateness or plan.on_bad_row != "error"
            or matcher._stopwatch or matcher._context.overflows or not top.is_plain
        )  # fmt: skip
        if tests is None or asks_more:
            return None
        declare = matcher._types.declare
        for test in tests:
            if test.attributes or test.value is not None or declare(test.attribute) is not None:
                return None
        return cls(matcher, _Operators(scan, construction, top), tests)

    def push(self, batch: Any) -> list[Results] | None:
        """What a batch completes; None if nothing of it was taken, which is for the other way."""
        matcher = self._matcher
        quick = matcher._loader.quick
        if quick is None or not quick.knows(batch) or not 0 < batch.num_rows <= SMALL:
            return None
        if self._columns is None or self._columns.quick is not quick:
            self._columns = _Columns(quick, self._found(quick))
        keys, digits = self._columns.keys, self._codes.digits if self._tests else NO_DIGITS
        if keys is None or digits is None:
            return None
        events = self._taken(batch, quick, keys)
        if events is None:
            return None
        at, states = matcher._front.at, matcher._front.states_of(events.type_names)
        after = Moment(matcher._time, at.events, at.ties)
        count = arrive(events.ts, events.types, self._keys, states, digits, after, self._out)
        return None if count < 0 else self._pushed(Inputs((Input(batch),)), events, count)

    def _found(self, quick: Quick) -> tuple[Place, ...] | None:
        """Where the columns of the key are, if all of them are of whole numbers."""
        known = {column.name: column for column in quick.columns}
        keys = [known.get(test.attribute) for test in self._tests]
        whole = tuple(key for key in keys if key is not None and key.type.kind is Kind.INTEGER)
        return whole if len(whole) == len(keys) else None

    def _taken(self, batch: Any, quick: Quick, keys: tuple[Place, ...]) -> Events | None:
        """The events, of which the keys are written down to be looked at."""
        count = batch.num_rows
        if count > self._out.shape[1]:
            self._keys = np.empty((len(keys), 2 * count), np.int64)
            self._out = np.empty((5, 2 * count), np.int64)
        ts, types = whole_numbers(batch, quick.time), quick.types(batch)
        if ts is None or types is None:
            return None
        for row, place in enumerate(keys):
            numbers = whole_numbers(batch, place)
            if numbers is None:
                return None
            self._keys[row, :count] = numbers
        ts = ts.astype(np.int64, copy=False)
        return Events(ts, quick.resolved.resolution_ns, types, quick.type_names, {})

    def _pushed(self, inputs: Inputs, events: Events, count: int) -> list[Results]:
        """Remember the events that were written, and show what they complete."""
        matcher, (scan, construction, top) = self._matcher, self._operators
        rows, states, times, keys, ties = self._out[:, :count]
        measures = rows if self._by_position else times
        scan.take(Arrivals(rows, states, keys, measures, ties), self._codes.size)
        if matcher._notes.unseen:
            matcher._notes.note_types(events, slice(None))
        at, length, last = matcher._front.at, len(events), int(events.ts[-1])
        matcher._history = matcher._history.with_piece(Piece(at.events, events, inputs))
        at.numbers += count
        at.events += length
        at.ties += length
        matcher._last, matcher._time = (last,), last
        matcher._reorder.passed(length, last)
        results = list(top.results(construction.built()))
        scan.advance(Clock(last, at.events), iter(()))
        matcher._watch(at.events)
        matcher._forget_now_and_then()
        return results
