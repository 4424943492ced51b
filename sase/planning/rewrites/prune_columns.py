"""(π) Read only the columns that the plan and its results need."""

from __future__ import annotations

from dataclasses import replace

from sase.planning.declined import Declined
from sase.planning.plan.nodes import Operator, Transformation, Union, exchanged, reading, require
from sase.planning.plan.traversal import attributes_read
from sase.planning.rewrites.contract import Outcome


def prune_columns(plan: Operator) -> Outcome:
    """Time, type and `seq` are always read."""
    source = reading(plan)
    assert not isinstance(source, Union), "each branch is rewritten by itself"
    if source.columns is not None:
        return Declined("they are pruned already")
    if require(plan, Transformation).columns is None:
        return Declined("the results show every attribute: there is no RETURN")
    return exchanged(plan, replace(source, columns=attributes_read(plan)))
