"""Conditions and values over iterations as kernels read them, with the automaton that they need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sase.binding.bound import (
    Conjunct,
    ConjunctClass,
    EquivalenceTest,
    IterationConjunct,
    MemberCheck,
    Quantified,
    When,
)
from sase.engine.columns.arrays import Numbers
from sase.engine.expressions.group_series import GroupTerm
from sase.engine.expressions.series import Term, words_read
from sase.engine.kernels.groups import automaton as of
from sase.engine.kernels.groups.automaton import NfaGraph
from sase.engine.kernels.groups.leading_runs import READ_WIDTH, LeadingRuns
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.kleene.run_nodes import BEGIN, EVENT, EVENT_BEFORE, HEAD, ROOT
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.operators.contract import Context
from sase.engine.operators.programs.group_states import GroupStates
from sase.engine.operators.programs.series_program import SeriesProgram
from sase.engine.operators.programs.set_states import bits
from sase.planning.automaton.automaton import PatternState

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
        awaited = [each.awaited if isinstance(each, GroupTerm) else 0 for each in ordered]
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


def outer_terms(conjunct: Conjunct, states: GroupStates) -> Iterator[Term]:
    """A condition that is asked of no iteration, at its moments."""
    condition, component, when = conjunct.condition, conjunct.component, conjunct.when
    if conjunct.kind is ConjunctClass.CONSTANT or component is None:
        for state in states.states:
            first = of.PHASES * state.number + BEGIN
            yield from (Term(condition, first + phase) for phase in (0, of.PHASES // 2))
        return
    for check in conjunct.checks:
        yield from _checked(conjunct, check, states)
    if conjunct.checks:
        return
    quantified = conjunct.quantified
    if component in states.places:
        moment = states.end_of(states.places[component].number)
        yield GroupTerm(condition, moment, quantified=quantified)
        return
    own = component if when in (When.EVERY, When.FURTHER) else None
    state = states.states[states.numbers[component]]
    if when is When.WHOLE:  # decided where the set is left, if it is in one
        state = states.states[states.automaton.members(state.number)[0]]
    for moment in states.moments_of(state, when):
        yield GroupTerm(condition, moment, own=own, quantified=quantified)


def _checked(conjunct: Conjunct, check: MemberCheck, states: GroupStates) -> Iterator[Term]:
    """A condition where one of several members is bound last."""
    own = check.component if check.when in (When.EVERY, When.FURTHER) else None
    awaited = bits([states.numbers[each] for each in check.awaited])
    for moment in states.moments_of(states.states[states.numbers[check.component]], check.when):
        yield GroupTerm(
            conjunct.condition, moment, own=own, quantified=check.quantified, awaited=awaited
        )


def iteration_terms(
    conjunct: IterationConjunct, state: PatternState, states: GroupStates
) -> Iterator[Term]:
    """A condition that is asked of iterations, at its moments."""
    at_hand, when = states.components[state.level].index, conjunct.when
    own = state.slot if when in (When.EVERY, When.FURTHER) else None
    for moment in states.moments_of(state, when, conjunct.iterations):
        yield GroupTerm(
            conjunct.condition,
            moment,
            quantified=but_own(conjunct.quantified, at_hand, own),
            at_hand=at_hand,
            own_variable=own,
        )


def but_own(
    quantified: Sequence[Quantified], component: int, variable: int | None
) -> tuple[Quantified, ...]:
    """Without the series whose newest event is meant."""
    own = (component, variable)
    return tuple(q for q in quantified if variable is None or (q.component, q.inner) != own)
