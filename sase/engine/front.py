"""The front of the engine: what every operator wants to know of the events, once for a block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sase.binding.bound import BoundComponent, Condition
from sase.engine.block import Block, Numbers, Tests
from sase.engine.coding import PlanCoding
from sase.engine.events import Events
from sase.engine.expressions import Interner, RowTest
from sase.engine.kernels.arrivals import admitted, rank
from sase.engine.kernels.compiling import frozen
from sase.engine.kernels.stacks import NOTHING


@dataclass
class Position:
    """How much of the stream has been seen: events, distinct order keys, and numbers given out."""

    events: int = 0
    ties: int = 0
    numbers: int = 0


class Front:
    """Makes blocks of the events that some component admits.

    `components` are in the order of their bits. With `ranked` tests the events are ranked in their
    partitions, and those without a rank are in no match (LANGUAGE.md section 5).
    """

    def __init__(
        self, components: Sequence[BoundComponent], positives: int, coding: PlanCoding, ranked: Tests
    ) -> None:
        self.components, self.positives = components, positives
        self.coding, self.ranked = coding, ranked
        # Codes of its own, which are never used again: a rank may be asked for at any time.
        self._rank_coding = PlanCoding(coding.types, Interner(), streaming=coding.streaming)
        self.at = Position()
        self._counts = np.zeros(0, np.int64)
        self._states: tuple[tuple[str, ...], Numbers] | None = None

    def blocks(self, events: Events, size: int) -> Iterator[Block]:
        """The blocks of events that follow those seen before."""
        base = Position(**vars(self.at))
        for start in range(0, len(events), size):
            end = min(start + size, len(events))
            block = self._block(events, base, start, end)
            self.at.numbers += len(block)
            self.at.events = base.events + end
            yield block
        if len(events):
            self.at.events = base.events + len(events)
            self.at.ties = base.ties + 1 + (len(events) - 1 if events.tie is None else int(events.tie[-1]))

    def _block(self, events: Events, base: Position, start: int, end: int) -> Block:
        places, states = np.empty((2, end - start + 1), np.int64)
        given = frozen(self._states_of(events))
        count = admitted(frozen(events.types[start:end]), given, start, places, states)
        places, states = places[:count], states[:count]
        block = self._of(events, base, places, states, (start, end))
        if self.ranked:
            every = self._of(events, base, np.arange(start, end), states, (start, end))
            block.ranks = self._ranks(every)[places - start]
            block.states[block.ranks == NOTHING] &= -1 << self.positives
        return block

    def _of(
        self, events: Events, base: Position, places: Numbers, states: Numbers, span: tuple[int, int]
    ) -> Block:
        translation = self.coding.types.translation(events.type_names)
        ties = places if events.tie is None else events.tie[places]
        return Block(
            events,
            places,
            states,
            translation[events.types[places] + 1],
            self.at.numbers,
            base.events + span[0],
            base.events + span[1],
            places + base.events,
            ties + base.ties,
            self.coding,
        )

    def _states_of(self, events: Events) -> Numbers:
        """The components that admit each type, as bits, by code plus one."""
        if self._states is None or self._states[0] != events.type_names:
            found = np.zeros(len(events.type_names) + 1, np.int64)
            for bit, component in enumerate(self.components):
                for code, name in enumerate(events.type_names):
                    if component.types is None or name in component.types:
                        found[code + 1] |= 1 << bit
            self._states = (events.type_names, found)
        return self._states[1]

    def _ranks(self, block: Block) -> Numbers:
        """The rank of every event in its partition."""
        codes = self._rank_coding.codes(block, self.ranked)
        size = self._rank_coding.keys(self.ranked).size
        if size > len(self._counts):
            self._counts = np.append(self._counts, np.zeros(size - len(self._counts), np.int64))
        ranks = np.empty(len(codes), np.int64)
        rank(frozen(np.maximum(codes, NOTHING)), self._counts, ranks)
        return ranks


def classified(
    events: Events, definitions: Sequence[tuple[str, Condition]], coding: PlanCoding
) -> tuple[np.typing.NDArray[np.int16], tuple[str, ...]]:
    """The types of events by conditions: the first that holds."""
    names = tuple(name for name, _ in definitions)
    types = np.full(len(events), -1, np.int16)
    places = np.arange(len(events))
    block = Block(events, places, places, types, 0, 0, len(events), places, places, coding)
    for code, (_, condition) in reversed(list(enumerate(definitions))):
        test = RowTest(condition, {}, coding.texts)
        lanes = {need: block.lane(need[1]) for need in test.columns}
        types[test.truth(lanes, types)] = code
    return types, names
