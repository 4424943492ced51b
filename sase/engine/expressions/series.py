"""Conditions and values over series: the words that nodes need, and how programs read them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from sase.binding.bound import (
    Aggregate,
    Condition,
    Expression,
    Operation,
    Part,
    Predicate,
    Quantified,
)
from sase.binding.bound import Reference as EventReference
from sase.binding.conditions.parts import ranged_over, references
from sase.binding.types import Kind
from sase.binding.values.aggregates import UserAggregate
from sase.binding.values.functions import AGGREGATES
from sase.engine.expressions.layout import LoweringError, ProgramLayout
from sase.engine.expressions.strings import RANK
from sase.engine.kernels.kleene import predicates
from sase.engine.kernels.kleene import run_nodes as of
from sase.engine.kernels.runs.graph import FIRST_KNOWN, OF_FIRST_ITERATION
from sase.engine.kernels.sentinels import NOTHING

# ---------------------------------------------------------------- series

AT, BEFORE = (Part.CURRENT, Part.UP_TO_CURRENT), (Part.PREVIOUS, Part.BEFORE_CURRENT)


@dataclass(frozen=True)
class Term:
    """A condition or a value, and the moment when it is decided.

    `own` is the component with the newest event as `i`; `judged` the negative component of the
    event under test. It ranges over all other series, or with repeated groups over `quantified`.
    `at_hand` is the component of the group with a current iteration: that of the newest event, or a
    `given` one; `own_variable` is the group's variable with the newest event as `i`. It is checked
    once the `awaited` members of a set, as bits of states, have events.
    """

    term: Condition | Expression
    moment: int = 0
    own: int | None = None
    judged: int | None = None
    quantified: tuple[Quantified, ...] = ()
    at_hand: int | None = None
    own_variable: int | None = None
    given: bool = False
    awaited: int = 0


@dataclass(frozen=True)
class Variable:
    """A variable of a repeated group: the states at which it is bound.

    With a `group`, it means its events in the current iteration.
    """

    levels: tuple[int, ...]
    group: int | None = None


# The subject of a word: a level, or a variable with several states.
Subject: TypeAlias = int | Variable


@dataclass
class NodeWords:
    """The words of a node after those of tests, by level, kind and attribute."""

    before: int
    # Words of a group that restart in each iteration: the group, and a range in the node.
    fresh: list[tuple[int, int, int]] = field(default_factory=list)
    changes: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    lacking: list[tuple[Subject, str, frozenset[int]]] = field(default_factory=list)
    # User-defined aggregates by number, and the columns that they read.
    defined: list[tuple[Aggregate, UserAggregate]] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    # The word of a match's confidence, if it is read.
    confidence: int = NOTHING
    _numbers: dict[Hashable, int] = field(default_factory=dict)
    _places: dict[tuple[Hashable, int, str | None], int] = field(default_factory=dict)
    _used: int = 0

    @property
    def width(self) -> int:
        """The number of words."""
        return self.before + self._used

    def word(
        self, level: Subject, kind: int, attribute: str | None, column: int, table: int
    ) -> int:
        """Return the word for a fact on a level, and record its changes."""
        key = level, kind, attribute
        if key not in self._places:
            self._places[key] = self.before + self._used
            subject = level if isinstance(level, Variable) else Variable((level,))
            for each in subject.levels:
                self.changes.append((each, kind, self._places[key], column, table))
            self._used += words_of(kind)
            if subject.group is not None:
                begin, end = of.HEAD + self._places[key], of.HEAD + self.width
                self.fresh.append((subject.group, begin, end))
        return self._places[key]

    def confidence_word(self) -> int:
        """Return the words of a match's confidence (tag and bits), which no event changes."""
        if self.confidence == NOTHING:
            self.confidence = self.before + self._used
            self._used += words_of(of.LEAST)
        return self.confidence

    def defined_word(
        self, level: Subject, aggregate: Aggregate, user: UserAggregate, columns: Sequence[int]
    ) -> tuple[int, int]:
        """Return the word and kind of a user-defined aggregate over columns of a level."""
        key = level, aggregate.function, tuple(columns)
        if key not in self._numbers:
            self._numbers[key] = len(self.defined)
            self.defined.append((aggregate, user))
            kind, first = of.DEFINED + self._numbers[key], len(self.columns)
            self.columns += columns
            self.word(level, kind, None, first, len(columns))
        kind = of.DEFINED + self._numbers[key]
        return self._places[(level, kind, None)], kind


