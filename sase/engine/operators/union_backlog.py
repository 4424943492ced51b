"""The matches of a union that wait until none can come before them."""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.columns.arrays import Numbers
from sase.engine.operators.union_bindings import UnionBindings


class _BacklogPart(NamedTuple):
    """Some matches, the first time at which one is detected, and the oldest event."""

    found: UnionBindings
    first: int
    oldest: int


class UnionBacklog:
    """Matches as they came, in parts of which each has twice as many as the next."""

    def __init__(self, levels: int) -> None:
        self._levels = levels
        self._parts: list[_BacklogPart] = []

    def add(self, found: UnionBindings, detected: Numbers) -> None:
        """Have matches wait, of which it is known when they are detected."""
        if not found.size:
            return
        part = _BacklogPart(found, int(detected.min()), int(found.events.min()))
        while self._parts and self._parts[-1].found.size < 2 * part.found.size:
            before = self._parts.pop()
            both = UnionBindings.united([before.found, part.found], self._levels)
            oldest = min(before.oldest, part.oldest)
            part = _BacklogPart(both, min(before.first, part.first), oldest)
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
    def first(self) -> int | None:
        """The first time at which one is detected."""
        return min((each.first for each in self._parts), default=None)

    @property
    def oldest(self) -> int | None:
        """The oldest event of any."""
        return min((each.oldest for each in self._parts), default=None)
