"""Conditions at the scan, on sequences, and on candidates: operators and filters of blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sase.base.limits import SEARCHING, heed
from sase.binding.bound import All, Condition, EquivalenceTest
from sase.engine.blocks.block import Block, Watermark
from sase.engine.columns.arrays import Mask, Numbers
from sase.engine.expressions import (
    FilterColumns,
    ProgramLayout,
    RowFilter,
    lower_counted,
    lower_terms,
    make_stack,
)
from sase.engine.kernels.expressions.checks import Checks, Tally, select, select_counted
from sase.engine.kernels.expressions.program import Program
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.scan.admission import clear_bits, reject_rows, select_rows
from sase.engine.kernels.sentinels import EARLIEST, NOTHING
from sase.engine.operators.contract import Context, Counters, Sequences, span_of
from sase.engine.snapshots.layout import Count, Declared
from sase.planning.plan.nodes import Selection, Window

# ---------------------------------------------------------------- residual filter


class ResidualFilter:
    """Tests and conditions, as the arrays that kernels read.

    The conditions of a level are one program, tried in order. A `tally` counts failures by
    condition for ANALYZE. `layout` changes the places where programs read the events of a sequence.
    """

    def __init__(
        self,
        context: Context,
        tests: Sequence[EquivalenceTest],
        conditions: Sequence[list[Condition]],
        rows: int,
        layout: Callable[[ProgramLayout], ProgramLayout] = lambda layout: layout,
    ) -> None:
        self._context = context
        self._tests = frozen(np.array([context.keep_test(t) for t in tests], np.int64))
        present = [each for each in conditions if each]
        counted = [each for group in present for each in group]
        counts = context.options.analyze
        if not counted:
            lowered, entries = lower_terms([])
        elif counts:
            lowered, entries = lower_counted(present, layout(context.layout(counted)))
        else:
            found = layout(context.layout(counted))
            lowered, entries = lower_terms([(each, found) for each in _joined(present)])
        left = iter(entries)
        starts = [next(left) if each else NOTHING for each in conditions] if present else []
        self._starts = frozen(np.array(starts, np.int64))
        self._program: Program = lowered.program
        self._stack = make_stack(lowered.depth)
        self._rows = np.zeros(rows, np.int64)
        self.is_empty = not (tests or present)
        shapes = ((len(tests), rows), len(counted), rows)
        self.tally = Tally(*(np.zeros(each, np.int64) for each in shapes)) if counts else None
        self._names = [context.text_of_test(test) for test in tests] if counts else []
        self._names += [context.text_of(condition) for condition in counted] if counts else []
        # The level of each condition.
        self._levels = [level for level, each in enumerate(conditions) for _ in each]
        if lowered.arithmetic:
            context.watch(dict(lowered.arithmetic), self._stack)

    @classmethod
    def of_sequences(
        cls, context: Context, tests: Sequence[EquivalenceTest], conditions: list[Condition]
    ) -> ResidualFilter:
        """A filter of whole sequences, decided at the first level, which is reached last."""
        by_level = [conditions, *([] for _ in range(context.levels - 1))] if conditions else []
        return cls(context, tests, by_level, context.levels)

    def select(self, sequences: Sequences) -> NDArray[np.bool_]:
        """Whether each sequence passes."""
        keep = np.empty(sequences.shape[1], np.bool_)
        sequences = np.ascontiguousarray(sequences)
        if self.tally is None:
            select(sequences, self.checks(), None, keep)
        else:
            select_counted(sequences, self.checks(), self.tally, keep)
        return keep

    def checks(self) -> Checks:
        """The current arrays."""
        context, store = self._context, self._context.buffer
        columns = store.columns(context.dictionary.texts.tables())
        known = store.mask, self._tests, store.frozen_codes, self._starts, self._program
        return Checks(*known, columns, self._stack, self._rows)

    @property
    def rejected(self) -> dict[str, int]:
        """Rejections by test and condition, in the order of trying."""
        assert self.tally is not None
        counts = [*self.tally.disagreed.sum(axis=1).tolist(), *self.tally.failed.tolist()]
        return by_text(zip(self._names, counts, strict=True))

    @property
    def rejected_at(self) -> list[int]:
        """Rejections by level."""
        assert self.tally is not None
        found: list[int] = self.tally.disagreed.sum(axis=0).tolist()
        for level, count in zip(self._levels, self.tally.failed.tolist(), strict=True):
            found[level] += count
        return found


def by_text(counted: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Counts by text; conditions written twice are counted together."""
    found: dict[str, int] = {}
    for text, count in counted:
        found[text] = found.get(text, 0) + count
    return found


