"""(Tree) Join buffers of components in the order of a tree instead of walking back (ZStream)."""

from __future__ import annotations

from dataclasses import replace

from sase.planning.nodes import Operator, SequenceConstruction, Stacks, exchanged, require
from sase.planning.rewrites.contract import Declined, Outcome
from sase.planning.statistics import Statistics
from sase.planning.tree_order import SHAPES, ordered


def join_by_tree(
    plan: Operator, *, shape: str = "bushy", statistics: Statistics | None = None
) -> Outcome:
    """Left deep, right deep, or bushy: of all trees the one that costs least, as is expected."""
    construction = require(plan, SequenceConstruction)
    scan = construction.input
    if shape not in SHAPES:
        return Declined(f"there is no shape {shape}: there are {', '.join(SHAPES)}")
    if construction.joins:
        return Declined("construction joins by a tree already")
    if scan.stacks is not Stacks.AIS:
        return Declined("the runtime stack of the NFA has no buffers by component")
    if len(scan.partitions) > 1:
        return Declined("stacks for several keys have no chains by one")
    if len(scan.components) < 2:
        return Declined("one component has nothing to join")
    joins = ordered(shape, plan, statistics)
    leaves = replace(scan, stacks=Stacks.LEAVES)
    return exchanged(plan, leaves, replace(construction, input=leaves, joins=joins))
