"""The matches of a union that wait until no other match can come before them."""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.columns.arrays import Numbers
from sase.engine.operators.bindings.bindings import Bindings


class Head(NamedTuple):
    """The first detection time in some matches, and the last measure at which a copy may come."""

    detected: int
    measure: int

    def is_before(self, time: int, measure: int) -> bool:
        """Whether both are below the given ones."""
        return self.detected < time and self.measure < measure


class _BacklogPart(NamedTuple):
    """Some matches, the first of them, and the oldest event."""

    found: Bindings
    head: Head
    oldest: int


class UnionBacklog:
    """Waiting matches in the order of arrival; each part has at least twice as many as the next."""

    def __init__(self) -> None:
        self._parts: list[_BacklogPart] = []

    def add(self, bindings: Bindings, detected: Numbers, measures: Numbers) -> None:
        """Add matches with their times of detection and the last measures of copies."""
        if not bindings.size:
            return
        first = int(detected.min())
        head = Head(first, int(measures[detected == first].min()))
        part = _BacklogPart(bindings, head, int(bindings.events.min()))
        while self._parts and self._parts[-1].found.size < 2 * part.found.size:
            before = self._parts.pop()
            both = Bindings.joined([before.found, part.found])
            oldest = min(before.oldest, part.oldest)
            part = _BacklogPart(both, min(before.head, part.head), oldest)
        self._parts.append(part)

    def taken(self) -> Bindings:
        """Remove and return all of them."""
        found, self._parts = self.whole, []
        return found

    @property
    def whole(self) -> Bindings:
        """All of them; there must be at least one."""
        return Bindings.joined([each.found for each in self._parts])

    @property
    def size(self) -> int:
        """The number of waiting matches."""
        return sum(each.found.size for each in self._parts)

    @property
    def head(self) -> Head | None:
        """The first of them, as far as the order is determined."""
        return min((each.head for each in self._parts), default=None)

    @property
    def oldest(self) -> int | None:
        """The oldest event of all of them."""
        return min((each.oldest for each in self._parts), default=None)
