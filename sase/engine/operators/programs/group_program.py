"""Conditions and values over iterations as kernels read them, with the automaton that they need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sase.binding.bound import (
    EquivalenceTest,
)
from sase.engine.columns.arrays import Numbers
from sase.engine.expressions.series import Term, words_read
from sase.engine.kernels.groups import automaton as of
from sase.engine.kernels.groups.automaton import NfaGraph
from sase.engine.kernels.groups.leading_runs import READ_WIDTH, LeadingRuns
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.kleene.run_nodes import EVENT, EVENT_BEFORE, HEAD, ROOT
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.contract import Context
from sase.engine.operators.programs.group_states import GroupStates
from sase.engine.operators.programs.series_program import SeriesProgram
from sase.engine.operators.programs.terms import term_of
from sase.planning.nodes import RunEvaluation

# Where nodes are looked up of which runs are the same from then on: a power of two.
PLACES = 1 << 12


class GroupProgram(SeriesProgram):
    """Terms by moment, and the automaton; that of finished matches checks nothing on its way."""

    def __init__(
        self,
        context: Context,
        states: GroupStates,
        tests: Sequence[EquivalenceTest],
        terms: Sequence[Term],
        moments: int,
        *,
        of_runs: bool = False,
    ) -> None:
        super().__init__(context, tests, terms, moments, of_runs=of_runs, groups=states)
        asked = {each.moment for each in terms} if of_runs else ()
        ordered = sorted(terms, key=lambda term: term.moment)
        awaited = [each.awaited for each in ordered]
        self._states = states
        self.automaton: NfaGraph = states.graph(asked, self.code.fresh, awaited)

    def cells(self, nodes: int) -> Numbers:
        """Nodes, of which the first is the root."""
        cells = super().cells(nodes)
        if self._states.members is not None:
            self._states.members.prepare(cells[ROOT])
        return cells

    def leading(self) -> LeadingRuns:
        """What of nodes decides how runs go on; nothing where a condition ranges over others."""
        states, rows = self._states, [row for _, fill in self.code.reads for row in fill.rows]
        if self.code.ranges or states.members is not None:
            nothing = np.empty((0, READ_WIDTH), np.int64)
            return LeadingRuns(frozen(nothing), np.zeros((1, 2), np.int64))
        found = {(word, NOTHING): NOTHING for word in range(HEAD, self.width)}
        asked = {HEAD + word for row in rows for word in words_read(row)}
        for own in (of.CLASS, of.IDENTITY, of.SIZE):
            del found[states.at + own, NOTHING]
        for group, level in enumerate(states.levels):
            component, count = states.components[level], states.count_at(group)
            del found[states.before_at(group), NOTHING]
            if component.maximum is None and count not in asked:
                found[count, NOTHING] = max(component.minimum, 2)  # the first is asked other things
        for *_, back in (row for row in rows if row[-1] != 0):
            words = (word for row in rows if row[-1] == back for word in words_read(row))
            found |= {(HEAD + word, HEAD + back): NOTHING for word in words}
        if any(row[0] == EVENT_BEFORE for row in rows):
            found[EVENT, NOTHING] = NOTHING
        read = [(word, cap, back) for (word, back), cap in found.items()]
        return LeadingRuns(frozen(np.array(read, np.int64)), np.zeros((PLACES, 2), np.int64))


def run_terms_of(node: RunEvaluation, states: GroupStates) -> Iterator[Term]:
    """The conditions of a pattern with groups with their moments; those on one event left out."""
    for check in node.automaton.checks:
        if check.group is None or not check.is_single:
            yield from (term_of(check, moment) for moment in states.moments_of(check))
