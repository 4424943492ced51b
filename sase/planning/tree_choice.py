"""Joins by a tree against the walk back through stacks: what both are expected to take.

Only what is near the few events of a rare component comes to the leaves, if all events are at hand.
What that saves depends on estimates, so that a tree must be ahead by a margin; and what joins make
stays in the window, where the walk keeps events alone.
"""

from __future__ import annotations

from dataclasses import replace

from sase.planning.cost import cost_of
from sase.planning.cost_values import MOST_BYTES
from sase.planning.nodes import (
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

# So many times as long as the joins the walk must be expected to take.
LEAD = 1.4


def why_not_joined(walk: Operator, tree: Operator, statistics: Statistics) -> str | None:
    """What is expected of both where the tree is not ahead by the margin, or large; else None."""
    joined, walked = (cost_of(each, statistics) for each in (tree, walk))
    if joined.nanoseconds * LEAD > walked.nanoseconds:
        compared = _compared(joined.nanoseconds, walked.nanoseconds)
        return f"{compared}, which must be {LEAD} times that"
    if joined.bytes > max(walked.bytes, MOST_BYTES):
        return f"joins are expected to hold {size(joined.bytes)}, and the walk {size(walked.bytes)}"
    return None


def comparison(plan: Operator, statistics: Statistics | None) -> str | None:
    """What is expected of the joins of a plan, and of a walk in their place."""
    construction = find(plan, SequenceConstruction)
    if statistics is None or construction is None or not construction.joins:
        return None
    scan = replace(require(plan, SequenceScan), stacks=Stacks.AIS)
    walk = exchanged(plan, scan, replace(construction, input=scan, joins=()))
    joined, walked = (cost_of(each, statistics).nanoseconds for each in (plan, walk))
    return _compared(joined, walked)


def _compared(joined: float, walked: float) -> str:
    return f"joins are expected to take {duration(joined)}, and the walk {duration(walked)}"
