"""What every operator is to the matcher, and what it is given when it is opened."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sase.binding import Schema
from sase.binding.bound import (
    BoundComponent,
    BoundWindow,
    Comparison,
    Condition,
    EquivalenceTest,
    Operation,
    Part,
    Reference,
    WindowKind,
)
from sase.binding.text import condition_text
from sase.engine.blocks.block import Block, Watermark
from sase.engine.blocks.dictionary import PlanDictionary
from sase.engine.blocks.event_buffer import EventBuffer
from sase.engine.expressions import Layout, Need, columns_needed
from sase.engine.kernels.expressions.program import Stack
from sase.engine.kernels.sentinels import ANY_SPAN, EARLIEST
from sase.engine.options import Options
from sase.planning.nodes import NegativeComponent

# The numbers of events: a row for each level, a column for each sequence. Where components bind any
# number of events there are `Bindings` in their place.
Sequences: TypeAlias = NDArray[np.int64]
Counters: TypeAlias = dict[str, Any]
Checkpoint: TypeAlias = dict[str, Any]
Made = TypeVar("Made")


class OperatorState(Protocol):
    """A running operator.

    The matcher hands each block to every operator together with the sequences from the operator
    below, and then lets time pass. What an operator yields it may not keep, and need not hold
    for longer than the next step. The last one yields results instead of sequences.
    """

    def push(self, block: Block, below: Iterator[Any]) -> Iterator[Any]:
        """The sequences that go on, of those from below and of its own, in the order of results."""

    def advance(self, clock: Watermark, below: Iterator[Any]) -> Iterator[Any]:
        """The sequences that are known now that no earlier event can come; old state goes."""

    def horizon(self) -> int | None:
        """The first event that may still be needed; None if there is no such one."""

    def counters(self) -> Counters:
        """What went in, what came out, and what is remembered: see docs/explain-counters.md."""

    def checkpoint(self) -> Checkpoint:
        """The state as arrays and plain values."""

    def restore(self, saved: Checkpoint) -> None:
        """Go on from a state that was saved."""


@runtime_checkable
class HasTimers(Protocol):
    """An operator in which sequences wait for time to pass."""

    def next_timer(self) -> int | None:
        """The time at which the first of them go on; None if none wait."""


@dataclass
class OverflowCounts:
    """Where arithmetic left int64: how often, and an event with which it did."""

    arithmetic: dict[int, Operation]
    stack: Stack
    counts: dict[Operation, list[int]] = field(default_factory=dict)

    def collect(self, place_of: Callable[[int], int]) -> None:
        """Take the notes of the last evaluations, of which the row leads to an event's place."""
        notes = self.stack.notes
        if notes[0]:
            operation = self.arithmetic[int(notes[1])]
            seen = self.counts.setdefault(operation, [0, place_of(int(notes[2]))])
            seen[0] += int(notes[0])
            notes[:3] = 0

    def add(self, other: OverflowCounts, positions: Sequences | None) -> None:
        """Count what another one counted, whose events have these positions if not their own."""
        for operation, (count, place) in other.counts.items():
            place = place if positions is None else int(positions[place])
            seen = self.counts.setdefault(operation, [0, place])
            seen[:] = [seen[0] + count, min(seen[1], place)]

    def checkpoint(self) -> list[list[int]]:
        """What was counted: the number of an operation, how often, and where first."""
        numbers = {operation: number for number, operation in self.arithmetic.items()}
        return [[numbers[operation], *counted] for operation, counted in self.counts.items()]

    def restore(self, saved: list[list[int]]) -> None:
        """Go on counting."""
        self.counts = {self.arithmetic[number]: counted for number, *counted in saved}


