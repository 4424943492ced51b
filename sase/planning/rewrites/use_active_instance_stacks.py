"""(AIS) Remember events in a stack for each state instead of the NFA's runtime stack (4.1)."""

from __future__ import annotations

from dataclasses import replace

from sase.planning.declined import Declined
from sase.planning.plan.nodes import Operator, SequenceScan, Stacks, exchanged, require
from sase.planning.rewrites.contract import Outcome


def use_active_instance_stacks(plan: Operator) -> Outcome:
    """Construction then follows pointers between stacks, and skips irrelevant events."""
    scan = require(plan, SequenceScan)
    if scan.stacks is Stacks.AIS:
        return Declined("the scan has active instance stacks already")
    return exchanged(plan, replace(scan, stacks=Stacks.AIS))
