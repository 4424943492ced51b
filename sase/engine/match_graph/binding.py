"""A match by places: the candidates that it takes, and how they fall to the components."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias


class Binding(NamedTuple):
    """The places of the events, ascending, cut into components of these lengths."""

    partition: int
    places: tuple[int, ...]
    lengths: tuple[int, ...]

    def of(self, level: int) -> tuple[int, ...]:
        """The places of one component."""
        start = sum(self.lengths[:level])
        return self.places[start : start + self.lengths[level]]


# A test of a finished binding, for conditions that are not on neighbours.
Accepts: TypeAlias = Callable[[Binding], bool]
