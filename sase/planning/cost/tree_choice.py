"""Choose between joins by a tree and the walk back through stacks, by their expected times.

If all events are loaded, only those near the few events of a rare component enter the leaves. The
last join tests conditions only on pairs that no event before the start forbids; the walk tests
them on all pairs. The saving depends on estimates, so a tree must be faster by a margin. Records of
joins stay in memory for a window, while the walk stores only events.
"""

from __future__ import annotations

from dataclasses import replace

from sase.planning.cost.cost import cost_of
from sase.planning.cost_values import MOST_BYTES
from sase.planning.plan.nodes import (
    Operator,
    SequenceConstruction,
    SequenceScan,
    Stacks,
    exchanged,
    find,
    require,
)
from sase.planning.quantities import duration, size
from sase.planning.statistics import Statistics

# The walk must be expected to take this many times as long as the joins.
LEAD = 1.4


def why_not_joined(walk: Operator, tree: Operator, statistics: Statistics) -> str | None:
    """Why the tree is not faster by the margin, or needs much memory; None if it is better."""
    joined, walked = (cost_of(each, statistics) for each in (tree, walk))
    if joined.nanoseconds * LEAD > walked.nanoseconds:
        compared = _compared(joined.nanoseconds, walked.nanoseconds)
        return f"{compared}, which must be {LEAD} times that"
    if joined.bytes > max(walked.bytes, MOST_BYTES):
        return f"joins are expected to hold {size(joined.bytes)}, and the walk {size(walked.bytes)}"
    return None


def comparison(plan: Operator, statistics: Statistics | None) -> str | None:
    """Describe the expected times of the joins of a plan, and of a walk in their place."""
    construction = find(plan, SequenceConstruction)
    if statistics is None or construction is None or not construction.joins:
        return None
    scan = replace(require(plan, SequenceScan), stacks=Stacks.AIS)
    walk = exchanged(plan, scan, replace(construction, input=scan, joins=()))
    joined, walked = (cost_of(each, statistics).nanoseconds for each in (plan, walk))
    return _compared(joined, walked)


def _compared(joined: float, walked: float) -> str:
    return f"joins are expected to take {duration(joined)}, and the walk {duration(walked)}"
