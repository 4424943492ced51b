"""The automaton of a pattern: a slot for each number of events that a component can hold.

Of `A a, B{2,} b[]` the slots are a₁, b₁, b₂, b₃ with b₃ going round; a match is a path through
(place, slot) pairs, and every binding is exactly one path. So counting bindings is counting paths.

    a₁ ──► b₁ ──► b₂ ──► b₃ ⟲        opens: a₁        closes: b₂, b₃

The first slot of a component is for events that begin it, the others for further ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.match_graph.passes import Automaton


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
    """The `rank`-th event of a component, or that and every later one if the slot `repeats`."""

    level: int
    rank: int
    repeats: bool
    opens: bool
    closes: bool

    @property
    def further(self) -> bool:
        """Whether the event is taken, not the one that begins the component."""
        return self.rank > 1


class Slots:
    """The slots of a pattern in order, and which come right before which."""

    def __init__(self, levels: Levels) -> None:
        self.levels = levels
        self.all = tuple(
            slot for level in range(len(levels)) for slot in _slots_of_level(levels, level)
        )
        self.sources = tuple(
            tuple(source for source in range(target + 1) if self._leads(source, target))
            for target in range(len(self.all))
        )

    def __len__(self) -> int:
        return len(self.all)

    def _leads(self, source: int, target: int) -> bool:
        one, other = self.all[source], self.all[target]
        if one.level == other.level:
            return (source == target and one.repeats) or source + 1 == target
        satisfied = one.rank >= self.levels.minimum[one.level]
        return not other.further and satisfied and self.levels.skipped(one.level, other.level)

    @cached_property
    def by_level(self) -> tuple[list[int], ...]:
        """The slots of each component."""
        levels = range(len(self.levels))
        return tuple([s for s, of in enumerate(self.all) if of.level == k] for k in levels)

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The components that neighbours in a match can be of."""
        found = {
            (self.all[source].level, self.all[target].level)
            for target, sources in enumerate(self.sources)
            for source in sources
        }
        return tuple(sorted(found))

    @cached_property
    def source_masks(self) -> tuple[int, ...]:
        """For each slot a bit for each of its sources."""
        return tuple(sum(1 << source for source in sources) for sources in self.sources)

    @cached_property
    def target_masks(self) -> tuple[int, ...]:
        """For each slot a bit for each slot that it leads to."""
        return tuple(
            self.mask([bool(sources >> slot & 1) for sources in self.source_masks])
            for slot in range(len(self))
        )

    def mask(self, chosen: list[bool]) -> int:
        """A bit for each slot that is chosen."""
        return sum(1 << slot for slot, each in enumerate(chosen) if each)

    def pair(self, source: int, target: int) -> int:
        """The number of the pair of components of two slots."""
        return self.pairs.index((self.all[source].level, self.all[target].level))

    @cached_property
    def arrays(self) -> Automaton:
        """The automaton as kernels read it."""
        flat = [(source, t) for t, sources in enumerate(self.sources) for source in sources]
        columns = (
            [slot.level for slot in self.all],
            [slot.further for slot in self.all],
            [slot.opens for slot in self.all],
            [slot.closes for slot in self.all],
            np.cumsum([0, *map(len, self.sources)]),
            [source for source, _ in flat],
            [self.pair(source, target) for source, target in flat],
        )
        return Automaton(*(frozen(np.asarray(column, np.int64)) for column in columns))


def _slots_of_level(levels: Levels, level: int) -> list[Slot]:
    least, most = levels.minimum[level], levels.maximum[level]
    last = max(least, 2) if most is None else most
    opens, ends = levels.skipped(-1, level), levels.skipped(level, len(levels))
    return [
        Slot(
            level,
            rank,
            repeats=most is None and rank == last,
            opens=opens and rank == 1,
            closes=ends and rank >= least,
        )
        for rank in range(1, last + 1)
    ]
