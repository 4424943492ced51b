"""The contract of operators with the pipeline, and the context in which they are opened."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar

from sase.binding import Schema
from sase.binding.bound import (
    Aggregate,
    BoundComponent,
    BoundWindow,
    Condition,
    EquivalenceTest,
    Operation,
    WindowKind,
)
from sase.binding.values.aggregates import UserAggregate
from sase.binding.values.text import condition_text
from sase.engine.blocks.block import Block, Watermark
from sase.engine.blocks.dictionary import PlanDictionary
from sase.engine.blocks.event_buffer import EventBuffer
from sase.engine.blocks.shared_conditions import AskedCondition, ConditionsOf
from sase.engine.columns.arrays import Numbers
from sase.engine.expressions import Need, ProgramLayout, columns_needed
from sase.engine.kernels.expressions.program import RAISED_AT, RAISED_WORDS, Stack
from sase.engine.kernels.sentinels import ANY_SPAN, EARLIEST
from sase.engine.resources import Check, no_check
from sase.engine.snapshots.saved_state import Saved
from sase.engine.stopwatch import Stopwatch
from sase.planning.engine_plan import Options
from sase.planning.plan.negatives import NegativeElement

# Event numbers: a row for each level, a column for each sequence. If components bind any number of
# events, `Bindings` are used instead.
Sequences: TypeAlias = Numbers
Counters: TypeAlias = dict[str, Any]
Checkpoint: TypeAlias = dict[str, Any]
T = TypeVar("T")


class OperatorState(Protocol):
    """A running operator.

    The pipeline pushes each block through every operator, with the sequences from the operator
    below, and then advances the watermark. An operator neither keeps nor changes arrays that it has
    yielded; they are valid until the next step. The topmost operator yields results instead of
    sequences.
    """

    def push(self, block: Block, below: Iterator[Any]) -> Iterator[Any]:
        """Take a block; yield sequences, those from below and its own, in the order of results."""

    def advance(self, watermark: Watermark, below: Iterator[Any]) -> Iterator[Any]:
        """Advance the watermark: yield finalized sequences, evict state."""

    def horizon(self) -> int | None:
        """The oldest live event; None without one."""

    def counters(self) -> Counters:
        """Sequences in and out, and the size of the state: see docs/explain-counters.md."""

    def checkpoint(self) -> Checkpoint:
        """The state as arrays and plain values."""

    def restore(self, saved: Saved) -> None:
        """Continue from a checkpoint; each value is checked when it is taken."""


class HasTimers(ABC):
    """An operator that holds sequences back until a time."""

    @abstractmethod
    def next_timer(self) -> int | None:
        """The time of the first timer; None without one."""


class HasBranches(ABC):
    """An operator with the plans of branches below it, each with operators of its own."""

    @abstractmethod
    def counted(self) -> Iterator[Counters]:
        """The counters of each operator of all branches."""

    @abstractmethod
    def time_by(self, stopwatch: Stopwatch) -> None:
        """Measure the time of the operators of all branches, as further parts in the same order."""

    @abstractmethod
    def leave_out(self, types: Collection[str]) -> None:
        """Search no branch that needs a missing type; all later events are of these types."""


@dataclass
class OverflowCounts:
    """Counts by operation how often arithmetic left int64, with an event where it did.

    It also counts how often a user's aggregate raised. The notes of that begin `at` a place. In a
    branch of a pattern with choices components have `names` of their own.
    """

    arithmetic: Mapping[int, Operation | Aggregate]
    stack: Stack
    counts: dict[Operation | Aggregate, list[int]] = field(default_factory=dict)
    at: int = 0
    names: Mapping[int, str] | None = None

    def collect(self, place_of: Callable[[int], int]) -> None:
        """Take the notes of the last evaluations; `place_of` maps their rows to events."""
        notes = self.stack.notes[self.at :]
        if notes[0]:
            operation = self.arithmetic[int(notes[1])]
            seen = self.counts.setdefault(operation, [0, place_of(int(notes[2]))])
            seen[0] += int(notes[0])
            notes[:3] = 0

    def merge(self, other: OverflowCounts, positions: Sequences | None) -> None:
        """Add the counts of another run; its events have these positions, or their own."""
        for operation, (count, place) in other.counts.items():
            place = place if positions is None else int(positions[place])
            seen = self.counts.setdefault(operation, [0, place])
            seen[:] = [seen[0] + count, min(seen[1], place)]

    def checkpoint(self) -> list[list[int]]:
        """The number, the count and the first place of each operation."""
        numbers = {operation: number for number, operation in self.arithmetic.items()}
        return [[numbers[operation], *counted] for operation, counted in self.counts.items()]

    def restore(self, saved: Saved) -> None:
        """Continue from a checkpoint."""
        self.counts = {}
        for part in saved.parts():
            part.check(len(part.parts()) == 3, "this is no operation with its count and a place")
            number = part.part(0).number()
            part.check(number in self.arithmetic, f"there is no operation {number}")
            counted = [part.part(1).count(), part.part(2).number(0, saved.live.positions - 1)]
            self.counts[self.arithmetic[number]] = counted


class MatchForm(Protocol):
    """The form of the matches of a plan."""

    @property
    def detects(self) -> bool:
        """Whether the time of detection of each match is stored."""

    def none(self) -> Any:
        """An empty set of matches."""

    def checkpoint(self, bindings: Any) -> Checkpoint:
        """The arrays of matches."""

    def restored(self, saved: Saved) -> Any:
        """Matches from a checkpoint."""


@dataclass
class Context:
    """The parts that the operators of a run share: plan, event buffer and dictionaries.

    Positive components are numbered by level; every component has a bit in the states of a block.
    """

    schema: Schema
    options: Options
    components: tuple[BoundComponent, ...]
    negatives: tuple[BoundComponent, ...]
    dictionary: PlanDictionary
    buffer: EventBuffer
    overflows: list[OverflowCounts] = field(default_factory=list)
    # Values that depend only on the plan, shared by all of its runs.
    cache: dict[Hashable, Any] = field(default_factory=dict)
    check: Check = no_check
    # The largest kernels of the operators, which a run compiles ahead.
    kernels: list[Any] = field(default_factory=list)
    # The form of matches; None for sequences.
    form: MatchForm | None = None
    # The aggregates that users added, by name.
    aggregates: Mapping[str, UserAggregate] = field(default_factory=dict)
    # In a script: the conditions on one event that other statements may evaluate, too.
    conditions: ConditionsOf | None = None
    # In a branch of a pattern with choices: the variables of its components by their index.
    names: Mapping[int, str] | None = None

    def cached(self, key: Hashable, make: Callable[[], T]) -> T:
        """Make a value once for all runs of the plan; with text codes each run makes its own."""
        known: T | None = self.cache.get(key)
        if known is not None:
            return known
        before = self.dictionary.texts.size
        found = make()
        if self.dictionary.texts.size == before:
            self.cache[key] = found
        return found

    @property
    def levels(self) -> int:
        """The number of positive components."""
        return len(self.components)

    @property
    def is_alone(self) -> bool:
        """Whether there is one component; its event agrees with itself, NULL or not."""
        return len(self.components) + len(self.negatives) == 1

    def level_of(self, component: int) -> int:
        """The level of a positive component; negative ones come after the last."""
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
        """Count overflows of some arithmetic for the report."""
        overflows = OverflowCounts(arithmetic, stack, names=self.names)
        if arithmetic:
            self.overflows.append(overflows)
        return overflows

    def watch_aggregates(self, aggregates: Iterable[Aggregate], stack: Stack) -> None:
        """Count for the report how often each aggregate of users raises."""
        for number, aggregate in enumerate(aggregates):
            at = RAISED_AT + RAISED_WORDS * number
            counts = OverflowCounts({0: aggregate}, stack, at=at, names=self.names)
            self.overflows.append(counts)

    def text_of(self, condition: Condition) -> str:
        """A condition as the query writes it."""
        every = (*self.components, *self.negatives)
        return condition_text(condition, {each.index: each.variable for each in every})

    def text_of_test(self, test: EquivalenceTest) -> str:
        """An equivalence test as written, or the equalities from which it was inferred."""
        if not test.attributes:
            return f"[{test.attribute}]"
        every = sorted((*self.components, *self.negatives), key=lambda each: each.index)
        read = [(each.variable, test.attribute_of(each.index)) for each in every]
        return " = ".join(f"{variable}.{name}" for variable, name in read if name is not None)

    # ------------------------------------------------------------ columns of the event buffer

    def keep_measure(self, window: BoundWindow | None) -> str:
        """Keep the measure of a window; return its name in the event buffer."""
        name = "ts"
        if window is not None and window.kind is not WindowKind.TIME:
            name = "rank" if window.kind is WindowKind.PARTITION_EVENTS else "position"
        self.buffer.keep(name)
        return name

    def keep_test(self, test: EquivalenceTest) -> int:
        """Keep the codes of a test; return their row."""
        return self.buffer.keep_codes(self.dictionary.key((test,)))

    def layout(self, conditions: Iterable[Any]) -> ProgramLayout:
        """Keep the attributes of conditions; return where programs find them."""
        needed = columns_needed(conditions)
        places = {need: self.buffer.keep_attribute(need[1]) for need in needed}
        positions = {component: self.level_of(component) for component, _ in needed}
        known = self.dictionary.type_dictionary
        return ProgramLayout(
            places,
            known.codes,
            self.dictionary.texts,
            positions,
            self.lacking(needed),
            known.unlisted,
            known.mixes(name for _, name in needed),
            self.aggregates,
        )

    def asked(self, component: int, condition: Condition) -> AskedCondition | None:
        """The shared evaluation of a condition on one event, if there is one."""
        if self.conditions is None or self.lacking(columns_needed([condition])):
            return None
        return self.conditions.ask(self.component(component), condition)

    def lacking(self, needed: Iterable[Need]) -> frozenset[Need]:
        """The attributes that an event of a type outside the schema may lack."""
        lacks = self.dictionary.type_dictionary.unknown_types_lack
        return frozenset(n for n in needed if self.component(n[0]).types is None and lacks(n[1]))

    def values(
        self, test: EquivalenceTest, components: Iterable[BoundComponent]
    ) -> list[tuple[int, Condition]]:
        """The conditions that `[a = 'v']` sets on components, each with its component."""
        return list(self.dictionary.type_dictionary.values(test, components))

    def negative_conditions(self, element: NegativeElement) -> Iterator[tuple[int, Condition]]:
        """The conditions on an event of a negative element alone, fixed values included."""
        for conjunct in element.alone:
            yield (conjunct.references or (element.components[0].index,))[0], conjunct.condition
        for test in element.equivalences:
            if test.value is not None:
                yield from self.values(test, element.components)


# ---------------------------------------------------------------- windows


def span_of(window: BoundWindow | None) -> int:
    """The greatest distance between the measures of a first and a last event."""
    if window is None:
        return ANY_SPAN
    return size_of(window) - (not window.inclusive)


def size_of(window: BoundWindow) -> int:
    """The window in raw units or events; a plan with an unknown window does not run."""
    return min(window.size or 1, 2**63 - 1)


def bound_of(watermark: Watermark, window: BoundWindow | None) -> int:
    """The least measure of the first event of any later sequence."""
    if window is None:
        return EARLIEST
    return bound_within(watermark.ts, watermark.position, window.kind, span_of(window))


def bound_within(time: int, position: int, kind: WindowKind, span: int) -> int:
    """The least measure of the first event of any sequence that ends at this time or position."""
    if kind is WindowKind.PARTITION_EVENTS:
        return EARLIEST
    bound = (time if kind is WindowKind.TIME else position) - span
    return bound if bound > EARLIEST else EARLIEST


def measures_of(block: Block, window: BoundWindow | None) -> Numbers:
    """The measures of a block's events under a window."""
    if window is None or window.kind is WindowKind.TIME:
        return block.ts
    if window.kind is WindowKind.EVENTS:
        return block.positions
    assert block.ranks is not None
    return block.ranks
