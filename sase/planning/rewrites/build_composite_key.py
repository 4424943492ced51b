"""(PAIS, composite) Keep a stack for each combination of the equivalence attributes (4.2.2)."""

from __future__ import annotations

from sase.planning.declined import Declined
from sase.planning.plan.nodes import Operator
from sase.planning.rewrites.contract import Outcome
from sase.planning.rewrites.partition_stacks import keyed, partitionable


def build_composite_key(plan: Operator) -> Outcome:
    """One key decides all its tests; only combinations that occur take memory."""
    usable = partitionable(plan)
    if isinstance(usable, Declined):
        return usable
    if len(usable) == 1:
        return Declined(f"`{usable[0].attribute}` is the only attribute to partition on")
    return keyed(plan, (usable,), usable)
