"""The automaton of a pattern: a slot for each number of events that a component can hold.

Of `A a, B{2,} b[]` the slots are a₁, b₁, b₂, b₃ with b₃ going round; a match is a path through
(place, slot) pairs, and every binding is exactly one path. So counting bindings is counting paths.

    a₁ ──► b₁ ──► b₂ ──► b₃ ⟲        opens: a₁        closes: b₂, b₃

The first slot of a component is for events that begin it, the others for further ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.match_graph.passes import Automaton
from sase.engine.match_graph.candidates import Neighbours


@dataclass(frozen=True)
class Levels:
    """The least and the greatest number of events by component; None is no upper bound."""

    minimum: tuple[int, ...]
    maximum: tuple[int | None, ...]

    def __post_init__(self) -> None:
        if not self.minimum or len(self.minimum) != len(self.maximum):
            raise ValueError("levels need a minimum and a maximum for each of the components")
        for least, most in zip(self.minimum, self.maximum, strict=True):
            if least < 0 or (most is not None and most < max(least, 1)):
                raise ValueError(f"a component cannot take from {least} to {most} events")

    def __len__(self) -> int:
        return len(self.minimum)

    def skipped(self, after: int, before: int) -> bool:
        """Whether all components between these two may stay empty."""
        return not any(self.minimum[after + 1 : before])


@dataclass(frozen=True)
class Slot:
    """A step of matches: an event of a component, its first or a `further` one.

    It is admitted by its bit of the number `bit`. An iteration of a group `begins` with some.
    """

    level: int
    bit: int
    further: bool
    opens: bool
    closes: bool
    begins: bool = field(default=False, kw_only=True)


class SlotAutomaton:
    """The slots of a pattern in order, and which come right before which.

    `sources` are those of strictly earlier events, `tied` those of simultaneous ones, which are
    earlier slots. `levels` has a length: as many components as there are.
    """

    # Whether lengths do not say which component each event of a match is of, but slots do.
    is_told = False

    def __init__(
        self,
        levels: Sized,
        slots: Sequence[Slot],
        sources: Sequence[tuple[int, ...]],
        tied: Sequence[tuple[int, ...]],
    ) -> None:
        self.levels, self.all = levels, tuple(slots)
        self.sources, self.tied = tuple(sources), tuple(tied)

    def __len__(self) -> int:
        return len(self.all)

    def order(self, lengths: tuple[int, ...], path: tuple[int, ...]) -> Any:
        """How matches of the same events are ordered: by what comes last."""
        return lengths[::-1]

    def bits(self, events: int) -> int:
        """Bound the bits of the number of matches of so many events, by the slots of each."""
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
        """What neighbours in a match can be of."""
        found = {
            self._neighbours(source, target, is_tied)
            for target in range(len(self))
            for source, is_tied in self._before(target)
        }
        return tuple(sorted(found))

    def _before(self, target: int) -> Iterator[tuple[int, bool]]:
        """The slots before one, and whether the event in them is simultaneous."""
        yield from ((source, False) for source in self.sources[target])
        yield from ((source, True) for source in self.tied[target])

    def _neighbours(self, source: int, target: int, is_tied: bool) -> Neighbours:
        earlier, later = self.all[source], self.all[target]
        return Neighbours(earlier.bit, later.bit, later.further, later.begins, is_tied)

    @cached_property
    def source_masks(self) -> tuple[int, ...]:
        """For each slot a bit for each of its sources."""
        return tuple(_bits_of(sources) for sources in self.sources)

    @cached_property
    def tied_masks(self) -> tuple[int, ...]:
        """For each slot a bit for each of those that a simultaneous event may have before it."""
        return tuple(_bits_of(sources) for sources in self.tied)

    @cached_property
    def target_masks(self) -> tuple[int, ...]:
        """For each slot a bit for each slot that it leads to."""
        return _turned(self.sources)

    @cached_property
    def tied_target_masks(self) -> tuple[int, ...]:
        """The same of simultaneous events."""
        return _turned(self.tied)

    def mask(self, chosen: list[bool]) -> int:
        """A bit for each slot that is chosen."""
        return sum(1 << slot for slot, each in enumerate(chosen) if each)

    def pair(self, source: int, target: int, *, is_tied: bool = False) -> int:
        """The number of the pair of what two slots are of."""
        return self._numbers[self._neighbours(source, target, is_tied)]

    @cached_property
    def before(self) -> tuple[list[tuple[int, int]], ...]:
        """By slot those before it, and the number of the pair of both."""
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


class Slots(SlotAutomaton):
    """The slots of components one after the other."""

    levels: Levels

    def __init__(self, levels: Levels) -> None:
        numbered = [each for level in range(len(levels)) for each in _slots_of_level(levels, level)]
        sources = [
            tuple(n for n, source in enumerate(numbered) if source.leads_to(target, levels))
            for target in numbered
        ]
        super().__init__(levels, numbered, sources, [()] * len(numbered))

    def bits(self, events: int) -> int:
        """Bound the bits by the choices of events, and of the begins of components."""
        return events + (len(self.levels) - 1) * (events + 1).bit_length()


@dataclass(frozen=True)
class NumberedSlot(Slot):
    """The `rank`-th event of a component, or that and every later one if the slot `repeats`."""

    rank: int
    repeats: bool

    def leads_to(self, target: NumberedSlot, levels: Levels) -> bool:
        """Whether an event in it may come right before one in another."""
        if self.level == target.level:
            return (self == target and self.repeats) or self.rank + 1 == target.rank
        satisfied = self.rank >= levels.minimum[self.level]
        is_later = self.level < target.level
        skips = is_later and levels.skipped(self.level, target.level)
        return not target.further and satisfied and skips


def _slots_of_level(levels: Levels, level: int) -> list[NumberedSlot]:
    least, most = levels.minimum[level], levels.maximum[level]
    last = max(least, 2) if most is None else most
    opens, ends = levels.skipped(-1, level), levels.skipped(level, len(levels))
    return [
        NumberedSlot(
            level,
            level,
            rank > 1,
            opens=opens and rank == 1,
            closes=ends and rank >= least,
            rank=rank,
            repeats=most is None and rank == last,
        )
        for rank in range(1, last + 1)
    ]


def _bits_of(slots: Iterable[int]) -> int:
    found = 0
    for slot in slots:
        found |= 1 << slot
    return found


def _turned(sources: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """For each slot a bit for each of those whose source it is."""
    found = [0] * len(sources)
    for target, of in enumerate(sources):
        for source in of:
            found[source] |= 1 << target
    return tuple(found)
