"""The choices of which random queries and streams are made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, count
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Draw(Random):
    """Random choices: the same ones for the same number."""

    def one_of(self, *choices: T) -> T:
        """One of them; a choice that shall be frequent is named several times."""
        return self.choice(choices)

    def chance(self, percent: int) -> bool:
        """True in `percent` of a hundred cases."""
        return self.randrange(100) < percent

    def permutation(self, items: Sequence[T]) -> list[T]:
        """The items in any order."""
        return self.sample(items, len(items))


def names(letters: str) -> Iterator[str]:
    """The letters first, then others: no query draws more names than there are."""
    return chain(letters, (f"n{number}" for number in count()))
