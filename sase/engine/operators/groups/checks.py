"""HAVING, RETURN and negation of matches with repeated groups, which are replayed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from sase.binding.bound import Conjunct, EquivalenceTest, Quantified
from sase.engine.expressions.series import Term
from sase.engine.kernels.runs.residual_checks import (
    Iterations,
    evaluate_groups,
    forbid_groups,
    select_groups,
)
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.contract import Context
from sase.engine.operators.groups.matches import iterations_of, shape_of
from sase.engine.operators.kleene.series_negation import (
    SeriesAbsence,
    SeriesCheck,
    SeriesNegationState,
)
from sase.engine.operators.programs.pattern_states import PatternStates
from sase.engine.operators.programs.series_program import SeriesProgram
from sase.planning.plan.negatives import NegativeComponent


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

    def _iterations(self, bound: Bindings) -> Iterations:
        return iterations_of(bound, self._shape)


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
