"""The physical plan: which fused paths execute the operators, and why the others declined."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from typing import TypeAlias

from sase.planning.declined import NO_NEGATIVE_GROUP, NO_RUNS, NO_SCAN, NO_TREE
from sase.planning.quantities import duration


class Feed(Enum):
    """How events reach a plan."""

    LOADED = "loaded events"
    PUSHED = "pushed batches"
    # Of a script's input, that it loads once and deals out to the statements that read it.
    SHARED = "shared reading"


@dataclass(frozen=True, slots=True)
class PhysicalPath:
    """A fused path: one kernel in place of several operators, for the events of one feed.

    `declined` is the reason why the plan is not executed by it, None where it is. In a run it took
    so many `events`, found so many `matches` in so many `nanoseconds`, and what it `refused` tells
    why it left other events to the operators.
    """

    name: str
    feed: Feed
    summary: str
    declined: str | None = None
    events: int | None = None
    refused: str | None = None
    matches: int | None = None
    nanoseconds: int | None = None


Paths: TypeAlias = tuple[PhysicalPath, ...]
# Nothing was passed over where something is for another kind of plans.
OF_OTHER_PLANS = (NO_SCAN.reason, NO_RUNS.reason, NO_NEGATIVE_GROUP.reason, NO_TREE.reason)


def executed(paths: Paths) -> str:
    """What executes the operators, for each way in which events reach the plan."""
    taken = [path for path in paths if path.declined is None]
    feeds = {path.feed for path in taken}
    rest = [p.feed.value for p in paths if p.feed not in feeds]
    ways = [_taken(path) for path in taken]
    ways += [f"{feed} block by block" for feed in dict.fromkeys(rest)]
    return "; ".join(ways) if taken else "block by block through the operators"


def _taken(path: PhysicalPath) -> str:
    text = f"{path.feed.value} by the {path.name}"
    if path.events is not None:
        text += f", which took {path.events:,}"
        if path.matches is not None:
            text += f" and found {path.matches:,} matches"
        if path.nanoseconds is not None:
            text += f" in {duration(path.nanoseconds)}"
    return text if path.refused is None else f"{text} and left the others: {path.refused}"


def _whole_name(path: PhysicalPath) -> str:
    """The name of a path that is also there for the events of another feed."""
    return f"{path.name} of {path.feed.value}"


def declined(paths: Paths, *, verbose: bool = False) -> list[str]:
    """The paths that declined, and why; `verbose` names those for the other kind of plans, too."""
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
