"""The fused scan: one kernel takes loaded events from their columns to the sequences they complete.

Most queries tell events apart by type and key alone. Then no operator needs to see a block of them
before another one does: the kernel goes on from scan to construction and back, for a million events
at a time, and no thread waits for another one in between. It writes into the state of the same
operators, so that any events may go either way.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import Any
from weakref import proxy

import numpy as np
from numpy.typing import NDArray

from sase.binding.types import Kind
from sase.engine.blocks.block import Block, EventRange, Tests
from sase.engine.blocks.key_dictionary import counts_from_zero
from sase.engine.columns import Events
from sase.engine.columns.arrays import Mask, Numbers, TypeCodes, deduplicated
from sase.engine.kernels.jit.arrow_memory import forms_of
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.scan.fused_scan import CODES, KEYS, ROWS, TYPES, ScanInput, ScanRange
from sase.engine.operators.transformation import Results
from sase.engine.pipeline.fused.sequence import SequenceOperators
from sase.engine.pipeline.pipeline import Pipeline
from sase.planning.dense_codes import dense_bits
from sase.planning.physical.drive import Need
from sase.planning.physical.stack_drives import StackDrive

# So many events are gone through at a time, of which at most about so many are admitted, that what
# is written of them stays in the nearest cache; and at most so many by one call.
STEP, SAMPLED, ADMITTED, MOST = 1 << 13, 1 << 4, 1 << 10, 1 << 20
# So many are looked at first for the range of keys: no fewer than a step has.
FEW = 1 << 15
# Keys far apart get codes by a table of all where so large a share of the first ones is admitted.
SHARE = 1 / 3
# Where there are very many events, only if keys are fewer than such a part of them; fewer still
# where so many times as many come again soon.
MANY, RANDOM, LOCAL, SOON = 1 << 20, 3 / 4, 1 / 4, 16
NO_DIGITS = np.zeros((0, 3), np.int64)
# How codes are made of codes.
CODES_AS_THEY_ARE = np.array([[0, 62, 0]], np.int64)
# As kernels take it where all order keys are distinct.
DISTINCT = frozen(np.zeros(0, np.int64))


class FusedScan:
    """Takes a pipeline through events that are loaded."""

    # Events may be gone through in any other way before, and from any of them on.
    needs_all = False

    def __init__(self, pipeline: Pipeline, drive: StackDrive) -> None:
        self._are_admitted = drive.admitted
        # Not held: the pipeline holds this, and both would stay until garbage is collected.
        self._pipeline, self._fused = proxy(pipeline), SequenceOperators.of(pipeline, drive.key)
        self.meter = pipeline.meter(drive.name)
        self._codes = self._fused.codes
        self._step = min(pipeline.plan.options.block, STEP)
        self._stopwatch, self._stacks = pipeline.stopwatch, self._fused.stacks
        self._counting = self._fused.counting(pipeline)

    def takes_all(self, events: Events) -> bool:
        """Never: some of the events are searched as well as all."""
        return False

    def uncoded(self, events: Events) -> list[str]:
        """The keys that lie far apart, where most events are admitted."""
        found = far_apart(events, self._fused.key.tests, self._pipeline.plan.options.block)
        types = events.types[:STEP]
        return found if found and self._admitted_of(events, types) >= SHARE * len(types) else []

    def run(self, events: Events) -> Generator[Results, None, int]:
        """Yield the results of events; return the place from which blocks go on."""
        count = len(events)
        if not count:
            return 0
        arrays, made = self._arrays(events), None
        if arrays is None or not self._has_codes(events, arrays):
            refused = Need.INTEGER_KEYS if arrays is None else Need.CODES_FIT
            arrays, made = self._coded(events), CODES_AS_THEY_ARE
            if arrays is None:
                self.meter.refused = refused.value
                return 0
        fused, at = self._fused, self._pipeline.at
        scan, construction, stacks = fused.scan, fused.construction, self._stacks
        position, reading = at.events, self._reading(events, arrays, made)
        step = self._step_of(events)
        room = np.empty((ROWS, min(step, count) + 1), np.int64)
        begin, passed, admitted = 0, 0, 0
        watch, counting = self._stopwatch, self._counting
        while passed < count:
            end, out = min(begin + MOST, count), construction.room
            measured = fused.measure, scan.span, stacks.bound, stacks.tagged
            span = ScanRange(begin, end, position, at.ties, *measured)
            push = partial(stacks.push_columns, reading, fused.keys, span, counting)
            found = fused.timed(watch, counting, partial(push, room, out))
            begin, admitted = found.reached, admitted + found.admitted
            at.numbers += found.admitted
            fused.count(found.admitted)
            if found.written:
                yield from fused.shown(watch, iter((construction.detach(found.written),)))
            # Where the walk goes on those of the last step may still need what is before them.
            done = begin if found.written < out.shape[1] else max(begin - step, passed)
            if done > passed:
                at.events = position + done
                self._note(events, passed, done, admitted)
                passed, admitted = done, 0
            at.events = position + begin
            self._pipeline.check(0)
            if found.lacks == CODES:
                if not self._fit_codes(events, arrays, begin):
                    break
                reading = self._reading(events, arrays, made)
        if begin < count:
            self.meter.refused = Need.CODES_FIT.value
        return begin

    def _step_of(self, events: Events) -> int:
        """The events of a step, by how many of some of the first ones are admitted."""
        most: int = min(ADMITTED, 2 * self._pipeline.plan.options.stack)
        if len(events.ts) <= min(most, self._step):
            return len(events.ts)  # whatever is admitted
        types = events.types[:STEP:SAMPLED]
        admitted = self._admitted_of(events, types)
        return min(self._step, max(most * len(types) // max(admitted, 1), most))

    def _admitted_of(self, events: Events, types: TypeCodes) -> int:
        """How many of some types of events are admitted."""
        states = self._fused.states_of(events.type_names)
        return int(np.count_nonzero(states[types.astype(np.int64) + 1]))

    def _note(self, events: Events, begin: int, end: int, admitted: int) -> None:
        """Advance the watermark to the last of some events."""
        pipeline = self._pipeline
        if pipeline.warnings.unseen:
            pipeline.warnings.note_types(events, slice(begin, end))
        self._fused.advance(pipeline, end - begin, admitted, int(events.ts[end - 1]))

    def _arrays(self, events: Events) -> list[NDArray[Any]] | None:
        """Times, types and the numbers of keys, if all these are whole numbers."""
        keys = numbers_of_keys(
            events, self._fused.key.tests, streaming=self._fused.dictionary.streaming
        )
        return (
            None if keys is None else [*map(np.ascontiguousarray, (events.ts, events.types)), *keys]
        )

    def _coded(self, events: Events) -> list[NDArray[Any]] | None:
        """The same with codes of keys that are texts, or far apart: who admits all needs them all.

        None where some of the events may not be admitted, or have no key.
        """
        if not self._are_admitted:
            return None
        fused, at, places = self._fused, self._pipeline.at, np.arange(len(events))
        numbers = places + at.events
        span = EventRange(events, 0, len(events), at.events, at.ties)
        block = Block(span, places, places, events.ts, numbers, numbers, fused.dictionary)
        codes = block.codes(fused.key)
        if codes.min() < 0:
            return None
        return [*map(np.ascontiguousarray, (events.ts, events.types)), codes]

    def _reading(
        self, events: Events, arrays: list[NDArray[Any]], made: Numbers | None
    ) -> ScanInput:
        """How the kernel reads them, with the codes of keys as they are known, or are `made`."""
        digits = self._codes.digits if made is None else made
        return ScanInput(
            forms_of(arrays),
            self._fused.states_of(events.type_names),
            NO_DIGITS if digits is None else digits,
            DISTINCT if events.tie is None else frozen(events.tie),
        )

    def _has_codes(self, events: Events, arrays: list[NDArray[Any]]) -> bool:
        """Whether codes are made of the keys, and not by a table."""
        if not self._fused.key.tests or self._codes.digits is not None:
            return True
        return self._codes.is_open and self._fit_codes(events, arrays, 0)

    def _fit_codes(self, events: Events, arrays: list[NDArray[Any]], begin: int) -> bool:
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
            if is_enough:
                break  # of more events they lie no closer
        # By code; the last one is that of no type, -1.
        states = np.roll(self._fused.states_of(events.type_names), -1) != 0
        for count in (self._pipeline.plan.options.block, self._step):
            types, *keys = (array[begin : begin + count] for array in arrays[TYPES:])
            if self._codes.fit(_ranges(keys, states[types]), len(events)):
                return True
        return False


def _ranges(keys: list[NDArray[Any]], is_known: Mask) -> Numbers:
    """Of each number of keys the least and the greatest of those known, if there are any."""
    if not is_known.any():
        return np.empty((len(keys), 0), np.int64)
    known = (key[is_known].astype(np.int64, copy=False) for key in keys)
    return np.array([(each.min(), each.max()) for each in known], np.int64)


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
        found.append(np.ascontiguousarray(column.keys))
    return found


def far_apart(events: Events, tests: Tests, block: int) -> list[str]:
    """The keys of more than a block that lie too far apart for codes without a table.

    The first ones tell.
    """
    keys = None if len(events) <= block else numbers_of_keys(events, tests)
    if not keys:
        return []
    bits = sum((int(key[:FEW].max()) - int(key[:FEW].min())).bit_length() for key in keys)
    if bits <= dense_bits(len(events)):
        return []
    columns = {test.attribute: events.columns[test.attribute] for test in tests}
    return [
        name
        for name, column in columns.items()
        if column.dictionary is None and _come_again(column.values)
    ]


def _come_again(keys: NDArray[Any]) -> bool:
    """Whether very many keys come again so often that a table of all pays, as samples tell.

    Where each is soon gone a table of those that live, which stays small, would do as well.
    """
    count = len(keys)
    if count < MANY:
        return True
    few = min(FEW, count // SAMPLED)
    apart, close = keys[:: count // few][:few], keys[:few]
    again, soon = (len(sample) - len(deduplicated(sample)) for sample in (apart, close))
    # Of so many different ones each as frequent as the other: pairs of a sample are a key twice.
    different = len(apart) ** 2 / (2 * again + 1)
    return bool(different < (LOCAL if soon > SOON * again else RANDOM) * count)
