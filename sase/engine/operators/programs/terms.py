"""The checks of an automaton as terms of programs, by the moments that kernels number."""

from __future__ import annotations

from collections.abc import Iterator

from sase.binding.bound import Conjunct
from sase.engine.expressions.series import Term
from sase.engine.kernels.kleene.run_nodes import BEGIN, FINISH, MOMENTS, TAKE
from sase.engine.operators.programs.set_states import bits
from sase.planning.automaton.automaton import At, Check
from sase.planning.automaton.checks import MOMENTS as MOMENTS_OF
from sase.planning.nodes import RunEvaluation

PLACES = {At.BEGIN: BEGIN, At.TAKE: TAKE, At.FINISH: FINISH}


def run_terms(node: RunEvaluation) -> Iterator[Term]:
    """The conditions of a pattern without groups with their moments."""
    for check in node.automaton.checks:
        yield term_of(check, MOMENTS * check.moment.number + PLACES[check.moment.at])


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
    """A condition at the moments at which it is decided, the first of its level given."""
    moments = MOMENTS_OF[conjunct.when]
    own = conjunct.component if At.TAKE in moments else None
    for at in moments:
        yield Term(conjunct.condition, level + PLACES[at], own=own)
