"""The short way of events that are loaded: from their columns to what they complete by one kernel.

Most queries tell events apart by type and key alone. Then no operator needs to see a block of them
before another one does: a kernel goes on from scan to construction and back, for a million events
at a time, and no thread waits for another one in between. It writes into the state of the same
operators, so that any events may go either way.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import proxy

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import WindowKind
from sase.binding.types import Kind
from sase.engine.blocks.block import Key, Tests, Watermark
from sase.engine.blocks.dictionary import PlanDictionary
from sase.engine.blocks.key_dictionary import KeyDictionary, counts_from_zero
from sase.engine.columns import Events
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.jit.arrow_memory import forms_of
from sase.engine.kernels.jit.intrinsics import CLOCK, NO_CLOCK
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.scan.admission import PLACE, TIME
from sase.engine.kernels.scan.fused_scan import (
    CODES,
    KEYS,
    ROWS,
    SINCE,
    TYPES,
    Reading,
    Span,
    Swept,
)
from sase.engine.operators.active_stacks import ActiveStacks
from sase.engine.operators.contract import Sequences
from sase.engine.operators.sequence_construction import SequenceConstructionState
from sase.engine.operators.sequence_scan import SequenceScanState
from sase.engine.operators.transformation import Results, TransformationState

if TYPE_CHECKING:
    from sase.engine.pipeline.fused.lines import LineSweep
    from sase.engine.pipeline.matcher import Matcher

# So many events are gone through at a time, and at most so many by one call.
STEP, MOST = 1 << 13, 1 << 20
# So many are looked at first for the range of keys: no fewer than a step has.
FEW = 1 << 15
# The part of a stopwatch that shows what was found: the last of those of a plain plan.
TOP = 3
NO_DIGITS = np.zeros((0, 3), np.int64)


class Plain(NamedTuple):
    """The operators of a plan that is nothing but stacks and the walk through them.

    `coding` gives the codes of the key, `measure` is what the window measures of an event.
    """

    scan: SequenceScanState
    construction: SequenceConstructionState
    top: TransformationState
    key: Key
    measure: int
    coding: PlanDictionary

    @classmethod
    def of(cls, matcher: Matcher) -> Plain | None:
        """Those of a matcher, if its plan tells events apart by type and key alone."""
        plan, (scan, *above) = matcher._plan, matcher._operators
        if not isinstance(scan, SequenceScanState) or len(above) != 2:
            return None
        construction, top = above
        assert isinstance(construction, SequenceConstructionState)
        assert isinstance(top, TransformationState)
        tests, window = scan.fusible_key, scan.measured
        asks_more = (
            matcher._keeps or plan.ranked or plan.watches_all or matcher._context.overflows
            or not construction.is_fusible or not top.is_fusible
        )  # fmt: skip
        if tests is None or asks_more:
            return None
        declare = matcher._types.declare
        for test in tests:
            if test.attributes or test.value is not None or declare(test.attribute) is not None:
                return None
        by_position = window is not None and window.kind is WindowKind.EVENTS
        measure = PLACE if by_position else TIME
        coding = matcher._context.dictionary
        return cls(scan, construction, top, coding.key(tests), measure, coding)

    @property
    def stacks(self) -> ActiveStacks:
        """Those that the scan writes to."""
        assert isinstance(self.scan.stacks, ActiveStacks)
        return self.scan.stacks

    @property
    def codes(self) -> KeyDictionary:
        """What gives the codes of keys."""
        return self.coding.codes_of(self.key)

    @property
    def keys(self) -> int:
        """All codes are less."""
        return self.coding.size(self.key)

    def passed(self, matcher: Matcher, count: int, admitted: int, last: int) -> None:
        """Let the time pass up to the last one of so many events, of which some were admitted."""
        at = matcher._front.at
        if admitted:
            measure = at.events - 1 if self.measure == PLACE else last
            self.stacks.remember(at.events - count, measure)
        self.scan.advance(Watermark(last, at.events), iter(()))
        matcher._watch(at.events)
        matcher._forget_now_and_then()


class Sweep:
    """Takes a matcher through events that are loaded."""

    # Events may be gone through in any other way before, and from any of them on.
    is_whole = False

    def __init__(self, matcher: Matcher, plain: Plain) -> None:
        # Not held: the matcher holds this, and both would stay until garbage is collected.
        self._matcher, self._plain = proxy(matcher), plain
        self._codes = plain.codes
        self._step = min(matcher._plan.options.block, STEP)
        self._stopwatch, self._stacks = matcher._stopwatch, plain.stacks
        clock = NO_CLOCK if matcher._stopwatch is None else CLOCK
        self._counting = plain.stacks.counting(plain.construction.tally, clock)

    @classmethod
    def of(cls, matcher: Matcher) -> Sweep | None:
        """That of a matcher, if its plan is plain, and a clock that it reads is one for kernels."""
        plain, is_timed = Plain.of(matcher), matcher._stopwatch is not None
        if plain is None or is_timed and (CLOCK == NO_CLOCK or not matcher._plan.options.analyze):
            return None
        return cls(matcher, plain)

    def begins_whole(self, events: Events) -> bool:
        """Never: some of the events are searched as well as all."""
        return False

    def prepare(self, events: Events) -> None:
        """Make ready for events what takes this thread only, and no kernel."""
        arrays = self._arrays(events)
        if arrays is not None:
            self._has_codes(events, arrays)

    def over(self, events: Events) -> Generator[Results, None, int]:
        """The results of events that follow those before, up to one from which blocks go on."""
        found, watch = self._over(events), self._stopwatch
        return found if watch is None else watch.pulled(0, found)

    def _over(self, events: Events) -> Generator[Results, None, int]:
        arrays = self._arrays(events)
        if arrays is None or not len(events) or not self._has_codes(events, arrays):
            return 0
        (scan, construction, top, _, measure, _), at = self._plain, self._matcher._front.at
        position, reading = at.events, self._reading(events, arrays)
        room = np.empty((ROWS, min(self._step, len(events)) + 1), np.int64)
        begin, passed, admitted, watch = 0, 0, 0, self._stopwatch
        while passed < len(events):
            end, out = min(begin + MOST, len(events)), construction.room
            span = Span(begin, end, position, at.ties, measure, scan.span, self._stacks.bound)
            found = self._swept(
                partial(scan.push_columns, reading, self._plain.keys, span), room, out
            )
            begin, admitted = found.reached, admitted + found.admitted
            at.numbers += found.admitted
            if found.written:
                shown = top.results(iter((construction.detach(found.written),)))
                yield from shown if watch is None else watch.pulled(TOP, shown)
            # Where the walk goes on those of the last step may still need what is before them.
            done = begin if found.written < out.shape[1] else max(begin - self._step, passed)
            if done > passed:
                at.events = position + done
                self._note(events, passed, done, admitted)
                passed, admitted = done, 0
            at.events = position + begin
            if found.lacks == CODES:
                if not self._learn(events, arrays, begin):
                    break
                reading = self._reading(events, arrays)
        return begin

    def _swept(self, sweep: Callable[..., Swept], room: Numbers, out: Sequences) -> Swept:
        """What a kernel gives, and its time in shares of the parts that it went through."""
        watch, counting = self._stopwatch, self._counting
        if watch is None or counting is None:
            return sweep(counting, room, out)
        counting.spent[:] = 0
        return watch.shared(lambda: sweep(counting, room, out), counting.spent[:SINCE])

    def _note(self, events: Events, begin: int, end: int, admitted: int) -> None:
        """Let the time pass, up to that of the last of some events."""
        matcher = self._matcher
        if matcher._notes.unseen:
            matcher._notes.note_types(events, slice(begin, end))
        self._plain.passed(matcher, end - begin, admitted, int(events.ts[end - 1]))

    def _arrays(self, events: Events) -> list[NDArray[Any]] | None:
        """Times, types and the numbers of keys, if all these are whole numbers."""
        keys = numbers_of_keys(
            events, self._plain.key.tests, streaming=self._plain.coding.streaming
        )
        return (
            None if keys is None else [*map(np.ascontiguousarray, (events.ts, events.types)), *keys]
        )

    def _reading(self, events: Events, arrays: list[NDArray[Any]]) -> Reading:
        """How the kernel reads them, with the codes of keys as they are known."""
        digits = self._codes.digits
        return Reading(
            forms_of(arrays),
            self._matcher._front.states_of(events.type_names),
            NO_DIGITS if digits is None else digits,
            frozen(events.ties),
        )

    def _has_codes(self, events: Events, arrays: list[NDArray[Any]]) -> bool:
        """Whether codes are made of the keys, and not by a table."""
        if not self._plain.key.tests or self._codes.digits is not None:
            return True
        return self._codes.is_open and self._learn(events, arrays, 0)

    def _learn(self, events: Events, arrays: list[NDArray[Any]], begin: int) -> bool:
        """Whether codes can be made of the keys of the events from one on, of many or of a step.

        Where they are close together it does not matter which events are admitted.
        """
        if begin == len(events):
            return True
        for count in (FEW, MOST):
            keys = [array[begin : begin + count] for array in arrays[KEYS:]]
            ranges = np.array([(key.min(), key.max()) for key in keys], np.int64)
            # Of one key that counts from 0 few events tell enough, as more can be learnt later.
            is_enough = count == MOST or (len(keys) == 1 and counts_from_zero(int(ranges[0, 0])))
            if is_enough and self._codes.fit(ranges, 0):
                return True
        states = self._matcher._front.states_of(events.type_names)
        for count in (self._matcher._plan.options.block, self._step):
            block = slice(begin, begin + count)
            types, *keys = (array[block].astype(np.int64) for array in arrays[TYPES:])
            is_admitted = states[types + 1] != 0
            if self._codes.fit(np.stack([key[is_admitted] for key in keys]), len(events)):
                return True
        return False


def short_way(matcher: Matcher) -> Sweep | LineSweep | None:
    """What takes loaded events through a plan without blocks, if it is so plain."""
    if matcher._plan.runs is None:
        return Sweep.of(matcher)
    from sase.engine.pipeline.fused.lines import LineSweep  # with kernels that no other plan needs

    return LineSweep.of(matcher)


def is_swept_at_once(matcher: Matcher, events: Events) -> bool:
    """Whether one kernel goes through all events sooner than they could be parted."""
    sweep = matcher._sweep
    return sweep is not None and sweep.begins_whole(events)


def of_pieces(sweep: Sweep | LineSweep | None, number: int) -> Sweep | LineSweep | None:
    """What may go through so many pieces one after the other."""
    return None if sweep is None or (number > 1 and sweep.is_whole) else sweep


def numbers_of_keys(
    events: Events, tests: Tests, *, streaming: bool = False
) -> list[NDArray[Any]] | None:
    """The numbers of keys, if all are whole numbers, or texts of one dictionary."""
    found: list[NDArray[Any]] = []
    for test in tests:
        column = events.columns.get(test.attribute)
        if column is None or column.valid is not None:
            return None
        is_coded = column.dictionary is not None
        if is_coded and streaming:  # where dictionaries come and go
            return None
        if not is_coded and column.type.kind is not Kind.INTEGER:
            return None
        found.append(np.ascontiguousarray(column.values))
    return found
