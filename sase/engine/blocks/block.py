"""A block: the events of a range of the stream that some component admits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import EquivalenceTest
from sase.engine.columns import Events
from sase.engine.columns.arrays import Numbers
from sase.engine.expressions import Vector
from sase.engine.kernels.scan.stacks import Arrivals

Tests = tuple[EquivalenceTest, ...]


@dataclass(frozen=True, eq=False)
class Key:
    """Equivalence tests with codes for their values; equal tests share one object."""

    tests: Tests


class BlockColumns(Protocol):
    """The columns of a block: types, attributes, and codes of keys."""

    def types(self, block: Block) -> NDArray[np.int16]:
        """The type codes of the plan."""

    def vector(self, block: Block, attribute: str) -> Vector:
        """An attribute as a vector."""

    def raw_vector(self, block: Block, attribute: str) -> Vector:
        """An attribute for comparisons with constants; integers may have any width."""

    def codes(self, block: Block, key: Key) -> Numbers:
        """The codes of a key."""


@dataclass(frozen=True, slots=True)
class EventRange:
    """A range of `events` at a position of the stream; `tie` is the rank of its first order key."""

    events: Events
    begin: int
    end: int
    position: int
    tie: int


@dataclass(eq=False, slots=True)
class Block:
    """The admitted events of a range: their places in it, and their event numbers.

    `states` has a bit for each component that admits the type of an event: positive ones by level,
    then negative ones. Positions and ties count through the whole stream.
    """

    range: EventRange
    places: Numbers
    states: Numbers
    ts: Numbers
    positions: Numbers
    numbers: Numbers
    coding: BlockColumns
    ranks: Numbers | None = None
    _ties: Numbers | None = None
    _types: NDArray[np.int16] | None = None
    _vectors: dict[str, Vector] = field(default_factory=dict)
    _codes: dict[Key, Numbers] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.places)

    @property
    def events(self) -> Events:
        """The events of the range."""
        return self.range.events

    @property
    def rows(self) -> slice | Numbers:
        """The places of the events, as a slice if all of the range are admitted."""
        begin, end = self.range.begin, self.range.end
        return slice(begin, end) if len(self) == end - begin else self.places

    @property
    def end(self) -> int:
        """The position after the range."""
        return self.range.position + self.range.end

    @property
    def ties(self) -> Numbers:
        """The ranks of the order keys; simultaneous events tie."""
        if self._ties is None:
            tie, first = self.events.tie, self.range.tie
            ranks = self.places if tie is None else tie[self.places]
            self._ties = ranks + first if first else ranks
        return self._ties

    @property
    def until(self) -> Numbers:
        """The latest times; with precise time, the only times."""
        until = self.events.until
        return self.ts if until is None else until[self.rows]

    @property
    def types(self) -> NDArray[np.int16]:
        """The type codes of the plan."""
        if self._types is None:
            self._types = self.coding.types(self)
        return self._types

    def vector(self, attribute: str) -> Vector:
        """An attribute as a vector."""
        if attribute not in self._vectors:
            self._vectors[attribute] = self.coding.vector(self, attribute)
        return self._vectors[attribute]

    def raw_vector(self, attribute: str) -> Vector:
        """An attribute for comparisons with constants; integers may have any width."""
        return self.coding.raw_vector(self, attribute)

    def codes(self, key: Key) -> Numbers:
        """The codes of a key; 0 for a key without tests."""
        if key not in self._codes:
            has_tests = len(key.tests) > 0
            found = self.coding.codes(self, key) if has_tests else np.zeros(len(self), np.int64)
            self._codes[key] = found
        return self._codes[key]

    def narrow(self, kept: Numbers, states: Numbers) -> None:
        """Keep only some events, by their places in the block, with other states."""
        if len(kept) == len(self):
            self.states = states
            return
        if isinstance(self.coding, ChosenColumns):
            self.coding = self.coding.at(kept)
        self._ties = None if self._ties is None else self._ties[kept]
        self._types = None if self._types is None else self._types[kept]
        self._vectors = {name: each.at(kept) for name, each in self._vectors.items()}
        self._codes = {key: codes[kept] for key, codes in self._codes.items()}
        self.ranks = None if self.ranks is None else self.ranks[kept]
        self.places, self.states, self.ts = self.places[kept], states[kept], self.ts[kept]
        self.positions, self.numbers = self.positions[kept], self.numbers[kept]

    def arrivals(self, states: Numbers, keys: Numbers, measures: Numbers) -> Arrivals:
        """The events in the form that kernels take."""
        return Arrivals(self.numbers, states, keys, measures, self.ties)


@dataclass(frozen=True, eq=False)
class ChosenColumns:
    """The columns of some events of a block, computed once for all readers."""

    whole: Block
    chosen: slice | Numbers

    def at(self, places: Numbers) -> ChosenColumns:
        """The columns of some of these events."""
        chosen = places if isinstance(self.chosen, slice) else self.chosen[places]
        return ChosenColumns(self.whole, chosen)

    def types(self, block: Block) -> NDArray[np.int16]:
        """The type codes of the plan."""
        return self.whole.types[self.chosen]

    def vector(self, block: Block, attribute: str) -> Vector:
        """An attribute as a vector."""
        return self.whole.vector(attribute).at(self.chosen)

    def raw_vector(self, block: Block, attribute: str) -> Vector:
        """An attribute for comparisons with constants; integers may have any width."""
        return self.whole.raw_vector(attribute).at(self.chosen)

    def codes(self, block: Block, key: Key) -> Numbers:
        """The codes of a key."""
        return self.whole.codes(key)[self.chosen]


class Watermark(NamedTuple):
    """No later event is before `ts`; the next one has `position`; no event follows once `final`."""

    ts: int
    position: int
    is_final: bool = False
