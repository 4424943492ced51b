"""(WinSC) Check the window while sequences are built, instead of after (4.3)."""

from __future__ import annotations

from dataclasses import replace

from sase.binding.bound import BoundWindow, WindowKind
from sase.planning.declined import Declined
from sase.planning.plan.nodes import (
    Operator,
    SequenceConstruction,
    SequenceScan,
    Window,
    chain,
    exchanged,
    find,
    rebuilt,
    require,
)
from sase.planning.rewrites.contract import Outcome


def push_window_into_construction(plan: Operator) -> Outcome:
    """The walk stops at the first event that is too old; the window operator is removed."""
    construction, window = require(plan, SequenceConstruction), find(plan, Window)
    if construction.window is not None:
        return Declined("construction checks the window already")
    if window is None:
        return Declined("there is no window to check")
    if not _comparable(construction.input, window.window):
        return Declined("positions in different partitions do not compare")
    pushed = exchanged(plan, replace(construction, window=window.window))
    return rebuilt([operator for operator in chain(pushed) if not isinstance(operator, Window)])


def window_above(plan: Operator) -> BoundWindow | None:
    """The window that construction or the window operator checks."""
    window = find(plan, Window)
    return require(plan, SequenceConstruction).window if window is None else window.window


def _comparable(scan: SequenceScan, window: BoundWindow) -> bool:
    """Whether all measures in the stacks are comparable; positions in partitions are not."""
    if window.kind is not WindowKind.PARTITION_EVENTS:
        return True
    return bool(scan.partitions) and set(scan.partitions[0]) == set(scan.tests)
