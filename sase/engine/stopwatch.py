"""Measure the time of each of several generators that run inside each other."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, TypeVar

Item = TypeVar("Item")
Last = TypeVar("Last")
NOBODY = -1


class Stopwatch:
    """Measures the time of each part, without the parts that it waits for.

    One part runs at a time: the last one that was entered, until it yields or returns.
    """

    def __init__(self, clock: Callable[[], int], parts: int) -> None:
        self.spent = [0] * parts
        self._clock = clock
        self._running, self._since = NOBODY, 0

    def more(self, parts: int) -> range:
        """Add parts; return their numbers."""
        first = len(self.spent)
        self.spent += [0] * parts
        return range(first, first + parts)

    @property
    def total(self) -> int:
        """The time of all parts, while none of them runs."""
        return sum(self.spent)

    def timed(
        self, part: int, step: Callable[..., Iterator[Item]], *arguments: Any
    ) -> Iterator[Item]:
        """Time a step that returns an iterator: the call itself, and each of its items."""
        before = self._switch(part)
        found = step(*arguments)
        self._switch(before)
        return self.pulled(part, found)

    def during(self, part: int, step: Callable[[], Item]) -> Item:
        """Time a step that returns a value."""
        before = self._switch(part)
        try:
            return step()
        finally:
            self._switch(before)

    def pulled(
        self, part: int, items: Iterator[Item] | Generator[Item, None, Last]
    ) -> Generator[Item, None, Last]:
        """Yield the items of a part, and time each of them."""
        while True:
            before = self._switch(part)
            try:
                item = next(items)
            except StopIteration as end:
                last: Last = end.value
                return last
            finally:
                self._switch(before)
            yield item

    def shared(self, step: Callable[[], Item], parts: Iterable[int], shares: Iterable[int]) -> Item:
        """Time a step with several parts; its time is split by shares that are known afterwards."""
        before, start = self._switch(NOBODY), self._clock()
        found = step()
        spent, known = self._clock() - start, [int(share) for share in shares]
        for part, share in zip(parts, known, strict=True):
            self.spent[part] += spent * share // max(sum(known), 1)
        self._switch(before)
        return found

    def _switch(self, part: int) -> int:
        """Switch to a part; return the part that ran until now."""
        now, before = self._clock(), self._running
        if before != NOBODY:
            self.spent[before] += now - self._since
        self._running, self._since = part, now
        return before
