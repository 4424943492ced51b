"""The checks of an automaton as terms of programs, by the moments that kernels number."""

from __future__ import annotations

from collections.abc import Iterator

from sase.binding.bound import Conjunct
from sase.engine.expressions.series import Term
from sase.engine.operators.programs.pattern_states import PLACES, PatternStates
from sase.engine.operators.programs.set_states import bits
from sase.planning.automaton.automaton import At, Check
from sase.planning.automaton.build import MOMENTS
from sase.planning.plan.nodes import RunEvaluation


def run_terms(node: RunEvaluation, states: PatternStates) -> Iterator[Term]:
    """The conditions of a pattern with their moments, except those on one event of iterations."""
    for check in node.automaton.checks:
        if check.group is None or not check.is_single:
            yield from (term_of(check, moment) for moment in states.moments_of(check))


def term_of(check: Check, moment: int) -> Term:
    """A check at a numbered moment."""
    return Term(
        check.condition,
        moment,
        own=check.own,
        quantified=check.quantified,
        at_hand=check.group,
        own_variable=check.variable,
        awaited=bits(check.awaited),
    )


def terms_at(conjunct: Conjunct, level: int) -> Iterator[Term]:
    """A condition at the moments at which it is decided; `level` is the first of its level."""
    moments = MOMENTS[conjunct.when]
    own = conjunct.component if At.TAKE in moments else None
    for at in moments:
        yield Term(conjunct.condition, level + PLACES[at], own=own)
