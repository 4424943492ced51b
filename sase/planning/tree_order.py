"""The order of joins: left deep, right deep, or the bushy tree of least cost.

The bushy one is found by dynamic programming over ranges of levels, as ZStream does: the cheapest
tree of a range is the one of its two parts at the best gap, with the join of these. Without
statistics all gaps are alike, and a range is halved.
"""

from __future__ import annotations

from sase.planning.cardinality import Cardinalities
from sase.planning.cost_values import NANOSECONDS
from sase.planning.nodes import Operator, SequenceScan, require
from sase.planning.statistics import Statistics
from sase.planning.trees import JoinPart

SHAPES = ("left_deep", "right_deep", "bushy")


def ordered(shape: str, plan: Operator, statistics: Statistics | None) -> tuple[int, ...]:
    """The gaps between levels in the order in which a tree of a shape closes them."""
    levels = len(require(plan, SequenceScan).components)
    if shape == "bushy" and statistics is not None:
        return _cheapest(Cardinalities(plan, statistics), levels)
    return shaped(shape, levels)


def shaped(shape: str, levels: int) -> tuple[int, ...]:
    """The same where nothing is known of the events: a bushy tree is halved."""
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
    """The work of a join, of records of events that come to the leaves."""
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
