"""(Multi-PAIS) Keep stacks for each equivalence attribute, and filter across them (4.2.2)."""

from __future__ import annotations

from sase.planning.declined import Declined
from sase.planning.plan.nodes import Operator
from sase.planning.rewrites.contract import Outcome
from sase.planning.rewrites.partition_stacks import keyed, partitionable


def partition_on_every_attribute(plan: Operator) -> Outcome:
    """Construction uses the first attribute's stacks; other tests stay in the selection."""
    usable = partitionable(plan)
    if isinstance(usable, Declined):
        return usable
    if len(usable) == 1:
        return Declined(f"`{usable[0].attribute}` is the only attribute to partition on")
    return keyed(plan, tuple((test,) for test in usable), usable[:1])
