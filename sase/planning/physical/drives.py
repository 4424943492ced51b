"""The drives of a plan in order: of those of a feed the first that applies takes its events."""

from __future__ import annotations

from typing import Self

from sase.planning import nodes
from sase.planning.declined import NO_SCAN, NO_TREE, Declined
from sase.planning.physical.drive import Drive, DriveRequest, Feed, Need, first_of
from sase.planning.physical.line_drives import FusedLinesDrive, SharedLinesDrive
from sase.planning.physical.operators import (
    EventScan,
    LeafScan,
)
from sase.planning.physical.stack_drives import AdmittedScanDrive, FusedPushDrive, FusedScanDrive


class NarrowedScanDrive(Drive):
    """Only events near those of the rarest component come to the leaves of a tree."""

    name = "narrowed scan"
    summary = "only events near those of the rarest component come to the leaves of a tree"
    every_need = (Need.FEW_RARE,)

    @classmethod
    def of(cls, request: DriveRequest) -> Self | Declined:
        """The drive of joins of leaves."""
        plan, scan = request.plan, request.operators[0]
        if not isinstance(scan, EventScan):
            return _without_scan(plan.operators)
        if not isinstance(scan, LeafScan):
            return NO_TREE
        negation = nodes.find(plan.operators, nodes.Negation)
        components = (*plan.positives, *plan.negatives)
        asks_more = {
            "events come in pieces": request.in_pieces,
            "events are ranked in their partitions": plan.ranked,
            "events of other types count": plan.watches_all,
            "negative groups look for events of their own": negation and negation.sequences,
            "a component is of any type": any(each.types is None for each in components),
        }
        reason = first_of(asks_more)
        return cls(scan.key) if reason is None else Declined(reason)


# Of the drives of one feed the first that applies takes its events.
DRIVES: tuple[type[Drive], ...] = (
    FusedScanDrive,
    AdmittedScanDrive,
    SharedLinesDrive,
    FusedLinesDrive,
    FusedPushDrive,
    NarrowedScanDrive,
)


def choose_drive(request: DriveRequest, feed: Feed) -> Drive | None:
    """Choose what takes the events of a feed through the operators; None if no drive applies."""
    made = (each.applies(request) for each in DRIVES if each.feed is feed)
    return next((each for each in made if not isinstance(each, Declined)), None)


def _without_scan(plan: nodes.Operator) -> Declined:
    """Why there is no narrowed scan where no sequence scan stands at the bottom."""
    scans = [nodes.find(each, nodes.SequenceScan) for each in nodes.branches_of(plan)]
    if any(each is not None and each.stacks is nodes.Stacks.LEAVES for each in scans):
        return Declined("each branch of the pattern has events of its own to look for")
    return NO_TREE if any(scans) else NO_SCAN
