"""Conditions over members of sets, whose events interleave: the node words that they read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sase.binding.bound import Aggregate
from sase.binding.bound import Reference as EventReference
from sase.engine.expressions.series import BEFORE, Fills
from sase.engine.kernels.kleene import predicates
from sase.engine.kernels.kleene import run_nodes as of
from sase.engine.kernels.sentinels import NOTHING


class SetWords(NamedTuple):
    """Words of nodes for sets: the node before a level's set, and the previous node.

    `entries` is the word by level, `elements` the element of each level, `before` the word of the
    previous node, after the head.
    """

    entries: Mapping[int, int]
    elements: Mapping[int, int]
    before: int


NO_SETS = SetWords({}, {}, 0)


def loop_row(level: int, exempt: int, sets: SetWords) -> tuple[int, ...]:
    """The loop over a series; in a set, other events may come between its events."""
    if level not in sets.entries:
        return level, exempt, predicates.SERIES, 0, 0, 0, 0
    return level, exempt, predicates.EVENTS, 0, 1 << level, sets.entries[level], 0


@dataclass
class SetFills(Fills):
    """The inputs of a program by source, and its loops, with sets.

    The previous node knows the last event of a series, whatever was bound since.
    """

    sets: SetWords = NO_SETS

    def _over(self, level: int, exempt: int) -> tuple[int, ...]:
        return loop_row(level, exempt, self.sets)

    def is_bound_before(self, own: int, level: int) -> bool:
        """Whether an event of one level may be bound before one of another."""
        return own <= level or self.sets.elements[own] == self.sets.elements[level]

    def event(self, reference: EventReference) -> int:
        """The place of an event."""
        component, part = reference.component, reference.part
        level = self.levels.get(component)
        ranges = component in self._loops or component == self.term.own
        if level not in self.sets.entries or part not in BEFORE or not ranges:
            return super().event(reference)
        assert level is not None
        word = self.words.word(level, of.LAST_EVENT, None, 0, NOTHING)
        return self._place((of.KNOWN_EVENT, self._loop(component), word, 0), back=self.sets.before)

    def _value(self, aggregate: Aggregate, word: int, kind: int) -> int:
        component = aggregate.component
        if self.levels[component] not in self.sets.entries or aggregate.part not in BEFORE:
            return super()._value(aggregate, word, kind)
        loop = self._loop(component)
        return self._place((of.KNOWN_VALUE, loop, word, kind), 2, back=self.sets.before)