def _joined(groups: Sequence[list[Condition]]) -> list[Condition]:
    return [each[0] if len(each) == 1 else All(tuple(each)) for each in groups]


# ---------------------------------------------------------------- selection


class SequenceFilter(Declared):
    """Count sequences in and out; `passes` decides each sequence."""

    layout = dict(seen=Count(), passed=Count())

    def __init__(self) -> None:
        self._seen = self._passed = 0

    def passes(self, sequences: Sequences) -> Mask:
        """Whether each sequence passes."""
        raise NotImplementedError

    def push(self, block: Block, below: Iterator[Sequences]) -> Iterator[Sequences]:
        """Yield the sequences that pass."""
        return self._passing(below)

    def advance(self, watermark: Watermark, below: Iterator[Sequences]) -> Iterator[Sequences]:
        """Yield the sequences that pass."""
        return self._passing(below)

    def _passing(self, below: Iterator[Sequences]) -> Iterator[Sequences]:
        for sequences in below:
            passing = sequences[:, self.passes(sequences)]
            self._seen += sequences.shape[1]
            self._passed += passing.shape[1]
            if passing.size:
                yield passing

    def horizon(self) -> int | None:
        """None: nothing is kept between blocks."""
        return None

    def counters(self) -> Counters:
        """Sequences in and out."""
        return {"in": self._seen, "out": self._passed, **self.analysis()}

    def analysis(self) -> Counters:
        """Counters of ANALYZE."""
        return {}


class ConditionFilter(SequenceFilter):
    """Pass the sequences that a residual filter accepts."""

    def __init__(
        self, context: Context, tests: Sequence[EquivalenceTest], conditions: list[Condition]
    ) -> None:
        super().__init__()
        self._residual = ResidualFilter.of_sequences(context, tests, conditions)

    def passes(self, sequences: Sequences) -> Mask:
        """Whether each sequence satisfies all tests and conditions."""
        return self._residual.select(sequences)

    def analysis(self) -> Counters:
        """Rejections by test and condition."""
        return {} if self._residual.tally is None else {"rejected": self._residual.rejected}


class SelectionState(ConditionFilter):
    """Pass the sequences that satisfy conditions and equivalence tests."""

    def __init__(self, node: Selection, context: Context) -> None:
        conditions: list[Condition] = [conjunct.condition for conjunct in node.conditions]
        tests = [test for test in node.equivalences if test.value is None]
        for test in node.equivalences:
            if test.value is not None:
                conditions += [c for _, c in context.values(test, context.components)]
        super().__init__(context, [] if context.is_alone else tests, conditions)


class WindowState(SequenceFilter):
    """Pass the sequences with first and last event within the window."""

    def __init__(self, node: Window, context: Context) -> None:
        super().__init__()
        self._buffer, self._span = context.buffer, span_of(node.window)
        self._measure = context.keep_measure(node.window)
        self._is_analyzed = context.options.analyze

    def passes(self, sequences: Sequences) -> Mask:
        """Whether the span of each sequence is within the window."""
        measures, mask = self._buffer.numbers(self._measure), self._buffer.mask
        first, last = measures[sequences[0] & mask], measures[sequences[-1] & mask]
        # The difference may leave int64, the least first measure may not.
        least = np.where(last < EARLIEST + self._span, EARLIEST, last - self._span)
        return np.asarray(first >= least)

    def analysis(self) -> Counters:
        """Sequences rejected by the window."""
        return {"rejected": {"window": self._seen - self._passed}} if self._is_analyzed else {}


