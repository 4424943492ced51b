"""What is said of all matches that end at one event."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EndCount:
    """How many matches end at an event: its place in its partition, its position in the stream."""

    partition: int
    place: int
    position: int
    count: int


@dataclass(frozen=True)
class EndLists:
    """For each component the places that take part in at least one match that ends at an event."""

    partition: int
    place: int
    position: int
    places: tuple[list[int], ...]
