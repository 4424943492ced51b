"""Evaluate a condition on one event over the rows of a block."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import Condition, Operation
from sase.cached_property import cached_property
from sase.engine.columns.arrays import Mask
from sase.engine.expressions.layout import Need, ProgramLayout, columns_needed
from sase.engine.expressions.lowering import Lowered, lower, make_stack
from sase.engine.expressions.strings import Interner
from sase.engine.expressions.vectorized import evaluate_vectorized
from sase.engine.expressions.vectors import Vector, columns_of
from sase.engine.kernels.expressions.program import Stack, evaluate_rows
from sase.planning.physical.vectorized import can_vectorize


@dataclass(frozen=True)
class FilterColumns:
    """The attributes of a condition on one event, and whether NumPy can evaluate it."""

    columns: tuple[Need, ...]
    is_vectorized: bool

    @classmethod
    def of(cls, condition: Condition) -> FilterColumns:
        """The attributes that a condition reads."""
        columns = columns_needed([condition])
        return cls(columns, can_vectorize(condition) and bool(columns))


class RowFilter:
    """A condition on one event: evaluated by NumPy if possible, otherwise by a program."""

    def __init__(
        self,
        condition: Condition,
        type_codes: Mapping[str, int],
        interner: Interner,
        lacking: frozenset[Need] = frozenset(),
        unlisted: tuple[int, ...] = (0,),
        *,
        reads: FilterColumns | None = None,
    ) -> None:
        reads = reads or FilterColumns.of(condition)
        self.condition, self.interner, self.columns = condition, interner, reads.columns
        self._types = type_codes, lacking, unlisted
        self.is_vectorized = reads.is_vectorized and not lacking

    @cached_property
    def lowered(self) -> Lowered:
        """The program; most conditions need none."""
        codes, lacking, unlisted = self._types
        places = {need: place for place, need in enumerate(self.columns)}
        positions = {component: 0 for component, _ in self.columns}
        layout = ProgramLayout(places, codes, self.interner, positions, lacking, unlisted)
        return lower(self.condition, layout)

    @cached_property
    def stack(self) -> Stack:
        """The stack of the program, with notes of overflows."""
        return make_stack(self.lowered.depth)

    @property
    def arithmetic(self) -> dict[int, Operation]:
        """The operations that may overflow int64; none if NumPy evaluates."""
        return {} if self.is_vectorized else dict(self.lowered.arithmetic)

    def truth(self, vectors: Mapping[Need, Vector], types: NDArray[np.int16]) -> Mask:
        """Evaluate the condition for every row."""
        if self.is_vectorized and all(isinstance(vectors[need].tag, int) for need in self.columns):
            return evaluate_vectorized(self.condition, vectors, self.interner)
        return self.by_program(vectors, types)

    def by_program(self, vectors: Mapping[Need, Vector], types: NDArray[np.int16]) -> Mask:
        """Evaluate the condition for every row by its program."""
        program = self.lowered.program  # may request tables
        read = [vectors[need] for need in self.columns]
        out = np.empty(len(types), np.bool_)
        columns = columns_of(read, types, self.interner.tables())
        evaluate_rows(program, columns, self.stack, out)
        return out
