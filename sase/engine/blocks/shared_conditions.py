"""Conditions on one event that several statements ask of an input: each is evaluated once for all.

    query 1   A a, a.name LIKE 'x%'  ─┐   of the events of type A, once for a stretch:
    query 2   A b, b.name LIKE 'x%'  ─┼→  true, false, false, true …
    query 3   A c, c.name LIKE 'x%'  ─┘   and each takes what is said of its own events

It is evaluated where that is less work than each would have with its own events. What leaves int64
is for each statement to tell of its own events: then each evaluates it by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

import numpy as np

from sase.binding import Schema
from sase.binding.bound import BoundComponent, Condition, Part, Reference
from sase.binding.parts import references, with_references
from sase.binding.text import condition_text
from sase.engine.blocks.block import Block, EventRange
from sase.engine.blocks.dictionary import PlanDictionary, TypeDictionary
from sase.engine.columns import Events
from sase.engine.columns.arrays import Mask, Numbers
from sase.engine.expressions import RowFilter

# So many bytes of truths are kept of what is pushed.
ROOM = 1 << 27
# From so many statements on it pays to evaluate a condition for all.
SEVERAL = 2
Types = tuple[str, ...] | None


class SharedConditions:
    """The conditions that statements ask of an input, by the types of events and by what is asked.

    Statements are given events one after the other: those of one are `given` at a time.
    """

    def __init__(self, schema: Schema) -> None:
        self.coding = PlanDictionary(TypeDictionary(schema), streaming=True)
        self._asked: dict[tuple[Types, Condition], AskedCondition] = {}
        self._stretches: dict[int, _Stretch] = {}
        self.given: _Given | None = None

    def ask(
        self, statement: str, component: BoundComponent, condition: Condition
    ) -> AskedCondition | None:
        """What a statement asks of events of a component; None where it must be asked alone."""
        if not can_be_shared(condition):
            return None
        types = None if component.types is None else tuple(sorted(component.types))
        alike = with_references(condition, _of_any_component)
        known = self._asked.setdefault((types, alike), AskedCondition(self, types, alike))
        known.statements[statement] = None
        return known

    def keep(self, statements: Collection[str]) -> None:
        """Forget what other statements have asked."""
        for key, each in [*self._asked.items()]:
            left = dict.fromkeys(name for name in each.statements if name in statements)
            each.statements = left
            if not left:
                del self._asked[key]

    @property
    def shared(self) -> Iterator[AskedCondition]:
        """What several statements ask."""
        return (each for each in self._asked.values() if len(each.statements) >= SEVERAL)

    def giving(self, events: Events, whole: Events, places: Numbers | None) -> _Giving:
        """While a statement looks at events of a stretch, at some `places` of the whole, or all."""
        stretch = self._stretches.get(id(whole))
        if stretch is None:
            stretch = self._stretches[id(whole)] = _Stretch(whole)
        return _Giving(self, _Given(events, stretch, places))

    def forget(self) -> None:
        """Let go of what was said of events that all statements have seen."""
        self._stretches.clear()
        self.coding.end_round()

    @property
    def size(self) -> int:
        """How many bytes the truths take that are kept."""
        return sum(each.size for each in self._stretches.values())


@dataclass(frozen=True)
class ConditionsOf:
    """The conditions of an input as one of its statements asks them."""

    shared: SharedConditions
    statement: str

    def ask(self, component: BoundComponent, condition: Condition) -> AskedCondition | None:
        """What it asks of events of a component; None where it must be asked alone."""
        return self.shared.ask(self.statement, component, condition)

    def giving(
        self, events: Events, whole: Events, places: Numbers | None
    ) -> AbstractContextManager[None]:
        """While it looks at events of a stretch, at some `places` of the whole, or all."""
        return self.shared.giving(events, whole, places)


@dataclass(frozen=True, eq=False, slots=True)
class _Given:
    """Events of a stretch that a statement is given, and their places in it, None for all."""

    events: Events
    stretch: _Stretch
    places: Numbers | None


@dataclass(frozen=True, eq=False, slots=True)
class _Giving:
    """What a statement is given, while it looks at it."""

    shared: SharedConditions
    given: _Given

    def __enter__(self) -> None:
        self.shared.given = self.given

    def __exit__(self, *raised: object) -> None:
        self.shared.given = None


@dataclass(eq=False)
class _Stretch:
    """Events that were loaded once for all, and what is true of them, None where nobody says."""

    events: Events
    truths: dict[AskedCondition, Mask | None] = field(default_factory=dict)
    _blocks: dict[Types, Block] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return sum(each is not None for each in self.truths.values()) * len(self.events)

    def block(self, types: Types, coding: PlanDictionary) -> Block:
        """Those of some types, of which a condition is asked."""
        if types not in self._blocks:
            events = self.events
            span = EventRange(events, 0, len(events), 0, 0)
            places = np.arange(len(events))
            if types is not None:
                names = enumerate(events.type_names)
                codes = np.array([code for code, name in names if name in types], np.int64)
                places = np.flatnonzero(np.isin(events.types, codes))
            ts = events.ts[places]
            self._blocks[types] = Block(span, places, places, ts, places, places, coding)
        return self._blocks[types]


class AskedCondition:
    """A condition on events of some types, and the statements that ask it."""

    def __init__(self, shared: SharedConditions, types: Types, condition: Condition) -> None:
        self._shared, self.types, self.condition = shared, types, condition
        self.statements: dict[str, None] = {}
        self._filter: RowFilter | None = None
        # Of how many events it was evaluated, and of how many that was told to statements.
        self.evaluated = self.told = 0

    def truth(self, block: Block) -> Mask | None:
        """Whether it holds of the events of a block; None if who asks has to find it out."""
        given = self._shared.given
        if given is None or given.events is not block.events or len(self.statements) < SEVERAL:
            return None
        truths = given.stretch.truths
        if self not in truths:
            if not self._pays(given):
                return None
            truths[self] = self._evaluated(given.stretch)
        truth, rows = truths[self], block.rows
        if truth is None:
            return None
        self.told += len(block)
        return truth[rows if given.places is None else given.places[rows]]

    def _pays(self, given: _Given) -> bool:
        """Whether all have more to do than who does it for all, if all have as much as this one."""
        every = len(given.stretch.block(self.types, self._shared.coding))
        own = every if given.places is None else min(len(given.places), every)
        return len(self.statements) * own >= SEVERAL * every

    def _evaluated(self, stretch: _Stretch) -> Mask | None:
        """Whether it holds of the events of a stretch, those of other types left out."""
        shared = self._shared
        if shared.size + len(stretch.events) > ROOM:
            return None
        block = stretch.block(self.types, shared.coding)
        if self._filter is None:
            self._filter = RowFilter(self.condition, {}, shared.coding.texts)
        test = self._filter
        found = test.truth({need: block.vector(need[1]) for need in test.columns}, block.types)
        if test.arithmetic and test.stack.notes[0]:
            test.stack.notes[:3] = 0
            return None
        self.evaluated += len(block)
        truth = np.zeros(len(stretch.events), np.bool_)
        truth[block.rows] = found
        return truth

    def __str__(self) -> str:
        """The condition on an event, with its types."""
        text = condition_text(self.condition, {0: "e"})
        return text if self.types is None else f"{' or '.join(self.types)} e: {text}"


def can_be_shared(condition: Condition) -> bool:
    """Whether a condition asks of every event the same, whichever component it is asked for."""
    read = [*references(condition)]
    return bool(read) and all(
        isinstance(each, Reference) and each.undeclared_by == frozenset() and each.inner is None
        for each in read
    )


def _of_any_component(reference: Reference) -> Reference:
    return replace(reference, component=0, part=Part.EVENT)
