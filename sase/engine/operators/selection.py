"""Operators that only let sequences pass: (σ) Selection, (WD) Window, and their common base."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sase.binding.bound import Condition, EquivalenceTest
from sase.engine.blocks.block import Block, Watermark
from sase.engine.columns.arrays import Mask
from sase.engine.kernels.sentinels import EARLIEST
from sase.engine.operators.contract import Context, Counters, Sequences, span_of
from sase.engine.operators.residual_filter import ResidualFilter
from sase.engine.snapshots.layout import Count, Declared
from sase.planning.nodes import Selection, Window


class SequenceFilter(Declared):
    """Count what goes in and comes out; `passes` decides each sequence."""

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
    """Pass the sequences that a residual filter lets pass."""

    def __init__(
        self, context: Context, tests: Sequence[EquivalenceTest], conditions: list[Condition]
    ) -> None:
        super().__init__()
        self._residual = ResidualFilter.of_sequences(context, tests, conditions)

    def passes(self, sequences: Sequences) -> Mask:
        """Whether each sequence satisfies everything."""
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
    """Pass the sequences whose first and last event lie within the window."""

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
