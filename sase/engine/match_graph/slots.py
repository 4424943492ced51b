"""The automaton of a pattern as a graph of slots, one for each step of its paths.

A match is a path through (place, slot) pairs, and every binding is exactly one path. So counting
bindings is counting paths (`planning/automaton/unrolled.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sase.cached_property import cached_property
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.match_graph.passes import Automaton
from sase.engine.match_graph.candidates import Neighbours
from sase.planning.automaton.unrolled import ROOT, PathStep, Unrolled


@dataclass(frozen=True)
class Slot:
    """A step of matches: the first event of a component, or a `further` one.

    `bit` is the event bit that admits it. Some slots `begin` an iteration of a group. `rank` is the
    order of its variable by first occurrence.
    """

    level: int
    bit: int
    further: bool
    opens: bool
    closes: bool
    begins: bool
    rank: int


class SlotAutomaton:
    """The slots of a pattern in order, with their predecessors.

    `sources` are predecessors with strictly earlier events, `tied` those with simultaneous events,
    which are earlier slots. `levels` are the components.
    """

    def __init__(self, unrolled: Unrolled) -> None:
        automaton = unrolled.automaton
        self.levels = range(1 + max(each.level for each in automaton.states))
        # Whether slots, not lengths, determine the component of each event of a match.
        self.is_told = not automaton.is_chain
        opening, steps = set(unrolled.steps(ROOT)), unrolled.reached
        numbers = {step: number for number, step in enumerate(steps)}
        self.all = tuple(_slot(unrolled, step, opens=step in opening) for step in steps)
        self.sources = _sources(numbers, (unrolled.steps(step.target) for step in steps))
        self.tied = _sources(numbers, (unrolled.beside(step.target) for step in steps))

    def __len__(self) -> int:
        return len(self.all)

    def order(self, lengths: tuple[int, ...], path: tuple[int, ...]) -> Any:
        """The sort key of matches with the same events, from the last event back.

        It is the lengths of components; if these are ambiguous, the variables of events, then the
        lengths of iterations.
        """
        if not self.is_told:
            return lengths[::-1]
        slots = [self.all[slot] for slot in reversed(path)]
        return [slot.rank for slot in slots], _iterations(slots)

    def bits(self, events: int) -> int:
        """An upper bound of the bits of the number of matches of some events.

        By the choices of events and of the components' first events; otherwise by the slots of each
        event.
        """
        if not self.is_told:
            return events + (len(self.levels) - 1) * (events + 1).bit_length()
        return events * (len(self) + 1).bit_length()

    @cached_property
    def by_level(self) -> tuple[list[int], ...]:
        """The slots of each component."""
        found: tuple[list[int], ...] = tuple([] for _ in range(len(self.levels)))
        for number, slot in enumerate(self.all):
            found[slot.level].append(number)
        return found

    @cached_property
    def pairs(self) -> tuple[Neighbours, ...]:
        """The pairs of components that adjacent events can have."""
        found = {
            self._neighbours(source, target, is_tied)
            for target in range(len(self))
            for source, is_tied in self._before(target)
        }
        return tuple(sorted(found))

    def _before(self, target: int) -> Iterator[tuple[int, bool]]:
        """The predecessors of a slot, and whether they are simultaneous."""
        yield from ((source, False) for source in self.sources[target])
        yield from ((source, True) for source in self.tied[target])

    def _neighbours(self, source: int, target: int, is_tied: bool) -> Neighbours:
        earlier, later = self.all[source], self.all[target]
        return Neighbours(earlier.bit, later.bit, later.further, later.begins, is_tied)

    @cached_property
    def source_masks(self) -> tuple[int, ...]:
        """For each slot the mask of its sources."""
        return tuple(_bits_of(sources) for sources in self.sources)

    @cached_property
    def tied_masks(self) -> tuple[int, ...]:
        """For each slot the mask of its simultaneous predecessors."""
        return tuple(_bits_of(sources) for sources in self.tied)

    @cached_property
    def target_masks(self) -> tuple[int, ...]:
        """For each slot the mask of its successors."""
        return _turned(self.sources)

    @cached_property
    def tied_target_masks(self) -> tuple[int, ...]:
        """For each slot the mask of its simultaneous successors."""
        return _turned(self.tied)

    def mask(self, chosen: list[bool]) -> int:
        """The mask of the chosen slots."""
        return sum(1 << slot for slot, each in enumerate(chosen) if each)

    def pair(self, source: int, target: int, *, is_tied: bool = False) -> int:
        """The number of the pair of components of two slots."""
        return self._numbers[self._neighbours(source, target, is_tied)]

    @cached_property
    def before(self) -> tuple[list[tuple[int, int]], ...]:
        """For each slot its predecessors, with the number of the pair."""
        return tuple(
            [(source, self.pair(source, each, is_tied=tied)) for source, tied in self._before(each)]
            for each in range(len(self))
        )

    @cached_property
    def _numbers(self) -> dict[Neighbours, int]:
        return {pair: number for number, pair in enumerate(self.pairs)}

    @cached_property
    def arrays(self) -> Automaton:
        """The automaton as kernels read it."""
        flat = [(s, t, is_tied) for t in range(len(self)) for s, is_tied in self._before(t)]
        columns = (
            [slot.bit for slot in self.all],
            [slot.level for slot in self.all],
            [slot.further for slot in self.all],
            [slot.opens for slot in self.all],
            [slot.closes for slot in self.all],
            np.cumsum([0, *map(len, self.before)]),
            [source for source, _, _ in flat],
            [pair for each in self.before for _, pair in each],
            [is_tied for _, _, is_tied in flat],
        )
        return Automaton(*(frozen(np.asarray(column, np.int64)) for column in columns))


def _slot(unrolled: Unrolled, step: PathStep, *, opens: bool) -> Slot:
    state, closes = unrolled.automaton.states[step.state], unrolled.closes(step.target)
    return Slot(state.level, state.number, step.further, opens, closes, step.begins, state.rank)


def _sources(
    numbers: dict[PathStep, int], following: Iterable[Iterable[PathStep]]
) -> tuple[tuple[int, ...], ...]:
    """The predecessors of each slot, given the successors."""
    found: list[list[int]] = [[] for _ in numbers]
    for source, steps in enumerate(following):
        for step in steps:
            found[numbers[step]].append(source)
    return tuple(map(tuple, found))


def _iterations(slots: Sequence[Slot]) -> list[int]:
    """The number of slots from the start of each iteration to the next start, last one first."""
    found, size = list[int](), 0
    for slot in slots:
        size += 1
        if slot.begins:
            found.append(size)
            size = 0
    return found


def _bits_of(slots: Iterable[int]) -> int:
    found = 0
    for slot in slots:
        found |= 1 << slot
    return found


def _turned(sources: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """For each slot the mask of slots that have it as source."""
    found = [0] * len(sources)
    for target, of in enumerate(sources):
        for source in of:
            found[source] |= 1 << target
    return tuple(found)
