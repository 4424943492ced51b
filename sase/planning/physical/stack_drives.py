"""The drives of scans onto stacks, for plans that test only types and a key."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Self

from sase.binding.bound import (
    BoundComponent,
    Condition,
    WindowKind,
)
from sase.planning.branches import DetectionTime, detection_of, shared_scans
from sase.planning.declined import NO_SCAN, Declined
from sase.planning.physical.drive import Drive, DriveRequest, Feed, Need, first_of
from sase.planning.physical.operators import (
    BranchUnion,
    EventScan,
    StackScan,
)
from sase.planning.plan import nodes
from sase.planning.split import negations_of

# An event on the stacks has a bit for each component, and the tag of its type above these.
MOST_TAGGED = 48
OTHER_SCAN = Declined("the scan tests conditions on events, or keeps stacks of another kind")


class StackDrive(Drive):
    """Executes scan, construction and output of a plan that tests only types and a key."""

    admitted: ClassVar[bool] = False

    @classmethod
    def of(cls, request: DriveRequest) -> Self | Declined:
        """Return the drive, unless the plan tests more than types and a key."""
        scan = _scan_of(request)
        if isinstance(scan, Declined):
            return scan
        reason = _why_not_fused(scan, request, admitted=cls.admitted)
        return cls(scan.key) if reason is None else Declined(reason)


class FusedScanDrive(StackDrive):
    """Reads loaded events from columns to sequences."""

    name = "fused scan"
    summary = "scan, construction and output by one kernel over whole columns"
    every_need = (Need.INTEGER_KEYS, Need.CODES_FIT)

    @classmethod
    def of(cls, request: DriveRequest) -> Self | Declined:
        """Return the drive, with the stacks for many keys."""
        made = super().of(request)
        if isinstance(made, Declined):
            return made
        if request.in_pieces or not _is_for_rows(request):
            return made
        return replace(made, by_rows=request.plan.options.many_keys)


class AdmittedScanDrive(StackDrive):
    """The same for events of which the index of a script has tested everything the scan tests."""

    name = "fused scan of admitted events"
    feed = Feed.SHARED
    summary = "the same, of events of which the index of a script knows that the scan admits them"
    every_need = ()
    admitted = True


class FusedPushDrive(StackDrive):
    """Reads pushed batches from Arrow memory to sequences."""

    name = "fused push"
    feed = Feed.PUSHED
    summary = "scan, construction and output by one kernel from the memory of each batch"
    every_need = (Need.SAME_SCHEMA, Need.SMALL_BATCH, Need.IN_PLACE, Need.FOLLOWING)

    @classmethod
    def of(cls, request: DriveRequest) -> Self | Declined:
        """Return the drive, unless rows are kept for late ones or sorted."""
        made, plan = super().of(request), request.plan
        asks_more = {
            "events are ordered by `seq`": plan.schema.seq,
            "rows wait for late ones": plan.lateness,
            "bad rows go to quarantine": plan.on_bad_row != "error",
        }
        reason = first_of(asks_more)
        return made if isinstance(made, Declined) or reason is None else Declined(reason)


def _scan_of(request: DriveRequest) -> StackScan | Declined:
    """The scan, if only a construction and an output are above it, or the reason why not."""
    (first, *above), union = request.operators, request.plan.union
    if isinstance(first, BranchUnion):
        if len(first.scans) > 1:
            return Declined("the branches of the pattern do not share one scan")
        first, *above = first.scans[0].operators
    if not isinstance(first, EventScan):
        return NO_SCAN
    if len(above) != 2:
        return Declined("an operator between construction and output looks at each sequence")
    if union is not None and any(map(_returns, union.branches)):
        return Declined("the output filters or computes results by their branch")
    return first if isinstance(first, StackScan) else OTHER_SCAN


def _is_for_rows(request: DriveRequest) -> bool:
    """Whether stacks of rows can hold the state of a plan.

    They have no tags of branches and no negative sequences, and their one window is that of the
    scan. ANALYZE counts the live instances of each level, and rows do not separate the levels.
    """
    scan = _scan_of(request)
    assert isinstance(scan, StackScan)
    walked, plan = scan.construction, request.plan
    is_plain = plan.union is None and not (walked.sequences or plan.options.analyze)
    return is_plain and len(scan.scan.components) > 1 and walked.window in (None, scan.scan.window)


def _returns(branch: nodes.Operator) -> bool:
    top = nodes.require(branch, nodes.Transformation)
    return top.having is not None or bool(top.columns)


def _why_not_fused(scan: StackScan, request: DriveRequest, *, admitted: bool) -> str | None:
    """The reason why a plan needs more than types and a key, or None."""
    plan, top, walked = request.plan, request.plan.returned, scan.construction
    asked = list(_conditions_of(scan, request))
    if scan.scan.nothing is not None or (asked and not admitted):
        return OTHER_SCAN.reason
    columns = top.columns if plan.union is None else ()
    filters = top.limit is not None or top.having is not None or top.non_overlapping is not None
    absent = {c.index for each in walked.elements for c in each.components}
    is_alone = len(scan.scan.components) + len(absent) == 1
    is_tagged, keeps = (False, False) if plan.union is None else _tags(scan, plan.union)
    asks_more = {
        "results end at LIMIT": top.limit is not None,
        "the construction tests conditions": (
            walked.limit is not None
            or walked.conditions
            or any(test.value is None and not is_alone for test in walked.equivalences)
        ),
        "the output filters, projects or counts results": filters or columns,
        "events are ranked in their partitions": plan.ranked,
        "events are kept for later reading": keeps,
        "events of other types count": plan.watches_all,
        "arithmetic is watched for overflow": any(
            request.calculates(condition, component) for component, condition in asked
        ),
        "the window counts events, and types tell branches apart": (
            is_tagged and _counts_events(scan)
        ),
        "operators are timed but not counted": request.is_timed and not plan.options.analyze,
        "kernels cannot read a clock here": request.is_timed and not request.has_clock,
    }
    reason = first_of(asks_more)
    for test in () if reason else scan.key:
        if test.attributes or test.value is not None:
            return "the key is of attributes of several names, or of one value"
        if not request.types.is_common(test.attribute):
            return f"some types do not declare `{test.attribute}`"
    return reason


def _conditions_of(
    scan: EventScan, request: DriveRequest
) -> list[tuple[BoundComponent, Condition]]:
    """The conditions on one event: those of the scan, and those of negative elements."""
    node, walked, types = scan.scan, scan.construction, request.types
    known = {each.index: each for each in node.components}
    found: list[tuple[int, Condition]] = []
    if node.input is None:
        found += [(c.component, c.condition) for c in node.conditions if c.component is not None]
        keys = (test for key in node.partitions for test in key)
        for test in dict.fromkeys([*node.values, *keys, *walked.equivalences]):
            if test.value is not None:
                found += types.values(test, node.components)
    for element in walked.elements:
        known |= {each.index: each for each in element.components}
        for conjunct in element.alone:
            index = (conjunct.references or (element.components[0].index,))[0]
            found.append((index, conjunct.condition))
        for test in element.equivalences:
            if test.value is not None:
                found += types.values(test, element.components)
    return [(known[index], condition) for index, condition in found]


def _tags(scan: EventScan, union: nodes.Union) -> tuple[bool, bool]:
    """Whether types tag events for their branch, and whether events are kept for their branch."""
    (shared,) = shared_scans(union)
    absent = {c.index for each in negations_of(shared.plan) for c in each.components}
    has_room = len(scan.scan.components) + len(absent) <= MOST_TAGGED
    is_late = {detection_of(each) for each in union.branches} != {DetectionTime.LAST_EVENT}
    keeps = is_late or (bool(shared.levels) and not has_room)
    return bool(shared.levels) and not keeps, keeps


def _counts_events(scan: EventScan) -> bool:
    window = scan.scan.window or scan.construction.window
    return window is not None and window.kind is WindowKind.EVENTS
