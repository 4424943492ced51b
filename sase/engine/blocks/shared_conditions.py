"""Conditions on one event that several statements have in common: evaluated once for all.

    query 1   A a, a.name LIKE 'x%'  ─┐   for the events of type A, once for a stretch:
    query 2   A b, b.name LIKE 'x%'  ─┼→  true, false, false, true …
    query 3   A c, c.name LIKE 'x%'  ─┘   and each reads the truth for its own events

This is done if it is less work than evaluation by each statement for its own events. If a value
exceeds int64, each statement evaluates the condition itself, to warn of its own events.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from threading import Lock, local

import numpy as np

from sase.binding import Schema
from sase.binding.bound import BoundComponent, Condition, Part, Reference
from sase.binding.conditions.parts import references, with_references
from sase.binding.values.text import condition_text
from sase.engine.blocks.block import Block, EventRange
from sase.engine.blocks.dictionary import PlanDictionary, TypeDictionary
from sase.engine.columns import Events
from sase.engine.columns.arrays import Mask, Numbers
from sase.engine.expressions import RowFilter

# The most bytes of truths that are kept for pushed events.
ROOM = 1 << 27
# From this number of statements on, a condition may be evaluated for all.
SEVERAL = 2
Types = tuple[str, ...] | None


class SharedConditions:
    """The conditions of all statements on an input, by types of events and condition.

    Statements in a thread process events one after the other; `given` are the events of the current
    one. A condition is evaluated in one thread, and the others wait for it.
    """

    def __init__(self, schema: Schema) -> None:
        self.coding = PlanDictionary(TypeDictionary(schema), streaming=True)
        self._asked: dict[tuple[Types, Condition], AskedCondition] = {}
        self._stretches: dict[int, _Stretch] = {}
        self.lock, self._reading = Lock(), local()

    @property
    def given(self) -> _Given | None:
        """The events that the current statement of this thread reads, if they are shared."""
        return getattr(self._reading, "given", None)

    @given.setter
    def given(self, given: _Given | None) -> None:
        self._reading.given = given

    def ask(
        self, statement: str, component: BoundComponent, condition: Condition
    ) -> AskedCondition | None:
        """Register a statement's condition on a component; None if it cannot be shared."""
        if not can_be_shared(condition):
            return None
        types = None if component.types is None else tuple(sorted(component.types))
        alike = with_references(condition, _of_any_component)
        known = self._asked.setdefault((types, alike), AskedCondition(self, types, alike))
        known.statements[statement] = None
        return known

    def keep(self, statements: Collection[str]) -> None:
        """Forget the conditions of other statements."""
        for key, each in [*self._asked.items()]:
            left = dict.fromkeys(name for name in each.statements if name in statements)
            each.statements = left
            if not left:
                del self._asked[key]

    @property
    def shared(self) -> Iterator[AskedCondition]:
        """The conditions that several statements have."""
        return (each for each in self._asked.values() if len(each.statements) >= SEVERAL)

    def giving(self, events: Events, whole: Events, places: Numbers | None) -> _Giving:
        """A context in which a statement reads events of a stretch: all, or those at `places`."""
        stretch = self._stretches.setdefault(id(whole), _Stretch(whole))
        return _Giving(self, _Given(events, stretch, places))

    def forget(self) -> None:
        """Drop the truths for events that all statements have seen."""
        self._stretches.clear()
        self.coding.end_round()

    @property
    def size(self) -> int:
        """The bytes of the truths that are kept."""
        return sum(each.size for each in self._stretches.values())


@dataclass(frozen=True)
class ConditionsOf:
    """The conditions of an input, for one of its statements."""

    shared: SharedConditions
    statement: str

    def ask(self, component: BoundComponent, condition: Condition) -> AskedCondition | None:
        """Register a condition on a component; None if it cannot be shared."""
        return self.shared.ask(self.statement, component, condition)

    def giving(
        self, events: Events, whole: Events, places: Numbers | None
    ) -> AbstractContextManager[None]:
        """A context in which it reads events of a stretch: all, or those at `places`."""
        return self.shared.giving(events, whole, places)


@dataclass(frozen=True, eq=False, slots=True)
class _Given:
    """The events of a stretch that a statement reads, and their places in it, None for all."""

    events: Events
    stretch: _Stretch
    places: Numbers | None


@dataclass(frozen=True, eq=False, slots=True)
class _Giving:
    """The context in which a statement reads events."""

    shared: SharedConditions
    given: _Given

    def __enter__(self) -> None:
        self.shared.given = self.given

    def __exit__(self, *raised: object) -> None:
        self.shared.given = None


@dataclass(eq=False)
class _Stretch:
    """Events loaded once for all statements, and truths for them, None if not evaluated."""

    events: Events
    truths: dict[AskedCondition, Mask | None] = field(default_factory=dict)
    _blocks: dict[Types, Block] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return sum(each is not None for each in self.truths.values()) * len(self.events)

    def block(self, types: Types, coding: PlanDictionary) -> Block:
        """The events of the types that a condition applies to."""
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
    """A condition on events of some types, and the statements that have it."""

    def __init__(self, shared: SharedConditions, types: Types, condition: Condition) -> None:
        self._shared, self.types, self.condition = shared, types, condition
        self.statements: dict[str, None] = {}
        self._filter: RowFilter | None = None
        # The numbers of events evaluated, and of events for which statements read the truth.
        self.evaluated = self.told = 0

    def truth(self, block: Block) -> Mask | None:
        """The truth for the events of a block; None if the statement must evaluate it itself."""
        given = self._shared.given
        if given is None or given.events is not block.events or len(self.statements) < SEVERAL:
            return None
        truths = given.stretch.truths
        with self._shared.lock:
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
        """Whether it is less work for all, if all have as many events as this one."""
        every = len(given.stretch.block(self.types, self._shared.coding))
        own = every if given.places is None else min(len(given.places), every)
        return len(self.statements) * own >= SEVERAL * every

    def _evaluated(self, stretch: _Stretch) -> Mask | None:
        """The truth for the events of a stretch, false for other types; None if not possible."""
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
    """Whether a condition has the same meaning for every component."""
    read = [*references(condition)]
    return bool(read) and all(
        isinstance(each, Reference) and each.undeclared_by == frozenset() and each.inner is None
        for each in read
    )


def _of_any_component(reference: Reference) -> Reference:
    return replace(reference, component=0, part=Part.EVENT)
