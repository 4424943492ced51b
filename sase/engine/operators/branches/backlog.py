"""The matches of a union that wait until none can come before them."""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.columns.arrays import Numbers
from sase.engine.operators.bindings.unions import UnionBindings


class Head(NamedTuple):
    """When the first of matches is detected, and the last measure at which a copy may come."""

    detected: int
    measure: int

    def is_before(self, time: int, measure: int) -> bool:
        """Whether both are before others."""
        return self.detected < time and self.measure < measure


class _BacklogPart(NamedTuple):
    """Some matches, the first of them, and the oldest event."""

    found: UnionBindings
    head: Head
    oldest: int


class UnionBacklog:
    """Matches as they came, in parts of which each has twice as many as the next."""

    def __init__(self, levels: int) -> None:
        self._levels = levels
        self._parts: list[_BacklogPart] = []

    def add(self, found: UnionBindings, detected: Numbers, measures: Numbers) -> None:
        """Have matches wait, of which it is known when they are detected, and may have copies."""
        if not found.size:
            return
        first = int(detected.min())
        head = Head(first, int(measures[detected == first].min()))
        part = _BacklogPart(found, head, int(found.events.min()))
        while self._parts and self._parts[-1].found.size < 2 * part.found.size:
            before = self._parts.pop()
            both = UnionBindings.united([before.found, part.found], self._levels)
            oldest = min(before.oldest, part.oldest)
            part = _BacklogPart(both, min(before.head, part.head), oldest)
        self._parts.append(part)

    def taken(self) -> UnionBindings:
        """All of them, which wait no more."""
        found, self._parts = self.whole, []
        return found

    @property
    def whole(self) -> UnionBindings:
        """All of them, of which there must be some."""
        return UnionBindings.united([each.found for each in self._parts], self._levels)

    @property
    def size(self) -> int:
        """How many there are."""
        return sum(each.found.size for each in self._parts)

    @property
    def head(self) -> Head | None:
        """The first of them, as far as the order is known."""
        return min((each.head for each in self._parts), default=None)

    @property
    def oldest(self) -> int | None:
        """The oldest event of any."""
        return min((each.oldest for each in self._parts), default=None)
