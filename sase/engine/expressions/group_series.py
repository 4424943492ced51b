"""Conditions and values over iterations of repeated groups: the node words that they read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sase.binding.bound import Aggregate, Part, Quantified
from sase.binding.bound import Reference as EventReference
from sase.engine.expressions.series import AT, BEFORE, Fills, Subject, Variable
from sase.engine.expressions.set_series import NO_SETS, SetWords, loop_row
from sase.engine.kernels.groups import automaton
from sase.engine.kernels.kleene import predicates
from sase.engine.kernels.kleene import run_nodes as of
from sase.engine.kernels.sentinels import NOTHING


@dataclass(frozen=True)
class GroupPlace:
    """The place of a group in nodes: its number, its last state, and its words.

    `slots` are the states of each variable, `branches` those of each branch.
    """

    number: int
    last: int
    count_at: int
    before_at: int
    slots: tuple[tuple[int, ...], ...]
    branches: tuple[tuple[int, ...], ...]


@dataclass
class GroupFills(Fills):
    """The inputs of a program by source, and its loops over events and iterations."""

    groups: Mapping[int, GroupPlace] = field(default_factory=dict)
    sets: SetWords = NO_SETS

    def __post_init__(self) -> None:
        term = self.term
        if term.given and term.at_hand is not None:
            self._add((term.at_hand, None), (0, 0, predicates.GIVEN, 0, 0, 0, 0))
        ordered = sorted(term.quantified, key=lambda each: each.inner is not None)
        for each in ordered:
            self._add((each.component, each.inner), self._row_of(each))

    def _row_of(self, each: Quantified) -> tuple[int, ...]:
        exempt, place = int(each.but_first), self.groups.get(each.component)
        if place is None:
            return loop_row(self.levels[each.component], exempt, self.sets)
        words = place.before_at, place.count_at
        if each.inner is None:
            branches = range(len(place.branches)) if each.branches is None else each.branches
            states = _bits(state for branch in branches for state in place.branches[branch])
            return place.last, exempt, predicates.ITERATIONS, 0, states, *words
        within = self._loops.get((each.component, None), 0)
        states = _bits(place.slots[each.inner])
        return 0, exempt, predicates.EVENTS, within, states, *words

    def _add(self, of_what: tuple[int, int | None], row: tuple[int, ...]) -> None:
        self.loops.append(row)
        self._loops[of_what] = len(self.loops)

    # ------------------------------------------------------------ events

    def is_judged(self, reference: EventReference) -> bool:
        """Whether a reference is to the event under test."""
        inner = reference.inner
        is_it = inner is None or self._is_of_own(inner.variable)
        return reference.component == self.term.judged and is_it

    def event(self, reference: EventReference) -> int:
        """The place of an event."""
        component, part, inner = reference.component, reference.part, reference.inner
        if self.is_judged(reference):
            return self._place((of.JUDGED, 0, 0, 0))
        if inner is None:
            return self._of_component(component, part)
        place = self.groups[component]
        states = place.slots[inner.variable]
        own = Variable(states, place.number)
        if part in (Part.CURRENT, Part.PREVIOUS, Part.LAST):
            cursor, back = self._iteration(component, part)
            if inner.part in (*AT, *BEFORE) and self._ranges(component, inner.variable):
                source = of.EVENT_AT if inner.part in AT else of.EVENT_BEFORE
                return self._place((source, self._series(component, inner.variable), 0, 0))
            is_first = inner.part is not Part.LAST
            kind = automaton.FIRST_KNOWN if is_first else of.LAST_EVENT
            word = self.words.word(own, kind, None, 0, NOTHING)
            return self._place((of.KNOWN_EVENT, cursor, word, 0), back=back)
        if part is Part.FIRST:
            kind = automaton.OF_FIRST_ITERATION
            word = self.words.word(Variable(states), kind, None, place.count_at, NOTHING)
            return self._place((of.KNOWN_EVENT, 0, word, 0))
        cursor, back = self._iteration(component, part)
        kind = automaton.FIRST_KNOWN if inner.part is Part.FIRST else of.LAST_EVENT
        word = self.words.word(Variable(states), kind, None, 0, NOTHING)
        return self._place((of.KNOWN_EVENT, cursor, word, 0), back=back)

    def _of_component(self, component: int, part: Part) -> int:
        """The place of an event outside of groups."""
        ranges = (component, None) in self._loops or component == self.term.own
        if part in BEFORE and ranges and self.levels[component] in self.sets.entries:
            word = self.words.word(self.levels[component], of.LAST_EVENT, None, 0, NOTHING)
            loop = self._loop_of(component)
            return self._place((of.KNOWN_EVENT, loop, word, 0), back=self.sets.before)
        if part in (*AT, *BEFORE) and ranges:
            source = of.EVENT_AT if part in AT else of.EVENT_BEFORE
            return self._place((source, self._loop_of(component), 0, 0))
        kind = of.LAST_EVENT if part is Part.LAST else of.FIRST_EVENT
        word = self.words.word(self.levels[component], kind, None, 0, NOTHING)
        return self._place((of.KNOWN_EVENT, 0, word, 0))

    def _loop_of(self, component: int) -> int:
        """The loop over a component outside of groups; 0 for the newest event."""
        return 0 if component == self.term.own else self._loops[(component, None)]

    def _is_of_own(self, variable: int) -> bool:
        return self.term.own_variable == variable

    def _ranges(self, component: int, variable: int) -> bool:
        """Whether a series of an iteration has a current event."""
        return self._is_own(component, variable) or (component, variable) in self._loops

    def _is_own(self, component: int, variable: int) -> bool:
        term = self.term
        is_of_it = term.at_hand == component
        return is_of_it and self._is_of_own(variable) and term.judged is None

    def _series(self, component: int, variable: int) -> int:
        """The loop over a series of an iteration; 0 for the newest event."""
        return 0 if self._is_own(component, variable) else self._loops[(component, variable)]

    def _iteration(self, component: int, part: Part) -> tuple[int, int]:
        """The loop over an iteration (0: newest node), and the word that leads back from it."""
        if part in (Part.LAST, Part.ALL):
            return 0, 0
        cursor = self._loops.get((component, None), 0)
        is_earlier = part in BEFORE
        return cursor, self.groups[component].before_at - of.HEAD if is_earlier else 0

    # ------------------------------------------------------------ values

    def _subject(self, aggregate: Aggregate) -> Subject:
        inner = aggregate.inner
        if inner is None:
            return self.levels[aggregate.component]
        place = self.groups[aggregate.component]
        is_at_hand = aggregate.part is Part.CURRENT
        return Variable(place.slots[inner.variable], place.number if is_at_hand else None)

    def value(self, aggregate: Aggregate, kinds: tuple[int, int], table: int = NOTHING) -> int:
        """The place of an aggregate's tag and bits."""
        place = self.groups.get(aggregate.component)
        if place is None or aggregate.inner is not None:
            return super().value(aggregate, kinds, table)
        return self._value(aggregate, place.count_at - of.HEAD, of.COUNT)

    def _value(self, aggregate: Aggregate, word: int, kind: int) -> int:
        component, inner = aggregate.component, aggregate.inner
        if component not in self.groups:
            if aggregate.part not in (*AT, *BEFORE):
                return self._place((of.KNOWN_VALUE, 0, word, kind), 2)
            source, loop = of.VALUE_AT, self._loop_of(component)
            if aggregate.part in BEFORE:
                if self.levels[component] in self.sets.entries:
                    return self._place((of.KNOWN_VALUE, loop, word, kind), 2, self.sets.before)
                source = of.VALUE_BEFORE
            return self._place((source, loop, word, kind), 2)
        if inner is not None and aggregate.part is Part.CURRENT and inner.part in (*AT, *BEFORE):
            source = of.VALUE_AT if inner.part in AT else of.VALUE_BEFORE
            loop = self._series(component, inner.variable)
            return self._place((source, loop, word, kind), 2)
        cursor, back = self._iteration(component, aggregate.part)
        return self._place((of.KNOWN_VALUE, cursor, word, kind), 2, back)


def _bits(states: object) -> int:
    return sum(1 << state for state in set(states))  # type: ignore[call-overload]
