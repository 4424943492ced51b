"""The members of sets of a pattern, as tables for kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sase.binding.bound import BoundComponent, elements_of
from sase.cached_property import cached_property
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.kleene.run_nodes import HEAD
from sase.engine.kernels.runs import graph as of
from sase.engine.kernels.sentinels import NOTHING


@dataclass(frozen=True)
class SetStates:
    """Components by level, grouped by elements; the words of nodes after those of `tests`.

    After the own words there is one of each set, and then one of each series in a set.
    """

    components: tuple[BoundComponent, ...]
    tests: int

    @cached_property
    def elements(self) -> tuple[tuple[int, ...], ...]:
        """The levels of each element."""
        return tuple(elements_of(self.components))

    @cached_property
    def sets(self) -> tuple[tuple[int, ...], ...]:
        """The levels of each set."""
        return tuple(each for each in self.elements if len(each) > 1)

    @cached_property
    def series(self) -> tuple[int, ...]:
        """The levels of series in sets."""
        members = (level for each in self.sets for level in each)
        return tuple(level for level in members if not self.components[level].is_single)

    @property
    def at(self) -> int:
        """The first own word of a node."""
        return HEAD + self.tests

    @property
    def words(self) -> int:
        """The number of words before those of conditions, with the codes of the tests."""
        return self.tests + of.WORDS_OF_MEMBERS + len(self.sets) + len(self.series)

    @property
    def before(self) -> int:
        """The word with the node before, counted after the head."""
        return self.tests + of.BEFORE

    def entry(self, element: Sequence[int]) -> int:
        """The word with the node before a set."""
        return self.at + of.WORDS_OF_MEMBERS + self.sets.index(tuple(element))

    @cached_property
    def entries(self) -> Mapping[int, int]:
        """The word with the node before the set, by each level of a set."""
        return {level: self.entry(each) for each in self.sets for level in each}

    def count_at(self, level: int) -> int:
        """The word with the number of events of a series in a set, or NOTHING."""
        if level not in self.series:
            return NOTHING
        return self.at + of.WORDS_OF_MEMBERS + len(self.sets) + self.series.index(level)

    @cached_property
    def element_of(self) -> Mapping[int, int]:
        """The element of each level."""
        return {level: n for n, each in enumerate(self.elements) for level in each}

    def prepare(self, root: Numbers) -> None:
        """Write the own words of the root."""
        least = [level for level, each in enumerate(self.components) if each.minimum > 0]
        root[self.at + of.OPEN] = bits(range(len(self.components)))
        root[self.at + of.LACKS] = bits(least)


def bits(levels: Iterable[int]) -> int:
    """Levels as bits."""
    return sum(1 << level for level in levels)
