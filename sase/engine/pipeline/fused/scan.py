"""The fused scan: one kernel makes sequences from loaded events."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias
from weakref import proxy

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import WindowKind
from sase.cached_property import cached_property
from sase.engine.blocks.block import Block, EventRange, Key, Tests
from sase.engine.blocks.dictionary import PlanDictionary
from sase.engine.blocks.key_dictionary import KeyDictionary, counts_from_zero
from sase.engine.columns import Events
from sase.engine.columns.arrays import Numbers, TypeCodes
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
    Counting,
    ScanInput,
    ScanRange,
    ScanResult,
)
from sase.engine.operators.active_stacks import ActiveStacks
from sase.engine.operators.batch_stacks import WholeStacks, may_have_rows
from sase.engine.operators.contract import HasBranches
from sase.engine.operators.sequence_construction import SequenceConstructionState
from sase.engine.operators.sequence_scan import SequenceScanState
from sase.engine.operators.transformation import Results, TransformationState
from sase.engine.pipeline.fused.keys import FEW, estimated, far_apart, numbers_of_keys, ranges_of
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.stopwatch import Stopwatch
from sase.planning.cost_values import CLEARED, MOST_BITS, OF_ROWS
from sase.planning.physical.drive import Need
from sase.planning.physical.stack_drives import StackDrive

# ---------------------------------------------------------------- sequence

# The parts of a stopwatch: admission, scan, construction, and making results.
Parts: TypeAlias = tuple[int, int, int, int]


@dataclass(frozen=True, eq=False)
class SequenceOperators:
    """Scan, construction and output of a plan with conditions on types and keys only.

    `results` makes results of sequences, and `count` counts admitted events. `states_of` returns
    the states of types by code plus one, `dictionary` the codes of the key.
    """

    scan: SequenceScanState
    construction: SequenceConstructionState
    results: Callable[[Iterator[Any]], Iterator[Results]]
    states_of: Callable[[tuple[str, ...]], Numbers]
    count: Callable[[int], None]
    parts: Parts
    dictionary: PlanDictionary
    key: Key

    @classmethod
    def of(cls, pipeline: Pipeline, tests: Tests) -> SequenceOperators:
        """The operators of a pipeline; its key is given by tests."""
        dictionary, (first, *above) = pipeline.dictionary, pipeline.operators
        if isinstance(first, HasBranches):
            return cls._of_union(pipeline, tests)
        construction, top = above
        assert isinstance(first, SequenceScanState)
        assert isinstance(construction, SequenceConstructionState)
        assert isinstance(top, TransformationState)
        known = pipeline.builder.states_of, first.count, (0, 1, 2, 3)
        return cls(first, construction, top.results, *known, dictionary, dictionary.key(tests))

    @classmethod
    def _of_union(cls, pipeline: Pipeline, tests: Tests) -> SequenceOperators:
        """The operators of the scan that all branches share."""
        from sase.engine.operators.branches.union import (
            UnionState,  # with a kernel that others never load
        )

        union, top = pipeline.operators
        assert isinstance(union, UnionState)
        assert isinstance(top, TransformationState)
        (shared,) = union.scans
        scan, construction = shared.states
        assert isinstance(scan, SequenceScanState)
        assert isinstance(construction, SequenceConstructionState)

        def results(below: Iterator[Any]) -> Iterator[Results]:
            return top.results(union.merged([map(shared.united, below)]))

        def count(admitted: int) -> None:
            scan.count(admitted)
            union.count(admitted)

        first, last = shared.parts or (1, 2)
        dictionary = pipeline.dictionary
        known = shared.states_of, count, (0, first, last, 2), dictionary, dictionary.key(tests)
        return cls(scan, construction, results, *known)

    @cached_property
    def measure(self) -> int:
        """The measure of the window: the place of an event, or its time."""
        return PLACE if _counts_events(self.scan) else TIME

    def timed(
        self, watch: Stopwatch | None, counting: Counting | None, step: Callable[[], ScanResult]
    ) -> ScanResult:
        """Call a kernel that is counted; its time is shared out among the parts it measured."""
        if watch is None or counting is None:
            return step()
        counting.spent[:] = 0
        return watch.shared(step, self.parts[:SINCE], counting.spent[:SINCE])

    def shown(self, watch: Stopwatch | None, sequences: Iterator[Any]) -> Iterator[Results]:
        """Make results of sequences."""
        results = self.results(sequences)
        return results if watch is None else watch.pulled(self.parts[SINCE], results)

    def counting(self, pipeline: Pipeline) -> Counting | None:
        """The counters of kernels for ANALYZE, with a clock where the operators are timed."""
        clock = NO_CLOCK if pipeline.stopwatch is None else CLOCK
        return self.stacks.counting(self.construction.tally, clock)

    @cached_property
    def stacks(self) -> ActiveStacks:
        """The stacks that the scan writes to."""
        assert isinstance(self.scan.stacks, ActiveStacks)
        return self.scan.stacks

    @property
    def codes(self) -> KeyDictionary:
        """The dictionary of the codes of keys."""
        return self.dictionary.codes_of(self.key)

    @property
    def keys(self) -> int:
        """The number of key codes."""
        return self.dictionary.size(self.key)

    def advance(self, pipeline: Pipeline, count: int, admitted: int, last: int) -> None:
        """Advance the watermark to the last of `count` events, of which some were admitted."""
        end = pipeline.at.events
        if admitted:
            self.stacks.note_block(end - count, end - 1 if self.measure == PLACE else last)
        self.scan.evict(last, end)
        pipeline.watch(end)
        pipeline.evict_when_due()


def _counts_events(scan: SequenceScanState) -> bool:
    """Whether the window counts events."""
    return scan.measured is not None and scan.measured.kind is WindowKind.EVENTS


# ---------------------------------------------------------------- scan

# Most queries have conditions on types and keys only. Then no block has to pass from operator to
# operator. The kernel alternates between scan and construction, for a million events at a time, and
# no thread waits for another one. It writes into the state of the same operators, so any events may
# take either way.

# Events per step; the sampling interval of types; admitted events per step, which fit the nearest
# cache; events per kernel call.
STEP, SAMPLED, ADMITTED, MOST = 1 << 13, 1 << 4, 1 << 10, 1 << 20
# Widely spread keys get codes from a table if this share of the first events is admitted.
SHARE = 1 / 3
NO_DIGITS = np.zeros((0, 3), np.int64)
# Identity digits: the codes are used as they are.
CODES_AS_THEY_ARE = np.array([[0, 62, 0]], np.int64)
# The argument of kernels if all order keys are distinct.
DISTINCT = frozen(np.zeros(0, np.int64))


class FusedScan:
    """Runs a pipeline over loaded events."""

    # Other paths may process the events before, and those from any event on.
    needs_all = False

    def __init__(self, pipeline: Pipeline, drive: StackDrive) -> None:
        self._are_admitted = drive.admitted
        self._by_rows = drive.by_rows
        # A proxy: the pipeline holds this object, and a circle of references would delay freeing
        # both.
        self._pipeline, self._fused = proxy(pipeline), SequenceOperators.of(pipeline, drive.key)
        self.use = pipeline.use_of(drive.name)
        self._codes = self._fused.codes
        self._step = min(pipeline.plan.options.block, STEP)
        self._stopwatch, self._stacks = pipeline.stopwatch, self._fused.stacks
        self._counting = self._fused.counting(pipeline)

    def takes_all(self, events: Events) -> bool:
        """Never: a part of the events can be searched, too."""
        return False

    def uncoded(self, events: Events, parts: int) -> list[str]:
        """The keys with widely spread values, if most events are admitted."""
        codes = self._codes_of_rows(events) or self._codes_that_pay(events)
        tests, block = self._fused.key.tests, self._pipeline.plan.options.block
        found = far_apart(events, tests, block, codes, parts)
        types = events.types[:STEP]
        return found if found and self._admitted_of(events, types) >= SHARE * len(types) else []

    def run(self, events: Events) -> Generator[Results, None, int]:
        """Yield the results of events; return the place from which blocks continue."""
        count = len(events)
        if not count:
            return 0
        arrays, made = self._arrays(events), None
        if arrays is None or not self._has_codes(events, arrays):
            refused = Need.INTEGER_KEYS if arrays is None else Need.CODES_FIT
            arrays, made = self._coded(events), CODES_AS_THEY_ARE
            if arrays is None:
                self.use.refused = refused.value
                return 0
        fused, at = self._fused, self._pipeline.at
        scan, construction, stacks = fused.scan, fused.construction, self._stacks
        whole = self._stacks_of_rows(events, arrays, made)
        position, reading = at.events, self._reading(events, arrays, made)
        step = self._step_of(events)
        room = np.empty((ROWS, min(step, count) + 1), np.int64)
        begin, passed, admitted = 0, 0, 0
        watch, counting = self._stopwatch, self._counting
        while passed < count:
            end, out = min(begin + MOST, count), construction.room
            if whole is not None:
                found = whole.push(begin, end, position, step, out)
            else:
                measured = fused.measure, scan.span, stacks.bound, stacks.tagged
                span = ScanRange(begin, end, position, at.ties, *measured)
                push = partial(stacks.push_columns, reading, fused.keys, span, counting)
                found = fused.timed(watch, counting, partial(push, room, out))
            begin, admitted = found.reached, admitted + found.admitted
            at.numbers += found.admitted
            fused.count(found.admitted)
            if found.written:
                yield from fused.shown(watch, iter((construction.detach(found.written),)))
            # If construction was interrupted, it may still need the events of the last step.
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
        if whole is not None:
            stacks.note_whole(*whole.counts)
        if begin < count:
            self.use.refused = Need.CODES_FIT.value
        return begin

    def _stacks_of_rows(
        self, events: Events, arrays: list[NDArray[Any]], made: Numbers | None
    ) -> WholeStacks | None:
        """The stacks for a whole input with many keys, of which each has a code."""
        fused, many, stacks = self._fused, self._by_rows, self._stacks
        if not (self._pipeline.has_all and self._codes_of_rows(events)):
            return None
        is_computed = made is None and len(arrays) > KEYS
        if is_computed and self._codes.digits is None:
            self._fit_whole(events, arrays)  # since no event of the first block is admitted
        if fused.keys < (many or 0) or is_computed and not self._fit_whole(events, arrays):
            return None
        measures = events.ts if fused.measure == TIME else events.ts[:0]
        reading = self._reading(events, arrays, made)
        sizes = stacks.levels, stacks.gaps, fused.keys, len(events)
        window = fused.scan.span, self._pipeline.plan.options.stack
        return WholeStacks(*sizes, reading, measures, *window)

    def _fit_whole(self, events: Events, arrays: list[NDArray[Any]]) -> bool:
        """Whether stacks of rows can hold all keys; then their codes are computed from them."""
        codes = self._codes_of_rows(events) if self._pipeline.has_all else 0
        return codes > 0 and self._codes.fit(ranges_of(arrays[KEYS:]), len(events), codes)

    def _codes_of_rows(self, events: Events) -> int:
        """How many codes pay in stacks of rows; 0 if these do not hold the events."""
        many, stacks = self._by_rows, self._stacks
        has_room = may_have_rows(len(events), stacks.levels, stacks.gaps)
        if many is None or many > 1 << MOST_BITS or not has_room:
            return 0
        return max(OF_ROWS * self._admitted_in(events), self._codes_that_pay(events))

    def _step_of(self, events: Events) -> int:
        """The number of events of a step, by how many of a sample are admitted."""
        most: int = min(ADMITTED, 2 * self._pipeline.plan.options.stack)
        if len(events.ts) <= min(most, self._step):
            return len(events.ts)  # however many are admitted
        types = events.types[:STEP:SAMPLED]
        admitted = self._admitted_of(events, types)
        return min(self._step, max(most * len(types) // max(admitted, 1), most))

    def _codes_that_pay(self, events: Events) -> int:
        """How many codes have so little state that to clear it pays for the admitted events."""
        cleared = CLEARED * self._admitted_in(events) // self._stacks.numbers_of_key
        return min(cleared, 1 << MOST_BITS)

    def _admitted_in(self, events: Events) -> int:
        """How many events are admitted, estimated from a sample."""
        return estimated(events, partial(self._admitted_of, events))

    def _admitted_of(self, events: Events, types: TypeCodes) -> int:
        """How many events of the given types are admitted."""
        states = self._fused.states_of(events.type_names)
        return int(np.count_nonzero(states[types.astype(np.int64) + 1]))

    def _note(self, events: Events, begin: int, end: int, admitted: int) -> None:
        """Advance the watermark to the last of some events."""
        pipeline = self._pipeline
        if pipeline.warnings.unseen:
            pipeline.warnings.note_types(events, slice(begin, end))
        self._fused.advance(pipeline, end - begin, admitted, int(events.ts[end - 1]))

    def _arrays(self, events: Events) -> list[NDArray[Any]] | None:
        """Times, types and the numbers of keys, if all these are integers."""
        key, streaming = self._fused.key, self._fused.dictionary.streaming
        keys = numbers_of_keys(events, key.tests, streaming=streaming)
        if keys is None:
            return None
        return [*map(np.ascontiguousarray, (events.ts, events.types)), *keys]

    def _coded(self, events: Events) -> list[NDArray[Any]] | None:
        """Times, types and key codes from a table, for keys that are texts or widely spread.

        None if events may be refused, or some have no key.
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
        """The input of the kernel; key codes use the digits `made`, or those of the dictionary."""
        digits = self._codes.digits if made is None else made
        return reading_of(events, arrays, self._fused.states_of(events.type_names), digits)

    def _has_codes(self, events: Events, arrays: list[NDArray[Any]]) -> bool:
        """Whether key codes are computed from the keys, without a table."""
        if not self._fused.key.tests or self._codes.digits is not None:
            return True
        return self._codes.is_open and self._fit_codes(events, arrays, 0)

    def _fit_codes(self, events: Events, arrays: list[NDArray[Any]], begin: int) -> bool:
        """Whether codes can be computed from the keys of the events from `begin` on.

        A large range is tried first, where admission does not matter, then the admitted events of a
        block and of a step, then all events for stacks of rows.
        """
        if begin == len(events):
            return True
        for count in (FEW, MOST):
            ranges = ranges_of([array[begin : begin + count] for array in arrays[KEYS:]])
            # For one key that counts from 0 few events suffice, as the range can grow later.
            is_enough = count == MOST or (len(ranges) == 1 and counts_from_zero(int(ranges[0, 0])))
            if is_enough and self._codes.fit(ranges, 0):
                return True
            if is_enough:
                break  # more events have no smaller range
        # By code; the last entry is for no type, -1.
        states = np.roll(self._fused.states_of(events.type_names), -1) != 0
        codes = self._codes_that_pay(events)
        for count in (self._pipeline.plan.options.block, self._step):
            types, *keys = (array[begin : begin + count] for array in arrays[TYPES:])
            if self._codes.fit(ranges_of([key[states[types]] for key in keys]), len(events), codes):
                return True
        return begin == 0 and self._fit_whole(events, arrays)


def reading_of(
    events: Events, arrays: list[NDArray[Any]], states: Numbers, digits: Numbers | None
) -> ScanInput:
    """The input of a kernel: times, types and numbers of keys, and the states of types."""
    return ScanInput(
        forms_of(arrays),
        states,
        NO_DIGITS if digits is None else digits,
        DISTINCT if events.tie is None else frozen(events.tie),
    )
