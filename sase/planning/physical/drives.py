"""The drives in order of preference: in each feed, the first one that applies is used."""

from __future__ import annotations

from typing import Self

from sase.planning.declined import NO_SCAN, NO_TREE, Declined
from sase.planning.physical.drive import Drive, DriveRequest, Feed, Need, first_of
from sase.planning.physical.line_drives import FusedLinesDrive, FusedWalkDrive, SharedLinesDrive
from sase.planning.physical.operators import (
    EventScan,
    LeafScan,
)
from sase.planning.physical.stack_drives import AdmittedScanDrive, FusedPushDrive, FusedScanDrive
from sase.planning.plan import nodes


class NarrowedScanDrive(Drive):
    """Passes only events near those of the rarest component to the leaves of a tree."""

    name = "narrowed scan"
    summary = "only events near those of the rarest component come to the leaves of a tree"
    every_need = (Need.FEW_RARE,)

    @classmethod
    def of(cls, request: DriveRequest) -> Self | Declined:
        """The drive, if the scan fills the leaves of a tree."""
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


# For each feed, the first drive that applies is used.
DRIVES: tuple[type[Drive], ...] = (
    FusedScanDrive,
    AdmittedScanDrive,
    SharedLinesDrive,
    FusedLinesDrive,
    FusedWalkDrive,
    FusedPushDrive,
    NarrowedScanDrive,
)


def choose_drive(request: DriveRequest, feed: Feed) -> Drive | None:
    """Choose the drive that reads the events of a feed; None if no drive applies."""
    made = (each.applies(request) for each in DRIVES if each.feed is feed)
    return next((each for each in made if not isinstance(each, Declined)), None)


def _without_scan(plan: nodes.Operator) -> Declined:
    """The reason why a plan without a sequence scan at the bottom has no narrowed scan."""
    scans = [nodes.find(each, nodes.SequenceScan) for each in nodes.branches_of(plan)]
    if any(each is not None and each.stacks is nodes.Stacks.LEAVES for each in scans):
        return Declined("each branch of the pattern has events of its own to look for")
    return NO_TREE if any(scans) else NO_SCAN
