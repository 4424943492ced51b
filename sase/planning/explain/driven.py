"""The drives of a plan in EXPLAIN: which ones read its events, and why the others do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, TypeAlias

from sase.planning.declined import (
    NO_NEGATIVE_GROUP,
    NO_RUNS,
    NO_SCAN,
    NO_TREE,
    NO_WALKS,
    Declined,
)
from sase.planning.engine_plan import EnginePlan
from sase.planning.physical.drive import DriveRequest, Feed
from sase.planning.physical.drives import DRIVES
from sase.planning.physical.line_drives import SharedLinesDrive
from sase.planning.physical.stack_drives import FusedScanDrive
from sase.planning.quantities import duration


@dataclass(frozen=True, slots=True)
class PhysicalPath:
    """A drive of a plan; it reads those events of one feed that meet its `needs`.

    `declined` is the reason why the plan does not use the drive, or None if it does. After a run,
    `events` is the number of events that the drive read, `matches` the number of matches that it
    returned, and `nanoseconds` its time. `refused` is the need that the other events do not meet.
    """

    name: str
    feed: Feed
    summary: str
    declined: str | None = None
    events: int | None = None
    refused: str | None = None
    matches: int | None = None
    nanoseconds: int | None = None
    needs: tuple[str, ...] = ()


Paths: TypeAlias = tuple[PhysicalPath, ...]
# The reasons of drives for another kind of plan; the short text leaves these out.
OF_OTHER_PLANS = tuple(
    each.reason for each in (NO_SCAN, NO_RUNS, NO_WALKS, NO_NEGATIVE_GROUP, NO_TREE)
)
GIVEN_NONE = "the index did not separate the admitted events from others"
NOT_TOLD = "the index of the script does not decide all conditions on an event"


def paths_of(plan: EnginePlan, *, in_pieces: bool = False) -> Paths:
    """The drives of a plan, applied or declined; its events are loaded whole or `in_pieces`."""
    every = _paths(plan, in_pieces=in_pieces)
    return tuple(path for path in every if path.feed is not Feed.SHARED)


def _paths(plan: EnginePlan, *, in_pieces: bool) -> Iterator[PhysicalPath]:
    for drive in DRIVES:
        request = DriveRequest(plan, in_pieces=in_pieces or drive.feed is Feed.PUSHED)
        made = drive.applies(request)
        if isinstance(made, Declined):
            yield PhysicalPath(drive.name, drive.feed, drive.summary, made.reason)
        else:
            needs = tuple(each.value for each in made.needs)
            yield PhysicalPath(drive.name, drive.feed, made.described, needs=needs)


def shared_paths(
    plan: EnginePlan,
    *,
    in_pieces: bool,
    is_told: bool,
    used: Mapping[str, Mapping[str, Any]] | None = None,
) -> Iterator[PhysicalPath]:
    """The drives for a shared input; `used` has the measured ones by name, after a run.

    `is_told` says that the index of the script decides everything that the scan tests.
    """
    for path in _paths(plan, in_pieces=in_pieces):
        shared = replace(path, feed=Feed.SHARED)
        if path.name in (used or {}):
            yield replace(shared, declined=None, **(used or {})[path.name])
        elif path.feed is Feed.SHARED:
            lacking = None if is_told else NOT_TOLD
            none_given = None if used is None else GIVEN_NONE
            yield replace(shared, declined=path.declined or lacking or none_given)
        elif path.feed is Feed.LOADED and used is None and path.declined is None:
            yield shared


def driven(paths: Paths) -> list[str]:
    """Say which drive reads the events of each feed, in lines; needs are indented."""
    taken = [path for path in paths if path.declined is None]
    feeds = {path.feed for path in taken}
    rest = dict.fromkeys(path.feed for path in paths if path.feed not in feeds)
    lines = [line for path in taken for line in _taken(path, _otherwise(path, taken))]
    lines += [f"{feed.value} {_of_pieces(taken)}" for feed in rest]
    return lines if taken else ["block by block"]


def _of_pieces(taken: Sequence[PhysicalPath]) -> str:
    """How events in pieces are read, by the drives that a plan uses."""
    scans = any(each.name == FusedScanDrive.name and each.feed is Feed.LOADED for each in taken)
    return f"by the {FusedScanDrive.name} or block by block" if scans else "block by block"


def _otherwise(path: PhysicalPath, taken: Sequence[PhysicalPath]) -> str:
    """How the events are read that do not meet the needs of a drive."""
    if path.feed is Feed.PUSHED:
        return _of_pieces(taken)
    is_shared = path.name == SharedLinesDrive.name
    return "by the fused lines or block by block" if is_shared else "block by block"


def _taken(path: PhysicalPath, otherwise: str) -> Iterator[str]:
    text = f"{path.feed.value} by the {path.name}"
    if path.events is not None:
        text += f", which took {path.events:,} events"
        if path.matches is not None:
            text += f" and found {path.matches:,} matches"
        if path.nanoseconds is not None:
            text += f" in {duration(path.nanoseconds)}"
    if path.refused is not None:
        text += f" and left the others, of which it does not hold that {path.refused}"
    is_open = path.events is None and path.needs
    yield f"{text} if" if is_open else text
    if is_open:
        yield from (f"  - {need}" for need in path.needs)
        yield f"  else {otherwise}"


def _whole_name(path: PhysicalPath) -> str:
    """The name of a drive with its feed, if a drive of the same name reads another feed."""
    return f"{path.name} of {path.feed.value}"


def declined(paths: Paths, *, verbose: bool = False) -> list[str]:
    """The drives that declined, and why; `verbose` adds those for another kind of plan."""
    feeds = {(path.name, path.feed) for path in paths}
    names = [name for name, _ in feeds]
    found = [
        (path.declined, path.name if names.count(path.name) == 1 else _whole_name(path))
        for path in paths
        if path.declined is not None and (verbose or path.declined not in OF_OTHER_PLANS)
    ]
    return [
        f"{', '.join(name for _, name in group)}: {reason}"
        for reason, group in groupby(found, key=lambda each: each[0])
    ]
