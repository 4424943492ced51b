"""The elements of a pattern with sets, as kernels read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sase.binding.bound import BoundComponent, elements_of, ranks_of
from sase.cached_property import cached_property
from sase.engine.columns.arrays import Numbers
from sase.engine.kernels.jit.signatures import frozen
from sase.engine.kernels.kleene.run_nodes import HEAD
from sase.engine.kernels.sentinels import NOTHING
from sase.engine.kernels.sets import nodes as of
from sase.engine.kernels.sets.nodes import SetGraph


@dataclass(frozen=True)
class SetStates:
    """Components by level, grouped by elements; the words of nodes behind those of `tests`.

    Behind the own words there is one of each set, and then one of each series in a set.
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
        """How many words there are before those of conditions, with the codes of the tests."""
        return self.tests + of.OWN_WORDS + len(self.sets) + len(self.series)

    @property
    def before(self) -> int:
        """The word of the node before, behind the head."""
        return self.tests + of.BEFORE

    def entry(self, element: Sequence[int]) -> int:
        """Where a node has the one before a set."""
        return self.at + of.OWN_WORDS + self.sets.index(tuple(element))

    @cached_property
    def entries(self) -> Mapping[int, int]:
        """Of each level of a set where a node has the one before that set."""
        return {level: self.entry(each) for each in self.sets for level in each}

    def count_at(self, level: int) -> int:
        """Where a node has how many events of a series in a set there are, or NOTHING."""
        if level not in self.series:
            return NOTHING
        return self.at + of.OWN_WORDS + len(self.sets) + self.series.index(level)

    @cached_property
    def element_of(self) -> Mapping[int, int]:
        """The element of each level."""
        return {level: n for n, each in enumerate(self.elements) for level in each}

    def may_be_empty(self, element: int) -> bool:
        """Whether an element may bind nothing."""
        return all(self.components[level].minimum == 0 for level in self.elements[element])

    def onward(self, element: int) -> int:
        """As bits the levels that may be bound next from an element on, that included."""
        found = 0
        for number in range(element, len(self.elements)):
            found |= bits(self.elements[number])
            if not self.may_be_empty(number):
                break
        return found

    @property
    def can_grow_at_end(self) -> bool:
        """Whether a match may be one that could bind more."""
        last = [self.components[level] for level in self.elements[-1]]
        return any(each.minimum != each.maximum for each in last)

    def may_grow(self, lengths: Numbers) -> NDArray[np.bool_]:
        """Whether matches may be ones that could bind more, by their lengths by level."""
        last = [(level, self.components[level].maximum) for level in self.elements[-1]]
        is_open = [lengths[n] < m if m is not None else lengths[n] >= 0 for n, m in last]
        return np.asarray(np.any(is_open, axis=0))

    def graph(self, awaited: Numbers) -> SetGraph:
        """The tables of elements and levels, with what each condition awaits."""
        rows, count = list[list[int]](), len(self.elements)
        for number, levels in enumerate(self.elements):
            members, is_empty = bits(levels), self.may_be_empty(number)
            later = all(self.may_be_empty(each) for each in range(number + 1, count))
            entry = self.entry(levels) if len(levels) > 1 else NOTHING
            onward = self.onward(number + 1)
            ends = levels[0], levels[-1] + 1
            rows.append([*ends, members, int(is_empty), onward, int(later), entry])
        ranks = ranks_of(self.components)
        of_levels = [
            [self.element_of[level], self.count_at(level), ranks[level]]
            for level in range(len(self.components))
        ]
        elements, places = (frozen(np.array(each, np.int64)) for each in (rows, of_levels))
        return SetGraph(elements, places, awaited, self.at)

    def prepare(self, root: Numbers) -> None:
        """Write the own words of the root."""
        least = [level for level, each in enumerate(self.components) if each.minimum > 0]
        root[self.at + of.OPEN] = bits(range(len(self.components)))
        root[self.at + of.LACKS] = bits(least)


def bits(levels: Sequence[int]) -> int:
    """Levels as bits."""
    return sum(1 << level for level in levels)
