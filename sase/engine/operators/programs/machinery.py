"""The arguments of kernels for programs: constant tables, and the current columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.expressions.program import Program, Stack
from sase.engine.kernels.jit.compiler import SharedTuple, address_of
from sase.engine.kernels.kleene.predicates import store_predicates
from sase.engine.kernels.kleene.run_nodes import Machine, PredicateArrays
from sase.engine.operators.contract import Context


class Machinery:
    """The constant parts of machines, and the address of the tuple that kernels load."""

    def __init__(
        self,
        condition: Callable[..., bool] | None,
        aggregate: Callable[..., None] | None,
        tables: Numbers,
        lacking: NDArray[np.uint8],
        program: Program,
        stack: Stack,
        *,
        rows: int,
        cursors: int,
    ) -> None:
        self._has_programs = bool(condition or aggregate)
        self._condition = address_of(condition) if condition else 0
        self._aggregate = address_of(aggregate) if aggregate else 0
        self._tables, self._lacking, self._program, self._stack = tables, lacking, program, stack
        self._rows, self.cursors = np.zeros(rows, np.int64), np.zeros(cursors, np.int64)
        self._place = SharedTuple(store_predicates)

    def machine(self, context: Context) -> Machine:
        """The current arrays."""
        store, place = context.buffer, 0
        columns = store.columns(context.dictionary.texts.tables())
        if self._has_programs:
            asked = self._program, columns, self._stack, self._rows, self.cursors
            place = self._place.of(PredicateArrays(store.mask, self._tables, self._lacking, *asked))
        kernels = self._condition, self._aggregate, place
        codes = store.frozen_codes
        return Machine(store.mask, *kernels, self._tables, codes, columns.cells, columns.tags)
