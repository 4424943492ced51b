"""(AIS) Remember events in a stack for each state instead of the NFA's runtime stack (4.1)."""

from __future__ import annotations

from dataclasses import replace

from sase.planning.nodes import Operator, SequenceScan, Stacks, exchanged, find


def use_active_instance_stacks(plan: Operator) -> Operator | None:
    """Construction then follows pointers between stacks and never sees irrelevant events."""
    scan = find(plan, SequenceScan)
    if scan is None or scan.stacks is Stacks.AIS:
        return None
    return exchanged(plan, replace(scan, stacks=Stacks.AIS))
