"""(Tree) Join buffers of components in the order of a tree instead of walking back (ZStream)."""

from __future__ import annotations

from dataclasses import replace

from sase.planning.cost.cardinality import Cardinalities
from sase.planning.cost.tree_choice import why_not_joined
from sase.planning.cost.tree_cost import SHAPES, ordered, shaped
from sase.planning.declined import Declined
from sase.planning.physical.runs import SeriesJoins, with_algorithm
from sase.planning.plan.nodes import (
    Operator,
    SequenceConstruction,
    Stacks,
    Transformation,
    exchanged,
    reading,
    require,
)
from sase.planning.plan.trees import leaf_levels
from sase.planning.rewrites.contract import NONE_RARE, NOT_AT_HAND, NOT_KNOWN, Outcome
from sase.planning.statistics import Statistics

WHERE = ("always", "cheaper")
NOT_ESTIMATED = Declined("the cost of joins between series is not estimated")


def join_by_tree(
    plan: Operator,
    *,
    shape: str = "bushy",
    where: str = "always",
    statistics: Statistics | None = None,
) -> Outcome:
    """Left deep, right deep, or bushy: the tree with the least estimated cost.

    With where="cheaper" only if it costs less than the walk.
    """
    construction = require(plan, SequenceConstruction)
    scan = construction.input
    if shape not in SHAPES:
        return Declined(f"there is no shape {shape}: there are {', '.join(SHAPES)}")
    if where not in WHERE:
        return Declined(f"where={where}: it is {' or '.join(WHERE)}")
    if construction.joins:
        return Declined("construction joins by a tree already")
    if scan.stacks is not Stacks.AIS:
        return Declined("the runtime stack of the NFA has no buffers by component")
    if len(scan.partitions) > 1:
        return Declined("stacks for several keys have no chains by one")
    if len(scan.components) < 2:
        return Declined("one component has nothing to join")
    if construction.sequences:
        return Declined("negative groups bound the walk, which joins do not ask for")
    kept = _kept(plan, statistics) if where == "cheaper" else None
    if kept is not None:
        return kept
    joins = ordered(shape, plan, statistics)
    leaves = replace(scan, stacks=Stacks.LEAVES)
    tree = exchanged(plan, leaves, replace(construction, input=leaves, joins=joins))
    reason = None
    if where == "cheaper" and statistics is not None:
        reason = why_not_joined(plan, tree, statistics)
    return tree if reason is None else Declined(reason)


def join_runs(plan: Operator, *, shape: str = "bushy", where: str = "always") -> Outcome:
    """Join the events that every match has (of a series the last one); find the others by walks.

    A bushy tree is split in halves: the cost of joins between series is not estimated.
    """
    if where == "cheaper":
        return NOT_ESTIMATED
    if shape not in SHAPES:
        return Declined(f"there is no shape {shape}: there are {', '.join(SHAPES)}")
    joins = shaped(shape, len(leaf_levels(reading(plan).components)))
    return with_algorithm(plan, SeriesJoins, joins)


def _kept(walk: Operator, statistics: Statistics | None) -> Declined | None:
    """The reason to keep the walk without estimating a tree."""
    if statistics is None:
        return NOT_KNOWN
    if not statistics.loaded:
        return NOT_AT_HAND
    figures = Cardinalities(walk, statistics)
    if figures.rarest is None and not figures.spares_tests:
        return NONE_RARE
    if require(walk, Transformation).limit is not None:
        return Declined("LIMIT may end the walk early, and joins see all rare events first")
    return None
