"""A condition on one event, evaluated over the events of a block."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import Condition, Operation
from sase.engine.expressions.fast import fast_truth, is_fast
from sase.engine.expressions.lanes import Lane, Mask, columns_of
from sase.engine.expressions.layout import Layout, Need, columns_needed
from sase.engine.expressions.lowering import Lowered, lower, make_stack
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
        self._layout = Layout(places, type_codes, interner, positions, strangers, stranger)
        self.is_fast = is_fast(condition) and bool(self.columns) and not strangers

    @cached_property
    def lowered(self) -> Lowered:
        """The program, which most conditions do without."""
        return lower(self.condition, self._layout)

    @cached_property
    def stack(self) -> Stack:
        """Where the program works, and notes what left int64."""
        return make_stack(self.lowered.depth)

    @property
    def arithmetic(self) -> dict[int, Operation]:
        """What may leave int64: nothing that NumPy evaluates."""
        return {} if self.is_fast else dict(self.lowered.arithmetic)

    def truth(self, lanes: Mapping[Need, Lane], types: NDArray[np.int16]) -> Mask:
        """The truth for every row of a block."""
        if self.is_fast and all(isinstance(lanes[need].tag, int) for need in self.columns):
            return fast_truth(self.condition, lanes, self.interner)
        return self.by_program(lanes, types)

    def by_program(self, lanes: Mapping[Need, Lane], types: NDArray[np.int16]) -> Mask:
        """The truth for every row of a block, by the program."""
        program = self.lowered.program  # which may ask for tables
        read = [lanes[need] for need in self.columns]
        out = np.empty(len(types), np.bool_)
        columns = columns_of(read, types, self.interner.tables())
        evaluate_rows(program, columns, self.stack, out)
        return out
