"""The physical plan: which fused paths execute the operators, and why the others declined."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Feed(Enum):
    """How events reach a plan."""

    LOADED = "loaded events"
    PUSHED = "pushed batches"


@dataclass(frozen=True, slots=True)
class PhysicalPath:
    """A fused path: one kernel in place of several operators, for the events of one feed.

    `declined` is the reason why the plan is not executed by it, None where it is. In a run it took
    so many `events`, and what it `refused` tells why it left others to the operators.
    """

    name: str
    feed: Feed
    summary: str
    declined: str | None = None
    events: int | None = None
    refused: str | None = None
