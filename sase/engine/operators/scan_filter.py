"""Conditions on one event, pushed down to the scan: they decide whether it is admitted."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import Condition
from sase.engine.blocks.block import Block
from sase.engine.columns.arrays import Mask, Numbers
from sase.engine.expressions import FilterColumns, RowFilter
from sase.engine.kernels.scan.admission import clear_bits, reject_rows, select_rows
from sase.engine.operators.contract import Context
from sase.engine.operators.residual_filter import by_text
from sase.heed import SEARCHING, heed


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

    def states(self, block: Block) -> Numbers:
        """The states of a block's events without the components whose conditions fail."""
        return self.narrow(block, block.states)

    def narrow(self, block: Block, states: Numbers) -> Numbers:
        """The given states of a block's events without the components whose conditions fail."""
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
        """Narrow states in bytes; rejections are counted for ANALYZE alone."""
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
        """Whether a condition holds of the events of a block, where that is known already."""
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
