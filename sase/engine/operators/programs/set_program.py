"""The conditions of a pattern with sets by moment: which is last to be bound the run decides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sase.binding.bound import EquivalenceTest
from sase.engine.columns.arrays import Numbers
from sase.engine.expressions.series import Term
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.kleene.run_nodes import MOMENTS, ROOT
from sase.engine.operators.contract import Context
from sase.engine.operators.programs.series_program import SeriesProgram
from sase.engine.operators.programs.set_states import SetStates


class SetProgram(SeriesProgram):
    """Terms by moment, and the graph of elements, which says what each of them awaits."""

    def __init__(
        self, context: Context, tests: Sequence[EquivalenceTest], terms: Sequence[Term]
    ) -> None:
        self.states = states = SetStates(context.components, len(tests))
        moments = MOMENTS * context.levels
        super().__init__(context, tests, terms, moments, of_runs=True, groups=states)
        ordered = sorted(terms, key=lambda term: term.moment)
        awaited = frozen(np.array([each.awaited for each in ordered], np.int64))
        self.graph = states.graph(awaited)

    def cells(self, nodes: int) -> Numbers:
        """Nodes, of which the first is the root."""
        cells = super().cells(nodes)
        self.states.prepare(cells[ROOT])
        return cells
