"""(σ) Selection: lets the sequences pass that satisfy conditions and equivalence tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import Condition
from sase.engine.operators.contract import Context, Counters, Sequences
from sase.engine.operators.filter import SequenceFilter
from sase.engine.operators.residual_filter import ResidualFilter
from sase.planning.nodes import Selection


class SelectionState(SequenceFilter):
    """A running selection."""

    def __init__(self, node: Selection, context: Context) -> None:
        super().__init__()
        conditions: list[Condition] = [conjunct.condition for conjunct in node.conditions]
        tests = [test for test in node.equivalences if test.value is None]
        for test in node.equivalences:
            if test.value is not None:
                conditions += [c for _, c in context.values(test, context.components)]
        self._checking = ResidualFilter.of_sequences(
            context, [] if context.is_alone else tests, conditions
        )

    def passes(self, sequences: Sequences) -> NDArray[np.bool_]:
        """Whether each sequence satisfies everything."""
        return self._checking.selected(sequences)

    def analysis(self) -> Counters:
        """Sequences turned away by each test and condition."""
        return {} if self._checking.tally is None else {"rejected": self._checking.rejected}
