"""HAVING, RETURN and negation of matches with repeated groups, which are bound once more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import Column, Condition, Conjunct, EquivalenceTest, Quantified
from sase.engine.columns.arrays import Numbers
from sase.engine.expressions.group_series import GroupTerm
from sase.engine.expressions.series import Term
from sase.engine.kernels.kleene.automaton import NfaGraph
from sase.engine.kernels.kleene.iteration_checks import (
    GroupMatches,
    Shape,
    evaluate_groups,
    forbid_groups,
    select_groups,
)
from sase.engine.kernels.kleene.run_nodes import Machine
from sase.engine.operators.contract import Context, Counters
from sase.engine.operators.group_bindings import GroupBindings
from sase.engine.operators.group_matches import matches_of, shape_of
from sase.engine.operators.group_program import GroupProgram
from sase.engine.operators.group_states import GroupStates
from sase.engine.operators.selection import SequenceFilter
from sase.engine.operators.series_negation import SeriesAbsence, SeriesNegationState
from sase.planning.negatives import NegativeComponent
from sase.planning.nodes import Negation


class GroupCheck:
    """Terms over finished matches, and nodes to bind the longest of them."""

    def __init__(
        self,
        context: Context,
        tests: Sequence[EquivalenceTest],
        terms: Sequence[Term],
        moments: int,
    ) -> None:
        self.states = GroupStates(context.components, len(tests))
        self.program = GroupProgram(context, self.states, tests, terms, moments)
        self._cells = self.program.cells(16)
        self._shape = shape_of(self.states)

    def arguments(
        self, found: GroupBindings
    ) -> tuple[Machine, NfaGraph, Shape, Numbers, GroupMatches]:
        """What kernels take of some matches, with nodes for any of them."""
        longest = 1 + int(found.lengths.sum(axis=0).max(initial=0))
        if longest > len(self._cells):
            self._cells = self.program.cells(2 * longest)
        arrays = matches_of(found)
        return self.program.machine(), self.program.automaton, self._shape, self._cells, arrays


class GroupHaving(SequenceFilter):
    """HAVING of matches with repeated groups."""

    def __init__(self, conditions: Sequence[Condition], context: Context) -> None:
        super().__init__()
        self._check = GroupCheck(context, [], [Term(each) for each in conditions], 1)

    def passes(self, sequences: GroupBindings) -> NDArray[np.bool_]:  # type: ignore[override]
        """Whether each match satisfies it."""
        keep = np.empty(sequences.size, np.bool_)
        select_groups(*self._check.arguments(sequences), keep)
        return keep

    def analysis(self) -> Counters:
        """Rejections."""
        return {"rejected": {"HAVING": self._seen - self._passed}}


class GroupValues:
    """The columns of RETURN of matches with repeated groups."""

    def __init__(self, columns: Sequence[Column], context: Context) -> None:
        terms = [Term(column.value, moment) for moment, column in enumerate(columns)]
        self._count = len(terms)
        self._check = GroupCheck(context, [], terms, len(terms)) if terms else None

    def evaluate(self, found: Any) -> tuple[Numbers, ...]:
        """Tag and bits of each column for each match."""
        if self._check is None:
            return ()
        out = np.empty((self._count, found.size, 2), np.int64)
        evaluate_groups(*self._check.arguments(found), self._check.program.stack.values, out)
        return tuple(out)


class GroupAbsence(SeriesAbsence):
    """The index of a negation of matches with repeated groups, with its conditions."""

    def __init__(self, negation: NegativeComponent, node: Negation, context: Context) -> None:
        super().__init__(negation, node, context)
        index = negation.component.index
        terms = [
            GroupTerm(each.condition, judged=index, quantified=_quantified(each, index))
            for each in negation.conditions
            if not set(each.references) <= {index}
        ]
        self._check = GroupCheck(context, self.rest, terms, 1)

    def forbid(self, found: GroupBindings, keep: NDArray[np.bool_], *, at_end: bool) -> None:
        """Clear `keep` for the matches that some event forbids."""
        asked = int(np.count_nonzero(keep))
        matches = self._check.arguments(found)
        forbid_groups(*matches, self.arrays, self.gap, self.stored(), at_end, keep)
        self.probed += asked
        self.hit += asked - int(np.count_nonzero(keep))


class GroupNegationState(SeriesNegationState):
    """A running negation of matches with repeated groups."""

    absence: ClassVar[type[SeriesAbsence]] = GroupAbsence


def _quantified(conjunct: Conjunct, judged: int) -> tuple[Quantified, ...]:
    return tuple(each for each in conjunct.quantified if each.component != judged)
