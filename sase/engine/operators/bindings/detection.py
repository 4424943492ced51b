"""When matches are detected: at their last event, or once nothing can be behind them any more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from sase.binding.bound import BoundWindow
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.sentinels import LATEST
from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.bindings.candidates import DETECTED
from sase.engine.operators.bindings.sets import SetBindings
from sase.engine.operators.bindings.unions import BranchLevels, UnionBindings
from sase.engine.operators.contract import size_of
from sase.planning.plan import EnginePlan

# How the levels of a branch are those of the whole, and its plan.
PlannedBranch: TypeAlias = tuple[BranchLevels, EnginePlan]


def detected(first: Numbers, window: BoundWindow) -> Numbers:
    """The time of detection of a negated end, by the time of the first event."""
    size = size_of(window)
    return np.where(first > LATEST - size, LATEST, first + size)


def detection(
    plan: EnginePlan, first: Numbers, last: Numbers, found: Numbers | Bindings
) -> Numbers:
    """The time of detection of each match, by the times of its first and last event."""
    if isinstance(found, SetBindings) and found.detected is not None:
        last = found.detected
    if plan.postponed is None:
        return last
    known = detected(first, plan.postponed)
    if not isinstance(found, Bindings):
        return known
    is_end = [found.lengths[after + 1 :].sum(axis=0) == 0 for after in plan.ends]
    return np.where(np.any(is_end, axis=0), known, last)


def detection_by_branch(
    found: UnionBindings, first: Numbers, last: Numbers, branches: Iterable[PlannedBranch]
) -> Numbers:
    """The time of detection of each match, by its branch and the times of its ends."""
    if found.likely is not None:
        told: Numbers = found.likely.times[DETECTED]
        return told
    known = last.copy()
    for levels, plan in branches:
        own = found.branches == levels.branch
        is_told = plan.postponed is not None or found.detected is not None
        if is_told and own.any():
            known[own] = detection(plan, first[own], last[own], levels.native(found.at(own)))
    return known
