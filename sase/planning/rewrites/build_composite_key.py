"""Keep a stack for each combination of the equivalence attributes (the simple way of 4.2.2)."""

from __future__ import annotations

from sase.planning.nodes import Operator
from sase.planning.rewrites.partition_stacks import keyed, partitionable


def build_composite_key(plan: Operator) -> Operator | None:
    """One key decides all its tests; only the combinations that occur take room."""
    usable = partitionable(plan)
    return keyed(plan, (usable,), usable) if len(usable) > 1 else None
