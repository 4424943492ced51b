"""(WinSS) Drop the instances that no later event can reach within the window (4.3)."""

from __future__ import annotations

from dataclasses import replace

from sase.binding.bound import WindowKind
from sase.planning.nodes import Operator, SequenceScan, Stacks, Window, exchanged, find


def push_window_into_scan(plan: Operator) -> Operator | None:
    """The window operator stays: the scan alone does not decide."""
    scan, window = find(plan, SequenceScan), find(plan, Window)
    if scan is None or window is None or scan.window or scan.stacks is not Stacks.AIS:
        return None
    # Positions within partitions do not grow along the stream, so age cannot be told by order.
    if window.window.kind is WindowKind.PARTITION_EVENTS:
        return None
    return exchanged(plan, replace(scan, window=window.window))