def words_of(kind: int) -> int:
    """The number of words of a kind of change or value."""
    if kind < 0:
        return 1
    return of.WORDS_OF_DEFINED if kind >= of.DEFINED else of.WORDS[of.MADE_OF.get(kind, kind)]


def words_read(row: Sequence[int]) -> range:
    """The words of a node that a program input reads."""
    source, _, word, kind, *_ = row
    if source == of.KNOWN_EVENT:
        return range(word, word + 1)
    if source in (of.KNOWN_VALUE, of.VALUE_AT, of.VALUE_BEFORE):
        return range(word, word + words_of(kind))
    return range(0)


# ---------------------------------------------------------------- fills

# The single event that a function of a range means.
SINGLE = {
    ("first", Part.ALL): Part.FIRST,
    ("first", Part.BEFORE_CURRENT): Part.FIRST,
    ("first", Part.UP_TO_CURRENT): Part.FIRST,
    ("last", Part.ALL): Part.LAST,
    ("last", Part.BEFORE_CURRENT): Part.PREVIOUS,
    ("last", Part.UP_TO_CURRENT): Part.CURRENT,
}


class SetWords(NamedTuple):
    """By level the word with the node before the set, and the element; and the word `before`.

    That word has the node before; it is counted after the head of a node.
    """

    entries: Mapping[int, int]
    elements: Mapping[int, int]
    before: int


NO_SETS = SetWords({}, {}, 0)


@dataclass(frozen=True)
class GroupPlace:
    """The words of a group in nodes: its number, its last state, and the words themselves.

    `slots` are the states of each variable, `branches` those of each branch. A first event at the
    `beginning` states always begins an iteration, and at the `following` ones never does.
    """

    number: int
    last: int
    count_at: int
    before_at: int
    slots: tuple[tuple[int, ...], ...]
    branches: tuple[tuple[int, ...], ...]
    beginning: frozenset[int]
    following: frozenset[int]


