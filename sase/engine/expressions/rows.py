"""A condition on one event, evaluated over the events of a block."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import Condition
from sase.engine.expressions.fast import fast_truth, is_fast
from sase.engine.expressions.lanes import Lane, Mask, columns_of
from sase.engine.expressions.layout import Layout, Need, columns_needed
from sase.engine.expressions.lowering import lower, make_stack
from sase.engine.expressions.strings import Interner
from sase.engine.kernels.program import Stack, evaluate_rows


class RowTest:
    """A condition on one event: by NumPy where that is possible, by its program otherwise.

    The notes of the stack are of all blocks; the row in them counts within its own block.
    """

    def __init__(
        self,
        condition: Condition,
        type_codes: Mapping[str, int],
        interner: Interner,
        strangers: frozenset[Need] = frozenset(),
        stranger: int = 0,
    ) -> None:
        self.condition, self.interner = condition, interner
        self.columns = columns_needed([condition])
        places = {need: place for place, need in enumerate(self.columns)}
        positions = {component: 0 for component, _ in self.columns}
        layout = Layout(places, type_codes, interner, positions, strangers, stranger)
        self.lowered = lower(condition, layout)
        self.is_fast = is_fast(condition) and bool(self.columns) and not strangers
        self.stack: Stack = make_stack(self.lowered.depth)

    def truth(self, lanes: Mapping[Need, Lane], types: NDArray[np.int16]) -> Mask:
        """The truth for every row of a block."""
        if self.is_fast and all(isinstance(lanes[need].tag, int) for need in self.columns):
            return fast_truth(self.condition, lanes, self.interner)
        return self.by_program(lanes, types)

    def by_program(self, lanes: Mapping[Need, Lane], types: NDArray[np.int16]) -> Mask:
        """The truth for every row of a block, by the program."""
        read = [lanes[need] for need in self.columns]
        out = np.empty(len(types), np.bool_)
        columns = columns_of(read, types, self.interner.tables())
        evaluate_rows(self.lowered.program, columns, self.stack, out)
        return out
