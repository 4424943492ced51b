"""The order and the cost of trees of joins."""

from __future__ import annotations

from sase.planning.cost.cardinality import Cardinalities
from sase.planning.cost.selectivity import effort
from sase.planning.cost_values import NANOSECONDS, OF_TEXTS, OperatorCost
from sase.planning.plan.nodes import Operator, SequenceConstruction, SequenceScan, require
from sase.planning.plan.trees import JoinPart, part_of, parts_of
from sase.planning.statistics import Statistics

# ---------------------------------------------------------------- tree order

# The bushy tree is found by dynamic programming over ranges of levels, as in ZStream: the cheapest
# tree of a range joins the cheapest trees of its two parts at the best gap. Without statistics all
# gaps have the same cost, and a range is halved.

SHAPES = ("left_deep", "right_deep", "bushy")


def ordered(shape: str, plan: Operator, statistics: Statistics | None) -> tuple[int, ...]:
    """The gaps between levels in the order in which a tree of a shape closes them."""
    levels = len(require(plan, SequenceScan).components)
    if shape == "bushy" and statistics is not None:
        return _cheapest(Cardinalities(plan, statistics), levels)
    return shaped(shape, levels)


def shaped(shape: str, levels: int) -> tuple[int, ...]:
    """The same without statistics: a bushy tree is halved."""
    if shape == "left_deep":
        return tuple(range(levels - 1))
    if shape == "right_deep":
        return tuple(reversed(range(levels - 1)))
    return _halved(0, levels - 1)


def _halved(low: int, high: int) -> tuple[int, ...]:
    if low == high:
        return ()
    split = (low + high) // 2
    return (*_halved(low, split), *_halved(split + 1, high), split)


def _cheapest(figures: Cardinalities, levels: int) -> tuple[int, ...]:
    best: dict[tuple[int, int], tuple[float, tuple[int, ...]]] = {
        (level, level): (0.0, ()) for level in range(levels)
    }
    for length in range(1, levels):
        for low in range(levels - length):
            high = low + length
            trees = []
            for split in range(low, high):
                left, right = best[low, split], best[split + 1, high]
                cost = left[0] + right[0] + join_cost(figures, JoinPart(low, split, high))
                trees.append((cost, (*left[1], *right[1], split)))
            best[low, high] = min(trees)
    return best[0, levels - 1][1]


def join_work(figures: Cardinalities, part: JoinPart) -> dict[str, float]:
    """The work of a join, for records of the events that enter the leaves."""
    low, split, high = part
    return {
        "sought": figures.records(split + 1, high) * figures.nearness(split + 1, high),
        "linked": figures.records(low, split) * figures.nearness(low, split),
        "paired": figures.pairs(low, split, high) * figures.nearness(low, high),
        "made": figures.records(low, high) * figures.nearness(low, high),
    }


def join_cost(figures: Cardinalities, part: JoinPart) -> float:
    """The nanoseconds of a join."""
    return sum(NANOSECONDS[unit] * count for unit, count in join_work(figures, part).items())


# ---------------------------------------------------------------- tree cost

# Bytes of a record in a leaf buffer, or of a join.
RECORD = 80


def cost_of_leaves(
    scan: SequenceScan, work: dict[str, float], figures: Cardinalities
) -> OperatorCost:
    """The cost of leaf buffers, which only events near those of a rare component enter.

    `work` is the work of a scan of all events.
    """
    rows, near = float(figures.statistics.rows), figures.near
    found = {"tree_run": 1.0, "leaf": work["admitted"] * near}
    found |= {unit: work[unit] for unit in OF_TEXTS}
    found |= {
        unit: work[unit] * near
        for unit in ("simple", "key", "tabled", "far", "tabled_far", "stored")
    }
    found["page"] = min(work["page"], found["leaf"] * len(scan.partitions))
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
    """The cost of joins; the pairs that are examined are listed by the gap that they close."""
    built = figures.built
    work = {"ordered": built, "decided": 0.0, "tried": 0.0, "tested": 0.0}
    size, pairs = 0.0, dict[int, float]()
    for number, part in enumerate(parts_of(node.joins)):
        own = [
            c for c in node.conditions if part_of(node.joins, figures.scan.components, c) == number
        ]
        of_join = join_work(figures, part)
        work |= {unit: work.get(unit, 0.0) + count for unit, count in of_join.items()}
        pairs[part.split] = of_join["paired"]
        is_last = number == len(node.joins) - 1
        begun = pairs[part.split] * (figures.begun if is_last else 1.0)
        work["tried"] += begun * bool(own)
        work["decided"] += begun * sum(effort(c.condition) for c in own)
        work["tested"] += begun * len(node.equivalences)
        size += of_join["made"] * RECORD * figures.walked / figures.span
    forbidding = sum(figures.forbidding(each) for each in node.negations)
    work["tree_noted"] = forbidding * figures.near
    finals = figures.arrivals[-1] * figures.nearness(len(figures.arrivals) - 1)
    visited = (*(pairs[gap] for gap in sorted(pairs)), finals)
    return OperatorCost(
        "SequenceConstruction", sum(visited), built, tuple(work.items()), size, visited=visited
    )
