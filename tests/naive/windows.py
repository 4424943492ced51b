"""docs/semantics.md, Windows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sase.lang import ast
from tests.naive.equivalence import Test, partition
from tests.naive.events import Stream, window_length
from tests.naive.expressions import Event, Series
from tests.naive.values import (
    GREATEST_INT64,
    LEAST_INT64,
    Interval,
    exact,
    is_number,
    literal,
)


@dataclass(frozen=True)
class Window:
    """`length` in units of the time column, or in positions: then `place` has those."""

    length: int
    inclusive: bool
    place: Mapping[Event, int] | None
    per_partition: bool

    def at(self, event: Event) -> int | None:
        """The timestamp or position of an event; PER PARTITION some events have none."""
        return event.time if self.place is None else self.place.get(event)

    def below(self, smaller: int, greater: int) -> bool:
        """The `<` against the window, which INCLUSIVE turns into `<=`."""
        return smaller < greater or (self.inclusive and smaller == greater)

    def holds(self, events: Series) -> bool:
        """ts(en) - ts(e1) < T, for positions alike; an event without a position is in no match."""
        places = [self.at(event) for event in events]
        known = [place for place in places if place is not None]
        return len(known) == len(places) and self.below(known[-1] - known[0], self.length)

    def is_past(self, first: Event, event: Event) -> bool:
        """Whether no event from this one on is in a window that begins with `first`."""
        return not self.per_partition and not self.holds((first, event))

    def reaches_back(self, last: Event, b: Event) -> bool:
        """The far bound of a negated start: ts(en) - T < ts(b)."""
        place, start = self.at(b), self.at(last)
        if place is None or start is None:
            return False
        return self.below(saturated(start - self.length), place)

    def end(self, first: Event) -> int:
        """ts(e1) + T, when the absence of a negated end is known."""
        if self.place is not None:
            raise ValueError("a negated end and a window in EVENTS")
        return saturated(first.time + self.length)

    def reaches_on(self, first: Event, b: Event) -> bool:
        """The far bound of a negated end: ts(b) < ts(e1) + T."""
        return self.below(b.time, self.end(first))


def passed(window: Window | None, tests: tuple[Test, ...], first: Event, stream: Series) -> int:
    """When nothing more can be in a window that begins with `first`: at the latest at the end.

    With a window in EVENTS that is at the first event beyond it, of its partition.
    """
    if window is not None and window.place is None:
        return window.end(first)
    own = partition(tests, first)
    beyond = (
        event.time
        for event in stream[first.position + 1 :]
        if window is not None
        and (not window.per_partition or partition(tests, event) == own)
        and not window.holds((first, event))
    )
    return next(beyond, GREATEST_INT64)


def saturated(count: int) -> int:
    """docs/semantics.md, Time: `ts ± T` saturates at the ends of int64."""
    return min(max(count, LEAST_INT64), GREATEST_INT64)


def window(
    node: ast.Window | None,
    stream: Stream,
    tests: tuple[Test, ...],
    parameters: Mapping[str, object],
) -> Window | None:
    """The bound of WITHIN in this stream."""
    if node is None or not stream.events:
        return None
    amount, unit = literal(node.amount, parameters), node.unit.text if node.unit else None
    if isinstance(amount, Interval) and unit is None:
        amount, unit = amount.nanoseconds, "ns"
    if isinstance(amount, str) and unit is None and not node.events:
        number, unit = amount.split()
        amount = int(number)
    if not is_number(amount):
        raise NotImplementedError(f"WITHIN {amount!r}")
    if unit is None and not node.events and stream.clock.kind != "integer":
        raise ValueError("a window without a unit counts integer times")
    length = _length(exact(amount), unit, node, stream)  # type: ignore[arg-type]
    if length <= 0:
        raise ValueError("a window is positive")
    return Window(length, node.inclusive, _places(node, stream, tests), node.per_partition)


def _length(amount: Fraction, unit: str | None, node: ast.Window, stream: Stream) -> int:
    return window_length(amount, unit, stream.clock, node.inclusive)


def _places(
    node: ast.Window, stream: Stream, tests: tuple[Test, ...]
) -> Mapping[Event, int] | None:
    if not node.events:
        return None
    if not node.per_partition:
        return {event: event.position for event in stream.events}
    if not tests:
        raise ValueError("EVENTS PER PARTITION needs an equivalence test")
    ranks: dict[Event, int] = {}
    seen: Counter[object] = Counter()
    for event in stream.events:
        key = partition(tests, event)
        if key is not None:
            ranks[event] = seen[key]
            seen[key] += 1
    return ranks
