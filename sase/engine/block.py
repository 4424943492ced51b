"""A block: the events of a piece of the stream that some component admits, as operators see it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import EquivalenceTest
from sase.engine.events import Events
from sase.engine.expressions import Lane
from sase.engine.kernels.stacks import Arrivals

Numbers = NDArray[np.int64]
Tests = tuple[EquivalenceTest, ...]


class Coding(Protocol):
    """What gives a block the lanes of attributes and the codes of keys."""

    def lane(self, block: Block, attribute: str) -> Lane:
        """An attribute of the block's events."""

    def codes(self, block: Block, tests: Tests) -> Numbers:
        """The codes of the block's events under equivalence tests."""


@dataclass(eq=False)
class Block:
    """Events by their place in `events`, numbered from `first` on.

    `states` has a bit for each component that admits the type of an event: positive ones by level,
    and then the negative ones. `positions` and `ties` count through the whole stream, of which the
    block covers the positions from `begin` to `end`.
    """

    events: Events
    places: Numbers
    states: Numbers
    types: NDArray[np.int16]
    first: int
    begin: int
    end: int
    positions: Numbers
    ties: Numbers
    coding: Coding
    ranks: Numbers | None = None

    def __len__(self) -> int:
        return len(self.places)

    @cached_property
    def numbers(self) -> Numbers:
        """The numbers of the events."""
        return np.arange(self.first, self.first + len(self), dtype=np.int64)

    @cached_property
    def ts(self) -> Numbers:
        """The timestamps of the events."""
        return self.events.ts[self.places]

    @cached_property
    def _lanes(self) -> dict[str, Lane]:
        return {}

    @cached_property
    def _codes(self) -> dict[Tests, Numbers]:
        return {}

    def lane(self, attribute: str) -> Lane:
        """An attribute of the events."""
        if attribute not in self._lanes:
            self._lanes[attribute] = self.coding.lane(self, attribute)
        return self._lanes[attribute]

    def codes(self, tests: Tests) -> Numbers:
        """The codes of the events under equivalence tests; without any there is one code."""
        if tests not in self._codes:
            found = self.coding.codes(self, tests) if tests else np.zeros(len(self), np.int64)
            self._codes[tests] = found
        return self._codes[tests]

    def arrivals(self, states: Numbers, keys: Numbers, measures: Numbers) -> Arrivals:
        """The events as kernels take them."""
        return Arrivals(self.numbers, states, keys, measures, self.ties)


@dataclass(frozen=True)
class Clock:
    """How far the stream has come: no event is to come before this time; the next position.

    It is final where no event at all is to come.
    """

    ts: int
    position: int
    is_final: bool = False
