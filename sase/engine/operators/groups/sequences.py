"""Negative sequences beside repeated groups, also searched in the gap of each match."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from sase.binding.bound import Conjunct
from sase.engine.expressions.series import Term
from sase.engine.kernels.groups.negative_sequences import forbid_groups_by_sequences
from sase.engine.kernels.runs.residual_checks import Iterations
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.contract import Context
from sase.engine.operators.groups.matches import iterations_of, shape_of
from sase.engine.operators.negative_sequences import SequencesInGaps
from sase.engine.operators.programs.pattern_states import PatternStates
from sase.engine.operators.programs.series_program import SeriesProgram


class GroupSequencesInGaps(SequencesInGaps):
    """A negative sequence with components that follow the states of a match as further states."""

    kernel: ClassVar[Callable[..., int]] = staticmethod(forbid_groups_by_sequences)

    def _levels(self, joint: Context) -> int:
        self._states = PatternStates.of(joint.components, len(self.rest))
        return len(self._states.states)

    def _term(self, conjunct: Conjunct, term: Term) -> Term:
        ranges = tuple(each for each in conjunct.quantified if each.component != term.judged)
        return replace(term, quantified=ranges)

    def _make_program(self, joint: Context, terms: list[Term], moments: int) -> SeriesProgram:
        program = SeriesProgram(joint, self.rest, terms, moments, states=self._states)
        self._shape = shape_of(self._states, program.automaton)
        return program

    def _iterations(self, bound: Bindings) -> Iterations:
        return iterations_of(bound, self._shape)
