"""The naive twins of kernels: the same by definition, one event after the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

from tests.engine.kernels.streams import EARLIEST, LATEST, Event, Rows


class Bounds(NamedTuple):
    """A window: its length T, and whether it is inclusive."""

    length: int
    inclusive: bool = False

    @property
    def span(self) -> int:
        return self.length - (not self.inclusive)

    def holds(self, first: int, last: int) -> bool:
        """docs/semantics.md, Windows: `ts(en) − ts(e1) < T`."""
        return last - first < self.length or (self.inclusive and last - first == self.length)

    def reaches_back(self, last: int, measure: int) -> bool:
        """`ts(en) − T < ts(b)`, where the difference saturates."""
        least = max(last - self.length, EARLIEST)
        return least < measure or (self.inclusive and least == measure)

    def reaches_on(self, first: int, measure: int) -> bool:
        """`ts(b) < ts(e1) + T`, where the sum saturates."""
        most = min(first + self.length, LATEST)
        return measure < most or (self.inclusive and most == measure)


class Absent(NamedTuple):
    """A negative component: the level behind it, None at the end; its bit among the states."""

    before: int | None
    bit: int


def tuples(events: Sequence[Event], levels: int) -> list[tuple[Event, ...]]:
    """Events of the levels, each strictly before the next, of one partition; in order of results.

    docs/semantics.md, Order of results: by the last event, then by the earlier ones from the last
    but one back, the more recent first.
    """
    by_level = [[event for event in events if event.has(level)] for level in range(levels)]
    found = [
        chosen
        for chosen in product(*by_level)
        if all(a.tie < b.tie for a, b in zip(chosen, chosen[1:], strict=False))
        and len({(event.key, event.others) for event in chosen}) == 1
        and min(chosen[0].key, *chosen[0].others, 0) >= 0
    ]
    return sorted(found, key=lambda chosen: (chosen[-1].row, *(-e.row for e in chosen[-2::-1])))


def sequences(
    events: Sequence[Event],
    levels: int,
    window: Bounds | None = None,
    absences: Sequence[Absent] = (),
) -> Rows:
    """The rows of every sequence that the window and the negative components let pass."""
    return [
        tuple(event.row for event in chosen)
        for chosen in tuples(events, levels)
        if (window is None or window.holds(chosen[0].measure, chosen[-1].measure))
        and not any(forbidden(chosen, each, events, window) for each in absences)
    ]


def forbidden(
    chosen: Sequence[Event], absent: Absent, events: Sequence[Event], window: Bounds | None
) -> bool:
    """Whether an event of the partition is where docs/semantics.md, Negation, forbids it."""
    return any(
        event.has(absent.bit)
        and event.key == chosen[0].key
        and in_gap(chosen, absent.before, event, window)
        for event in events
    )


def in_gap(
    chosen: Sequence[Event], before: int | None, event: Event, window: Bounds | None
) -> bool:
    """The three rows of the table."""
    if before is None:
        assert window is not None
        reaches = window.reaches_on(chosen[0].measure, event.measure)
        return chosen[-1].tie < event.tie and reaches
    if before > 0:
        return chosen[before - 1].tie < event.tie < chosen[before].tie
    assert window is not None
    return event.tie < chosen[0].tie and window.reaches_back(chosen[-1].measure, event.measure)
