"""(NFAb) Evaluate runs by the algorithm of a name in place of the usual one, where it applies."""

from __future__ import annotations

from sase.base.texts import did_you_mean
from sase.planning.declined import Declined
from sase.planning.physical.runs import CHOSEN, with_algorithm
from sase.planning.plan.nodes import Operator
from sase.planning.rewrites.contract import Outcome


def use_algorithm(plan: Operator, *, name: str = "") -> Outcome:
    """Each algorithm finds the same matches in the same order, or declines."""
    if name not in CHOSEN:
        hint = did_you_mean(name, CHOSEN) or (f"there are {', '.join(CHOSEN)}",)
        return Declined(f"there is no algorithm `{name}`; {hint[0]}")
    return with_algorithm(plan, CHOSEN[name])
