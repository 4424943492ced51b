"""How long each of several parts takes that are generators and run inside each other."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, TypeVar

Item = TypeVar("Item")
Last = TypeVar("Last")
NOBODY = -1


class Stopwatch:
    """What a clock counts while each part runs and none that it waits for.

    One part runs at a time: the one that was entered last, until it hands something over.
    """

    def __init__(self, clock: Callable[[], int], parts: int) -> None:
        self.spent = [0] * parts
        self._clock = clock
        self._running, self._since = NOBODY, 0

    def more(self, parts: int) -> range:
        """Have further parts timed; return their numbers."""
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
        """What a step of a part yields: some of its work is done at once, the rest as it yields."""
        before = self._switch(part)
        found = step(*arguments)
        self._switch(before)
        return self.pulled(part, found)

    def during(self, part: int, step: Callable[[], Item]) -> Item:
        """What a step of a part gives, which is no generator."""
        before = self._switch(part)
        try:
            return step()
        finally:
            self._switch(before)

    def pulled(
        self, part: int, items: Iterator[Item] | Generator[Item, None, Last]
    ) -> Generator[Item, None, Last]:
        """What a part yields, and its time whenever it is asked for the next."""
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
        """What a step gives in which some parts run, each for a share that is known then."""
        before, start = self._switch(NOBODY), self._clock()
        found = step()
        spent, known = self._clock() - start, [int(share) for share in shares]
        for part, share in zip(parts, known, strict=True):
            self.spent[part] += spent * share // max(sum(known), 1)
        self._switch(before)
        return found

    def _switch(self, part: int) -> int:
        """Let a part run from now on; the one that ran until now."""
        now, before = self._clock(), self._running
        if before != NOBODY:
            self.spent[before] += now - self._since
        self._running, self._since = part, now
        return before
