"""(WinSS) Drop the instances that no later event can reach within the window (4.3)."""

from __future__ import annotations

from dataclasses import replace

from sase.binding.bound import WindowKind
from sase.planning.declined import Declined
from sase.planning.plan.nodes import Operator, SequenceScan, Stacks, exchanged, require
from sase.planning.rewrites.contract import Outcome
from sase.planning.rewrites.push_window_into_construction import window_above


def push_window_into_scan(plan: Operator) -> Outcome:
    """The operator that checks the window stays: the scan does not decide it alone."""
    scan, window = require(plan, SequenceScan), window_above(plan)
    if scan.stacks is not Stacks.AIS:
        return Declined("the runtime stack of the NFA drops nothing")
    if scan.window is not None:
        return Declined("the scan knows the window already")
    if window is None:
        return Declined("there is no window to check")
    if window.kind is WindowKind.PARTITION_EVENTS:
        # Positions do not increase along the stream, so the oldest event is not the first.
        return Declined("positions within partitions do not tell which events are old")
    return exchanged(plan, replace(scan, window=window))