@dataclass
class Context:
    """What operators share: the plan's surroundings, the store, codes, and what is to be reported.

    `levels` gives the place of a positive component among the positive ones; `bits` the bit of
    every component among the states of a block.
    """

    schema: Schema
    options: Options
    components: tuple[BoundComponent, ...]
    negatives: tuple[BoundComponent, ...]
    dictionary: PlanDictionary
    buffer: EventBuffer
    overflows: list[OverflowCounts] = field(default_factory=list)
    # What was made once for the plan, whenever it is opened.
    cache: dict[Hashable, Any] = field(default_factory=dict)

    def cached(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What is made of a part of the plan, which is the same each time that it is opened.

        What gives texts codes is of one run, and made anew.
        """
        if key in self.cache:
            found: Made = self.cache[key]
            return found
        before = self.dictionary.texts.size
        found = make()
        if self.dictionary.texts.size == before:
            self.cache[key] = found
        return found

    @property
    def levels(self) -> int:
        """How many positive components there are."""
        return len(self.components)

    @property
    def is_alone(self) -> bool:
        """Whether there is one component: its event agrees with itself, NULL or not."""
        return len(self.components) + len(self.negatives) == 1

    def level_of(self, component: int) -> int:
        """The level of a positive component; every negative one stands behind the last."""
        indexes = [each.index for each in self.components]
        return indexes.index(component) if component in indexes else len(indexes)

    def bit_of(self, component: int) -> int:
        """The bit of a component among the states of a block."""
        every = [each.index for each in (*self.components, *self.negatives)]
        return every.index(component)

    def component(self, index: int) -> BoundComponent:
        """A component by its index in the pattern."""
        return next(c for c in (*self.components, *self.negatives) if c.index == index)

    def watch(self, arithmetic: dict[int, Operation], stack: Stack) -> OverflowCounts:
        """Report where this arithmetic leaves int64, if it can."""
        overflows = OverflowCounts(arithmetic, stack)
        if arithmetic:
            self.overflows.append(overflows)
        return overflows

    def text_of(self, condition: Condition) -> str:
        """A condition much as the query writes it."""
        every = (*self.components, *self.negatives)
        return condition_text(condition, {each.index: each.variable for each in every})

    def text_of_test(self, test: EquivalenceTest) -> str:
        """An equivalence test as the query writes it, or the equalities from which it was found."""
        if not test.attributes:
            return f"[{test.attribute}]"
        every = sorted((*self.components, *self.negatives), key=lambda each: each.index)
        read = [(each.variable, test.attribute_of(each.index)) for each in every]
        return " = ".join(f"{variable}.{name}" for variable, name in read if name is not None)

    # ------------------------------------------------------------ what is kept of events

    def keep_measure(self, window: BoundWindow | None) -> str:
        """Keep what a window measures: the name under which the store has it."""
        name = "ts"
        if window is not None and window.kind is not WindowKind.TIME:
            name = "rank" if window.kind is WindowKind.PARTITION_EVENTS else "position"
        self.buffer.keep(name)
        return name

    def keep_test(self, test: EquivalenceTest) -> int:
        """Keep the codes of a test."""
        return self.buffer.keep_codes(self.dictionary.key((test,)))

    def layout(self, conditions: Iterable[Any]) -> Layout:
        """Where programs over sequences find the attributes that they read, which are kept."""
        needed = columns_needed(conditions)
        places = {need: self.buffer.keep_attribute(need[1]) for need in needed}
        positions = {component: self.level_of(component) for component, _ in needed}
        known = self.dictionary.type_dictionary
        return Layout(
            places,
            known.codes,
            self.dictionary.texts,
            positions,
            self.strangers(needed),
            known.stranger,
            known.mixes(name for _, name in needed),
        )

    def strangers(self, needed: Iterable[Need]) -> frozenset[Need]:
        """The attributes that an event of a type that is not known may have to do without."""
        lacks = self.dictionary.type_dictionary.strangers_lack
        return frozenset(n for n in needed if self.component(n[0]).types is None and lacks(n[1]))

    def values(
        self, test: EquivalenceTest, components: Iterable[BoundComponent]
    ) -> list[tuple[int, Condition]]:
        """What `[a = 'v']` asks of components, as conditions, with the component of each."""
        assert test.value is not None
        found: list[tuple[int, Condition]] = []
        for component in components:
            names = self.schema.type_names if component.types is None else component.types
            undeclared = frozenset(
                name for name in names or () if not self._declares(name, test.attribute)
            )
            if undeclared and undeclared == frozenset(names or ()):
                continue
            read = Reference(test.type, component.index, Part.EVENT, test.attribute, undeclared)
            found.append((component.index, Comparison("=", read, test.value)))
        return found

    def of_negative(self, negation: NegativeComponent) -> Iterator[tuple[int, Condition]]:
        """The conditions on a negative component's event alone, and the values that tests fix."""
        component = negation.component
        for conjunct in negation.conditions:
            if set(conjunct.references) <= {component.index}:
                yield component.index, conjunct.condition
        for test in negation.equivalences:
            if test.value is not None:
                yield from self.values(test, [component])

    def _declares(self, type_name: str, attribute: str) -> bool:
        declared = self.dictionary.type_dictionary.declare(attribute)
        return declared is None or bool(declared[self.dictionary.type_dictionary.codes[type_name]])


# ---------------------------------------------------------------- windows


def span_of(window: BoundWindow | None) -> int:
    """How far the measures of a first and a last event may lie apart."""
    if window is None:
        return ANY_SPAN
    return size_of(window) - (not window.inclusive)


def size_of(window: BoundWindow) -> int:
    """The window in raw units or events; the matcher takes no events where that is not known."""
    return min(window.size or 1, 2**63 - 1)


def bound_of(clock: Watermark, window: BoundWindow | None) -> int:
    """The least measure that the first event of a coming sequence can have."""
    if window is None or window.kind is WindowKind.PARTITION_EVENTS:
        return EARLIEST
    measure = clock.ts if window.kind is WindowKind.TIME else clock.position
    return max(measure - span_of(window), EARLIEST)


def measures_of(block: Block, window: BoundWindow | None) -> NDArray[np.int64]:
    """What a window measures of a block's events."""
    if window is None or window.kind is WindowKind.TIME:
        return block.ts
    if window.kind is WindowKind.EVENTS:
        return block.positions
    assert block.ranks is not None
    return block.ranks


def detach(room: NDArray[np.int64], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first numbers of each row, to which nothing is written any more, and room to go on."""
    found = room[..., :count]
    if 2 * count < room.shape[-1]:
        return found.copy(), room
    return found, np.empty_like(room)  # new room costs less than a copy
