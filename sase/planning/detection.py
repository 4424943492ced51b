"""When the matches of branches are detected, and until when a match may have a copy to come.

A copy is the same match of another branch, which may be detected later: behind an absence, or where
a match may grow. The first branch says when a match is detected, so it waits for its copies.
"""

from __future__ import annotations

from enum import Enum
from itertools import combinations

from sase.binding.bound import WindowKind
from sase.heed import heed
from sase.planning.nodes import Confidence, Operator, Union, find, reading
from sase.planning.split import may_end, negations_of, window_of
from sase.planning.waiting import Waiting, waiting_of


class DetectionTime(Enum):
    """When the matches of a branch are detected."""

    LAST_EVENT = "at their last event"
    WINDOW_END = "when their window has passed"
    EITHER = "some so, some so"


# Of a kind: two branches that both have it detect the same match at the same time.
_AT_ONE_TIME = {DetectionTime.LAST_EVENT, DetectionTime.WINDOW_END}


# Of a window PER PARTITION, which a key leaves by events of its own alone.
KEEPS_EVERY_KEY = (
    "of every key it keeps events until more of that key come, also where none does: in a stream of"
    " ever new keys a window in time keeps less"
)


class CopyWait(Enum):
    """Until when matches wait for copies that other branches may give."""

    TIME = "matches that two branches may give wait until their window has passed"
    EVENTS = "matches that two branches may give wait until their window of events has passed"
    END = (
        "matches that two branches may give wait until the end, whatever memory it takes: no window"
        " in time or events bounds it"
    )


def detection_of(branch: Operator) -> DetectionTime:
    """When the matches of a branch are detected."""
    heed()
    waiting, negations = waiting_of(branch), negations_of(branch)
    has_ends = any(may_end(reading(branch).components, each) for each in negations)
    if not has_ends and waiting is Waiting.NONE:
        return DetectionTime.LAST_EVENT
    is_end = any(each.before is None for each in negations)
    always = is_end or waiting is Waiting.ALL
    return DetectionTime.WINDOW_END if always else DetectionTime.EITHER


def have_copies(one: Operator, other: Operator) -> bool:
    """Whether two branches may give the same match, and detect it at different times."""
    detections = {detection_of(one), detection_of(other)}
    # Of imprecise time one branch may have another first event of the same ones.
    is_imprecise = find(one, Confidence) is not None
    same = {DetectionTime.LAST_EVENT} if is_imprecise else _AT_ONE_TIME
    if len(detections) == 1 and detections <= same:
        return False
    return may_share_matches(one, other)


def may_share_matches(one: Operator, other: Operator) -> bool:
    """Whether two branches may give the same match: the same variables with the same events."""
    return _may_give(one, other) and _may_give(other, one) and not _differ_in_types(one, other)


def _differ_in_types(one: Operator, other: Operator) -> bool:
    """Whether a variable that both must bind has no type in common."""
    types = {each.key: each.types for each in reading(one).components if each.minimum > 0}
    common = (each for each in reading(other).components if each.minimum > 0 and each.key in types)
    pairs = ((types[each.key], each.types) for each in common)
    return any(mine is not None and its is not None and not {*mine} & {*its} for mine, its in pairs)


def _may_give(one: Operator, other: Operator) -> bool:
    """Whether a branch has every variable that is bound in each match of another."""
    own = {each.key for each in reading(one).components}
    return own >= {each.key for each in reading(other).components if each.minimum > 0}


def branches_with_copies(union: Union) -> tuple[bool, ...]:
    """Of each branch whether another may detect its matches at a different time."""
    known = [False] * len(union.branches)
    for one, other in combinations(range(len(known)), 2):
        if not (known[one] and known[other]):
            is_so = have_copies(union.branches[one], union.branches[other])
            known[one], known[other] = known[one] or is_so, known[other] or is_so
    return tuple(known)


def wait_for_copies(union: Union) -> CopyWait | None:
    """Until when matches wait for copies; None where no branch has any."""
    if not any(branches_with_copies(union)):
        return None
    window = window_of(union)
    if window is None or window.kind is WindowKind.PARTITION_EVENTS:
        return CopyWait.END
    return CopyWait.TIME if window.kind is WindowKind.TIME else CopyWait.EVENTS