@dataclass
class Fills:
    """The rows of a program by source, and its loops, over events, iterations and both.

    Row 0 is noted if arithmetic overflows. For a member of a set the previous node has the last
    event of a series, whichever member was bound since.
    """

    term: Term
    levels: dict[int, int]
    words: NodeWords
    base: ProgramLayout
    groups: Mapping[int, GroupPlace] = field(default_factory=dict)
    sets: SetWords = NO_SETS
    rows: list[tuple[int, ...]] = field(default_factory=list)
    loops: list[tuple[int, ...]] = field(default_factory=list)
    size: int = 1
    _places: dict[tuple[object, ...], int] = field(default_factory=dict)
    _loops: dict[tuple[int, int | None], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        term = self.term
        if term.given and term.at_hand is not None:
            self._add((term.at_hand, None), (0, 0, predicates.GIVEN, 0, 0, 0, 0))
        ranges = term.quantified if self.groups else self._ranges()
        for each in sorted(ranges, key=lambda each: each.inner is not None):
            self._add((each.component, each.inner), self._row_of(each))

    def _ranges(self) -> Iterator[Quantified]:
        """The series that a condition ranges over, except that of the newest event."""
        if not isinstance(self.term.term, Predicate):
            return
        for component, but_first in ranged_over(references(self.term.term)).items():
            if component not in (self.term.own, self.term.judged):
                yield Quantified(component, but_first)

    def _row_of(self, each: Quantified) -> tuple[int, ...]:
        exempt, place = int(each.but_first), self.groups.get(each.component)
        if place is None:
            return self._over(self.levels[each.component], exempt)
        words = place.before_at, place.count_at
        if each.inner is None:
            branches = range(len(place.branches)) if each.branches is None else each.branches
            states = _bits(state for branch in branches for state in place.branches[branch])
            return place.last, exempt, predicates.ITERATIONS, 0, states, *words
        within = self._loops.get((each.component, None), 0)
        states = _bits(place.slots[each.inner])
        return 0, exempt, predicates.EVENTS, within, states, *words

    def _over(self, level: int, exempt: int) -> tuple[int, ...]:
        """The loop over a series; in a set other events may lie between those of the series."""
        if level not in self.sets.entries:
            return level, exempt, predicates.SERIES, 0, 0, 0, 0
        return level, exempt, predicates.EVENTS, 0, 1 << level, self.sets.entries[level], 0

    def _add(self, of_what: tuple[int, int | None], row: tuple[int, ...]) -> None:
        self.loops.append(row)
        self._loops[of_what] = len(self.loops)

    def is_bound_before(self, own: int, level: int) -> bool:
        """Whether an event of a level may be bound before one of another."""
        elements = self.sets.elements
        return own <= level or elements.get(own, own) == elements.get(level, level)

    # ------------------------------------------------------------ events

    def is_judged(self, reference: EventReference) -> bool:
        """Whether it refers to the event that is judged."""
        inner = reference.inner
        is_it = inner is None or self.term.own_variable == inner.variable
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
            if inner.part in (*AT, *BEFORE) and self._is_ranged(component, inner.variable):
                source = of.EVENT_AT if inner.part in AT else of.EVENT_BEFORE
                return self._place((source, self._series(component, inner.variable), 0, 0))
            is_first = inner.part is not Part.LAST
            kind = FIRST_KNOWN if is_first else of.LAST_EVENT
            word = self.words.word(own, kind, None, 0, NOTHING)
            return self._place((of.KNOWN_EVENT, cursor, word, 0), back=back)
        if part is Part.FIRST:
            kind = OF_FIRST_ITERATION
            word = self.words.word(Variable(states), kind, None, place.count_at, NOTHING)
            return self._place((of.KNOWN_EVENT, 0, word, 0))
        cursor, back = self._iteration(component, part)
        kind = FIRST_KNOWN if inner.part is Part.FIRST else of.LAST_EVENT
        word = self.words.word(Variable(states), kind, None, 0, NOTHING)
        return self._place((of.KNOWN_EVENT, cursor, word, 0), back=back)

    def _of_component(self, component: int, part: Part) -> int:
        """The place of an event of a component that is no group."""
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
        """The loop over a component that is no group; 0 for the newest event."""
        return 0 if component == self.term.own else self._loops[(component, None)]

    def _is_ranged(self, component: int, variable: int) -> bool:
        """Whether a series of an iteration has a current event: the newest, or that of a loop."""
        return self._is_own(component, variable) or (component, variable) in self._loops

    def _is_own(self, component: int, variable: int) -> bool:
        term = self.term
        is_of_it = term.at_hand == component
        return is_of_it and self.term.own_variable == variable and term.judged is None

    def _series(self, component: int, variable: int) -> int:
        """The loop at the event of a series; 0 for the newest event."""
        return 0 if self._is_own(component, variable) else self._loops[(component, variable)]

    def _iteration(self, component: int, part: Part) -> tuple[int, int]:
        """The loop at an iteration, 0 for the newest node, and the word that leads back from it."""
        if part in (Part.LAST, Part.ALL):
            return 0, 0
        cursor = self._loops.get((component, None), 0)
        is_earlier = part in BEFORE
        return cursor, self.groups[component].before_at - of.HEAD if is_earlier else 0

    # ------------------------------------------------------------ values

    def value(self, aggregate: Aggregate, kind: int, table: int = NOTHING) -> int:
        """The place of tag and bits of an aggregate."""
        component, name = aggregate.component, aggregate.attribute
        if component in self.groups and aggregate.inner is None:
            return self._value(aggregate, self.groups[component].count_at - of.HEAD, of.COUNT)
        column = 0 if name is None else self.base.places[(component, name)]
        kept = of.MADE_OF.get(kind, kind)
        word = self.words.word(self._subject(aggregate), kept, name, column, table)
        return self._value(aggregate, word, kind)

    def defined(self, aggregate: Aggregate, user: UserAggregate) -> int:
        """The place of tag and bits of a user-defined aggregate."""
        component = aggregate.component
        columns = [self.base.places[(component, name)] for name in aggregate.attributes]
        subject = self._subject(aggregate)
        return self._value(aggregate, *self.words.defined_word(subject, aggregate, user, columns))

    def confidence(self) -> int:
        """The place of tag and bits of the confidence of a match."""
        return self._place((of.KNOWN_VALUE, 0, self.words.confidence_word(), of.LEAST), 2)

    def flag(self, aggregate: Aggregate, lacking: frozenset[int]) -> int:
        """The place of the flag: an event of the range lacks the attribute."""
        name, level = aggregate.attribute, self._subject(aggregate)
        assert name is not None
        known = [each[:2] for each in self.words.lacking]
        if (level, name) not in known:
            self.words.lacking.append((level, name, lacking))
            known.append((level, name))
        row = known.index((level, name))
        word = self.words.word(level, of.LACKS, name, row, NOTHING)
        return self._value(aggregate, word, of.LACKS) + 1

    def _subject(self, aggregate: Aggregate) -> Subject:
        inner = aggregate.inner
        if inner is None:
            return self.levels[aggregate.component]
        place = self.groups[aggregate.component]
        is_at_hand = aggregate.part is Part.CURRENT
        return Variable(place.slots[inner.variable], place.number if is_at_hand else None)

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

    def _place(self, row: tuple[int, int, int, int], size: int = 1, back: int = 0) -> int:
        key = *row, back
        if key not in self._places:
            self._places[key] = self.size
            self.rows.append((*row, self.size, back))
            self.size += size
        return self._places[key]


@dataclass(frozen=True)
class SeriesLayout(ProgramLayout):
    """The places that the program of a term reads; they are filled before each evaluation."""

    fills: Fills | None = None

    def row(self, reference: EventReference) -> int:
        """The row of a referenced event."""
        assert self.fills is not None
        return self.fills.event(reference)

    def may_lack_event(self, reference: EventReference) -> bool:
        """Whether there may be no such event: a first, last or earlier one of a series."""
        assert self.fills is not None
        return not self.fills.is_judged(reference) and reference.part is not Part.EVENT

    def row_of_arithmetic(self, operation: Operation) -> int:
        """An event that exists for certain."""
        return 0

    def single(self, aggregate: Aggregate) -> EventReference | None:
        """The event that `first` or `last` means."""
        part, inner = SINGLE.get((aggregate.function, aggregate.part)), aggregate.inner
        if inner is not None and aggregate.part is Part.CURRENT:
            of_series = SINGLE.get((aggregate.function, inner.part))
            part, inner = aggregate.part, of_series and replace(inner, part=of_series)
        elif inner is not None:
            ends = {"first": Part.FIRST, "last": Part.LAST}
            of_all = ends.get(aggregate.function)
            part, inner = aggregate.part, of_all and replace(inner, part=of_all)
        if part is None or aggregate.attribute is None or (aggregate.inner and not inner):
            return None
        attribute, every = aggregate.attribute, frozenset[str]()
        return EventReference(
            aggregate.type, aggregate.component, part, attribute, every, inner or None
        )

    def value(self, aggregate: Aggregate) -> int:
        """The place of tag and bits of an aggregate."""
        assert self.fills is not None
        if aggregate.attribute is None:
            return self.fills.value(aggregate, of.COUNT)
        user = self.aggregates.get(aggregate.function)
        if user is not None:
            return self.fills.defined(aggregate, user)
        made = AGGREGATES[aggregate.function].value
        if made is None:
            raise LoweringError(f"there is no way to find {aggregate.function} of a series")
        is_ranked = aggregate.function in ("min", "max") and aggregate.type.kind is Kind.STRING
        table = self.interner.table(RANK) if is_ranked else NOTHING
        return self.fills.value(aggregate, getattr(of, made), table)

    def confidence(self) -> int:
        """The place of tag and bits of the confidence of a match."""
        assert self.fills is not None
        return self.fills.confidence()

    def flag(self, aggregate: Aggregate) -> int:
        """The place of the flag: an event in the range lacks the attribute."""
        assert self.fills is not None
        codes = [self.type_codes.get(name) for name in aggregate.undeclared_by or ()]
        if (aggregate.component, aggregate.attribute) in self.lacking:
            codes.extend(self.unlisted)
        return self.fills.flag(aggregate, frozenset(code for code in codes if code is not None))


def _bits(states: object) -> int:
    return sum(1 << state for state in set(states))  # type: ignore[call-overload]
