"""The time of detection of matches: at their last event, or as soon as no later event matters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from sase.binding.bound import BoundWindow
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.sentinels import LATEST
from sase.engine.operators.bindings.bindings import DETECTED, Bindings
from sase.engine.operators.bindings.unions import BranchLevels
from sase.engine.operators.contract import size_of
from sase.planning.engine_plan import EnginePlan

# The levels of a branch in the whole pattern, and the plan of the branch.
PlannedBranch: TypeAlias = tuple[BranchLevels, EnginePlan]


def detected(first: Numbers, window: BoundWindow) -> Numbers:
    """The time of detection with a negated end, by the time of the first event."""
    size = size_of(window)
    return np.where(first > LATEST - size, LATEST, first + size)


def detection(
    plan: EnginePlan, first: Numbers, last: Numbers, bindings: Numbers | Bindings
) -> Numbers:
    """The time of detection of each match, by the times of its first and last event."""
    if isinstance(bindings, Bindings) and bindings.detected is not None:
        last = bindings.detected
    if plan.postponed is None:
        return last
    known = detected(first, plan.postponed)
    if not isinstance(bindings, Bindings):
        return known
    is_end = [bindings.lengths[after + 1 :].sum(axis=0) == 0 for after in plan.ends]
    return np.where(np.any(is_end, axis=0), known, last)


def detection_by_branch(
    bindings: Bindings, first: Numbers, last: Numbers, branches: Iterable[PlannedBranch]
) -> Numbers:
    """The time of detection of each match, by its branch and the times of its ends."""
    if bindings.times is not None:
        told: Numbers = bindings.times[DETECTED]
        return told
    known = last.copy()
    for levels, plan in branches:
        own = bindings.branches == levels.branch
        is_told = plan.postponed is not None or bindings.detected is not None
        if is_told and own.any():
            known[own] = detection(plan, first[own], last[own], levels.native(bindings[:, own]))
    return known
