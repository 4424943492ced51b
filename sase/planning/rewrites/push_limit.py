"""(Limit) Stop building sequences when there are enough."""

from __future__ import annotations

from dataclasses import replace

from sase.planning.declined import Declined
from sase.planning.plan.nodes import (
    Operator,
    SequenceConstruction,
    Transformation,
    exchanged,
    require,
)
from sase.planning.rewrites.contract import Outcome


def push_limit(plan: Operator) -> Outcome:
    """Every sequence that is built is a result, if no operator filters them."""
    construction, top = require(plan, SequenceConstruction), require(plan, Transformation)
    if not isinstance(top.limit, int):
        return Declined("there is no LIMIT")
    if construction.limit is not None:
        return Declined("construction knows the limit already")
    if top.having is not None or top.non_overlapping is not None or top.input != construction:
        return Declined("each built sequence is checked once more before it is a result")
    return exchanged(plan, replace(construction, limit=top.limit))
