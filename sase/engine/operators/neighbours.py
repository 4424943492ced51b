"""Conditions on two neighbours in a match, decided for many pairs of events at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import Conjunct, Part, Reference
from sase.engine.columns.arrays import Numbers
from sase.engine.expressions import ProgramLayout, lower, make_stack
from sase.engine.expressions.lowering import Lowered
from sase.engine.kernels.expressions.program import Stack, evaluate_tuples
from sase.engine.operators.contract import Context
from sase.planning.paths import neighbours


@dataclass(frozen=True)
class _PairLayout(ProgramLayout):
    """The earlier event of a pair in row 0, the later one in row 1."""

    earlier: int = 0

    def row(self, reference: Reference) -> int:
        """The row of the event that is referred to."""
        is_before = reference.component == self.earlier and reference.part is not Part.CURRENT
        return int(not is_before)


class _OfTwoLayout(_PairLayout):
    """The same for events of two components."""

    def row(self, reference: Reference) -> int:
        """The row of the event that is referred to."""
        return int(reference.component != self.earlier)


class Neighbours:
    """Conditions by the pair of levels that they are on."""

    def __init__(self, context: Context, conjuncts: Sequence[Conjunct]) -> None:
        self._context = context
        self._tests: dict[tuple[int, int], list[tuple[Lowered, Stack]]] = defaultdict(list)
        for conjunct in conjuncts:
            levels = neighbours(conjunct, context.components)
            assert levels is not None, "only conditions on neighbours are tested here"
            base = context.layout([conjunct.condition])
            is_of_two = levels[0] != levels[1]
            kind = _OfTwoLayout if is_of_two else _PairLayout
            layout = kind.over(base, earlier=context.components[levels[0]].index)
            lowered = lower(conjunct.condition, layout)
            stack = make_stack(lowered.depth)
            context.watch(dict(lowered.arithmetic), stack)
            self._tests[levels].append((lowered, stack))

    def __bool__(self) -> bool:
        return bool(self._tests)

    def evaluate(self, earlier: Numbers, one: int, later: Numbers, other: int) -> NDArray[np.bool_]:
        """Whether all conditions hold, for each pair of event numbers."""
        holds = np.ones(len(earlier), np.bool_)
        store = self._context.buffer
        columns = store.columns(self._context.dictionary.texts.tables())
        for lowered, stack in self._tests.get((one, other), ()):
            at = np.flatnonzero(holds)
            rows = np.stack([earlier[at] & store.mask, later[at] & store.mask], axis=1)
            found = np.empty(len(at), np.bool_)
            evaluate_tuples(lowered.program, columns, rows, stack, found)
            holds[at] = found
        return holds
