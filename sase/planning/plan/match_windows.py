"""Match windows (Cadonna et al., KDD 2012): windows that cannot hold a match are not searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sase.binding.bound import BoundComponent, BoundWindow, EquivalenceTest, elements_of

# The most events of a series that are counted; a series needs its least number.
MOST_STEPS = 4


@dataclass(frozen=True, slots=True)
class MatchWindow:
    """MW: pass on the events of windows that may hold a match.

    It drops events that belong to no component by the conditions on single events (Theorem 1). With
    `partitions` windows are those of a key (Definition 6). With `counts` only windows pass that
    begin as a match may, and have events of all components in order (Theorems 2 and 3).
    """

    window: BoundWindow
    partitions: tuple[EquivalenceTest, ...] = ()
    counts: bool = False

    @property
    def method(self) -> str:
        """The paper's letters for the method: filter, partitions, counters."""
        return "f" + "p" * bool(self.partitions) + "c" * self.counts


def steps_of(components: Sequence[BoundComponent]) -> tuple[tuple[int, ...], ...]:
    """The levels that must have an event, step by step: all of a step after all of the one before.

    A component with a least number of events has a step for each, but in a set only one.
    """
    found = list[tuple[int, ...]]()
    for element in elements_of(components):
        step = tuple(level for level in element if components[level].minimum > 0)
        times = components[element[0]].minimum if len(element) == 1 else 1
        found += [step] * min(times, MOST_STEPS) if step else []
    return tuple(found)


def first_levels(components: Sequence[BoundComponent]) -> tuple[int, ...]:
    """The levels to which the first event of a match may belong."""
    found = list[int]()
    for element in elements_of(components):
        found += element
        if any(components[level].minimum > 0 for level in element):
            break
    return tuple(found)


def fewest_events(components: Sequence[BoundComponent]) -> int:
    """The fewest events of a match."""
    return sum(component.minimum for component in components)