# ---------------------------------------------------------------- scan filter


class ScanFilter:
    """Conditions by component, evaluated over the events of a block that the component admits."""

    def __init__(self, context: Context, conditions: Iterable[tuple[int, Condition]]) -> None:
        parts = [(component, _test(condition, context)) for component, condition in conditions]
        self._tests = [(context.bit_of(component), test) for component, test in parts]
        self._asked = [context.asked(component, each.condition) for component, each in parts]
        self._text_of = context.text_of
        self._rejected = [0] * len(self._tests)
        self._is_analyzed = context.options.analyze
        self._overflows = [
            context.watch(test.arithmetic, test.stack) if test.arithmetic else None
            for _, test in self._tests
        ]

    @property
    def has_tests(self) -> bool:
        """Whether there are any conditions."""
        return bool(self._tests)

    def states(self, block: Block) -> Numbers:
        """The states of a block's events without the components with failing conditions."""
        return self.narrow(block, block.states)

    def narrow(self, block: Block, states: Numbers) -> Numbers:
        """The given states of a block's events without the components with failing conditions."""
        if not self._tests:
            return states
        states = states.copy()
        for number, (bit, test) in enumerate(self._tests):
            heed(SEARCHING)
            told = self._told(number, block)
            if told is not None:
                self._rejected[number] += reject_rows(states, bit, told)
                continue
            vectors, types = {need: block.vector(need[1]) for need in test.columns}, block.types
            if np.bitwise_and.reduce(states, initial=-1) >> bit & 1:
                # A whole column is faster than all of its rows.
                rejected = reject_rows(states, bit, test.truth(vectors, types))
                place_of: Callable[[int], int] = block.positions.item
            else:
                rows = np.empty(len(states), np.int64)
                rows = rows[: select_rows(states, bit, rows)]
                vectors = {need: vector.at(rows) for need, vector in vectors.items()}
                fails = ~test.truth(vectors, types[rows])
                states[rows[fails]] ^= 1 << bit
                rejected = int(np.count_nonzero(fails))
                place_of = _place_in(block, rows)
            self._rejected[number] += rejected
            overflows = self._overflows[number]
            if overflows is not None:
                overflows.collect(place_of)
        return states

    def narrow_bits(self, block: Block, states: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Narrow states in bytes; rejections are counted only for ANALYZE."""
        for number, (bit, test) in enumerate(self._tests):
            passes = self._told(number, block)
            if passes is None:
                vectors = {need: block.raw_vector(need[1]) for need in test.columns}
                passes = test.truth(vectors, block.types)
            given, states = states, np.empty_like(states)
            clear_bits(given, bit, passes, states)
            if self._is_analyzed:
                self._rejected[number] += int(np.count_nonzero(given ^ states))
        return states

    def _told(self, number: int, block: Block) -> Mask | None:
        """The truth of a condition that statements share, if it is available for the block."""
        asked = self._asked[number]
        return None if asked is None else asked.truth(block)

    @property
    def rejected(self) -> dict[str, int]:
        """Rejections by condition since the operator was opened."""
        names = (self._text_of(test.condition) for _, test in self._tests)
        return by_text(zip(names, self._rejected, strict=True))


def _test(condition: Condition, context: Context) -> RowFilter:
    texts, known = context.dictionary.texts, context.dictionary.type_dictionary
    reads = context.cached(condition, lambda: FilterColumns.of(condition))
    lacking = context.lacking(reads.columns)
    return RowFilter(condition, known.codes, texts, lacking, known.unlisted, reads=reads)


def _place_in(block: Block, rows: Numbers) -> Callable[[int], int]:
    return lambda row: int(block.positions[rows[row]])
