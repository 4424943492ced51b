"""The drives of a plan as EXPLAIN shows them: which take its events, and why others do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, TypeAlias

from sase.planning.declined import NO_NEGATIVE_GROUP, NO_RUNS, NO_SCAN, NO_TREE, Declined
from sase.planning.physical.drive import DriveRequest, Feed, Need
from sase.planning.physical.drives import DRIVES
from sase.planning.plan import EnginePlan
from sase.planning.quantities import duration


@dataclass(frozen=True, slots=True)
class PhysicalPath:
    """A drive of a plan, which takes events of one feed that meet its `needs`.

    `declined` is the reason why the plan has it not, None where it has. In a run it took so many
    `events`, found so many `matches` in so many `nanoseconds`, and `refused` others, which do not
    meet that need.
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
# Nothing was passed over where something is for another kind of plans.
OF_OTHER_PLANS = (NO_SCAN.reason, NO_RUNS.reason, NO_NEGATIVE_GROUP.reason, NO_TREE.reason)
GIVEN_NONE = "the index did not part what is admitted from other events"
NOT_TOLD = "more is asked of an event than the index of the script tells"


def paths_of(plan: EnginePlan, *, in_pieces: bool = False) -> Paths:
    """What each drive says of a plan, whose events are loaded whole or `in_pieces`."""
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
            yield PhysicalPath(drive.name, drive.feed, drive.summary, needs=needs)


def shared_paths(
    plan: EnginePlan,
    *,
    in_pieces: bool,
    is_told: bool,
    used: Mapping[str, Mapping[str, Any]] | None = None,
) -> Iterator[PhysicalPath]:
    """What takes the events that a shared reading deals out, or did where it is known what it used.

    If it `is_told` its index knows which of them the scan admits, unless it gives it all.
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


def driven(paths: Paths) -> str:
    """What takes events through the operators, for each way in which they reach the plan."""
    taken = [path for path in paths if path.declined is None]
    feeds = {path.feed for path in taken}
    rest = [path.feed.value for path in paths if path.feed not in feeds]
    ways = [_taken(path) for path in taken]
    ways += [f"{feed} block by block" for feed in dict.fromkeys(rest)]
    return "; ".join(ways) if taken else "block by block"


def _taken(path: PhysicalPath) -> str:
    text = f"{path.feed.value} by the {path.name}"
    if path.events is not None:
        text += f", which took {path.events:,}"
        if path.matches is not None:
            text += f" and found {path.matches:,} matches"
        if path.nanoseconds is not None:
            text += f" in {duration(path.nanoseconds)}"
    elif path.needs:
        rest = "by the fused lines or " if Need.NO_TIES.value in path.needs else ""
        text += f" if {', and '.join(path.needs)}, else {rest}block by block"
    if path.refused is not None:
        text += f" and left the others, of which it does not hold that {path.refused}"
    return text


def _whole_name(path: PhysicalPath) -> str:
    """The name of a drive that is also there for the events of another feed."""
    return f"{path.name} of {path.feed.value}"


def declined(paths: Paths, *, verbose: bool = False) -> list[str]:
    """The drives that declined, and why; `verbose` names those for the other kind of plans, too."""
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
