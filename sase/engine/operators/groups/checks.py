"""HAVING, RETURN and negation of matches with repeated groups, which are bound once more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeAlias

from sase.binding.bound import Conjunct, EquivalenceTest, Quantified
from sase.engine.columns.arrays import Numbers
from sase.engine.expressions.series import Term
from sase.engine.kernels.groups.iteration_checks import (
    GroupMatches,
    Shape,
    evaluate_groups,
    forbid_groups,
    select_groups,
)
from sase.engine.kernels.kleene.run_nodes import Machine
from sase.engine.operators.bindings.groups import GroupBindings
from sase.engine.operators.contract import Context
from sase.engine.operators.groups.matches import matches_of, shape_of
from sase.engine.operators.kleene.series_negation import (
    SeriesAbsence,
    SeriesCheck,
    SeriesNegationState,
)
from sase.engine.operators.programs.pattern_states import PatternStates
from sase.engine.operators.programs.series_program import SeriesProgram
from sase.planning.negatives import NegativeComponent

Arguments: TypeAlias = tuple[Machine, Shape, Numbers, GroupMatches]


class GroupCheck(SeriesCheck):
    """Terms over finished matches with repeated groups."""

    select = staticmethod(select_groups)
    evaluate = staticmethod(evaluate_groups)
    forbid = staticmethod(forbid_groups)

    def _make_program(
        self,
        context: Context,
        tests: Sequence[EquivalenceTest],
        terms: Sequence[Term],
        moments: int,
    ) -> SeriesProgram:
        states = PatternStates.of(context.components, len(tests))
        program = SeriesProgram(context, tests, terms, moments, states=states)
        self._shape = shape_of(states, program.automaton)
        return program

    def arguments(self, found: GroupBindings) -> Arguments:
        """What kernels take of some matches, with nodes for any of them."""
        arguments: Arguments = super().arguments(found)
        return arguments

    def in_order(self, found: GroupBindings) -> tuple[Numbers]:
        """The events in the order of the stream, for their gaps."""
        return (found.events,)

    def _arrays(self, found: GroupBindings) -> Arguments:
        matches = matches_of(found.by_level())
        return self.program.machine(), self._shape, self._cells, matches


class GroupAbsence(SeriesAbsence):
    """The index of a negation of matches with repeated groups, with its conditions."""

    check = GroupCheck

    def _terms(self, negation: NegativeComponent) -> Sequence[Term]:
        index = negation.component.index
        return [
            Term(each.condition, judged=index, quantified=_quantified(each, index))
            for each in negation.conditions
            if not set(each.references) <= {index}
        ]


class GroupNegationState(SeriesNegationState):
    """A running negation of matches with repeated groups."""

    absence: ClassVar[type[SeriesAbsence]] = GroupAbsence


def _quantified(conjunct: Conjunct, judged: int) -> tuple[Quantified, ...]:
    return tuple(each for each in conjunct.quantified if each.component != judged)
