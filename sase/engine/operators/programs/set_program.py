"""The conditions of a pattern with sets by moment: which is last to be bound the run decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sase.binding.bound import Conjunct, ConjunctClass, EquivalenceTest, MemberCheck, When
from sase.engine.columns.arrays import Numbers
from sase.engine.expressions.series import Term
from sase.engine.expressions.set_series import SetTerm
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.kleene.run_nodes import BEGIN, FINISH, MOMENTS, ROOT, TAKE
from sase.engine.operators.contract import Context
from sase.engine.operators.programs.series_program import SeriesProgram
from sase.engine.operators.programs.set_states import SetStates, bits
from sase.engine.operators.programs.terms import terms_at
from sase.planning.nodes import RunEvaluation


class SetProgram(SeriesProgram):
    """Terms by moment, and the graph of elements, which says what each of them awaits."""

    def __init__(
        self, context: Context, tests: Sequence[EquivalenceTest], terms: Sequence[SetTerm]
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


def set_terms(node: RunEvaluation) -> Iterator[SetTerm]:
    """The conditions with their moments, and what they await."""
    states = SetStates(node.components, 0)
    levels = {component.index: level for level, component in enumerate(node.components)}
    for edge in node.conditions:
        for term, awaited in _terms(edge.conjunct, states, levels):
            yield SetTerm(term.term, term.moment, term.own, term.judged, awaited)


def _terms(
    conjunct: Conjunct, states: SetStates, levels: dict[int, int]
) -> Iterator[tuple[Term, int]]:
    condition = conjunct.condition
    if conjunct.kind is ConjunctClass.CONSTANT or conjunct.component is None:
        for level in range(len(levels)):
            yield Term(condition, MOMENTS * level + BEGIN), 0
        return
    for check in conjunct.checks:
        awaited = bits([levels[each] for each in check.awaited])
        for term in _checked(conjunct, check, MOMENTS * levels[check.component]):
            yield term, awaited
    if conjunct.checks:
        return
    level = levels[conjunct.component]
    if conjunct.when is When.WHOLE:  # decided where the element is left
        first = states.elements[states.element_of[level]][0]
        yield Term(condition, MOMENTS * first + FINISH), 0
        return
    for term in terms_at(conjunct, MOMENTS * level):
        yield term, 0


def _checked(conjunct: Conjunct, check: MemberCheck, level: int) -> Iterator[Term]:
    """A condition where one of several members is bound last; the first moment of its level."""
    ranges = check.when in (When.EVERY, When.FURTHER)
    own = check.component if ranges else None
    if check.when is not When.FURTHER:
        yield Term(conjunct.condition, level + BEGIN, own=own)
    if ranges:
        yield Term(conjunct.condition, level + TAKE, own=own)
