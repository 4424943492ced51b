"""Estimate the cost of a tree of joins: units of work and bytes of its leaves and its joins."""

from __future__ import annotations

from sase.planning.cardinality import Cardinalities
from sase.planning.cost_values import OperatorCost
from sase.planning.nodes import SequenceConstruction, SequenceScan
from sase.planning.selectivity import effort
from sase.planning.tree_order import join_work
from sase.planning.trees import part_of, parts_of

# Bytes of a record in a leaf buffer, or of a join.
RECORD = 80


def cost_of_leaves(
    scan: SequenceScan, work: dict[str, float], figures: Cardinalities
) -> OperatorCost:
    """The cost of leaf buffers, to which only events near those of a rare component come.

    `work` is what a scan of all events does.
    """
    rows, near = float(figures.statistics.rows), figures.near
    found = {"tree_run": 1.0, "leaf": work["admitted"] * near}
    found |= {unit: work[unit] for unit in ("plain", "plain_far", "plain_new")}
    found |= {
        unit: work[unit] * near
        for unit in ("simple", "key", "tabled", "far", "tabled_far", "stored")
    }
    if figures.rarest is None:
        found["event"] = rows
    else:
        found |= {"tree_event": rows, "ranged": rows * figures.covered, "near": rows * near}
    pushed = [count * figures.nearness(level) for level, count in enumerate(figures.arrivals)]
    found["filled"] = sum(pushed)
    reach = figures.reach(scan.window)
    alive = tuple(count * reach / figures.span for count in pushed)
    size = RECORD * sum(alive)
    return OperatorCost("SequenceScan", rows, sum(pushed), tuple(found.items()), size, alive=alive)


def cost_of_joins(node: SequenceConstruction, figures: Cardinalities) -> OperatorCost:
    """The cost of joins; the pairs that are tried are by the gap that they close."""
    built = figures.built
    work = {"ordered": built, "decided": 0.0, "tried": 0.0}
    size, pairs = 0.0, dict[int, float]()
    for number, part in enumerate(parts_of(node.joins)):
        own = [
            c for c in node.conditions if part_of(node.joins, figures.scan.components, c) == number
        ]
        of_join = join_work(figures, part)
        work |= {unit: work.get(unit, 0.0) + count for unit, count in of_join.items()}
        pairs[part.split] = of_join["paired"]
        work["tried"] += pairs[part.split] * bool(own)
        work["decided"] += pairs[part.split] * sum(effort(c.condition) for c in own)
        size += of_join["made"] * RECORD * figures.walked / figures.span
    work["tested"] = sum(pairs.values()) * len(node.equivalences)
    forbidding = sum(figures.forbidding(each) for each in node.negations)
    work["tree_noted"] = forbidding * figures.near
    finals = figures.arrivals[-1] * figures.nearness(len(figures.arrivals) - 1)
    visited = (*(pairs[gap] for gap in sorted(pairs)), finals)
    return OperatorCost(
        "SequenceConstruction", sum(visited), built, tuple(work.items()), size, visited=visited
    )
