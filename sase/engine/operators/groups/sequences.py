"""Negative sequences beside repeated groups: looked for in the gap of each match, too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import Conjunct
from sase.engine.expressions.series import Term
from sase.engine.kernels.groups.forbidden_groups import forbid_groups_by_sequences
from sase.engine.operators.contract import Context
from sase.engine.operators.groups.matches import matches_of, shape_of
from sase.engine.operators.negative_sequences import SequencesInGaps
from sase.engine.operators.programs.pattern_states import PatternStates
from sase.engine.operators.programs.series_program import SeriesProgram


class GroupSequencesInGaps(SequencesInGaps):
    """A negative sequence whose components follow the states of a match as further states."""

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

    def _search_gaps(self, found: Any, keep: NDArray[np.bool_], *, at_end: bool) -> int:
        program, matches = self._program, matches_of(found.by_level())
        return forbid_groups_by_sequences(
            program.machine(), self._shape, self._cells, matches,
            found.events, self._lists, self.arrays, self.gap, self.stored(), self._search,
            self._first, at_end, keep,
        )  # fmt: skip
