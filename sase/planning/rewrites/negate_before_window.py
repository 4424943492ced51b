"""(NG < WD) Check for absence before the window is checked."""

from __future__ import annotations

from sase.planning.declined import Declined
from sase.planning.plan.nodes import Negation, Operator, Selection, Window, chain, find, rebuilt
from sase.planning.rewrites.contract import Outcome


def negate_before_window(plan: Operator) -> Outcome:
    """It pays if few of the built sequences exceed the window."""
    return negation_below(plan, Window, "there is no window to check after construction")


def negation_below(plan: Operator, kind: type[Selection] | type[Window], lacking: str) -> Outcome:
    """The plan with negation moved below an operator of a kind."""
    negation = find(plan, Negation)
    if negation is None:
        return Declined("there is no negative component to decide")
    if find(plan, kind) is None:
        return Declined(lacking)
    if any(negative.before is None for negative in negation.elements):
        return Declined("sequences that wait for a negated end should be few")
    operators = [each for each in chain(plan) if not isinstance(each, Negation)]
    below = next(i for i, each in enumerate(operators) if isinstance(each, kind)) + 1
    if chain(plan).index(negation) >= below:
        return Declined("absence is checked before already")
    return rebuilt([*operators[:below], negation, *operators[below:]])
