"""Conditions and values over series: the words that nodes need, and how programs read them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from sase.binding.aggregates import UserAggregate
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
from sase.binding.parts import references
from sase.binding.types import Kind
from sase.engine.expressions.layout import LoweringError, ProgramLayout
from sase.engine.expressions.strings import RANK
from sase.engine.kernels.kleene import run_nodes as of
from sase.engine.kernels.sentinels import NOTHING

AT, BEFORE = (Part.CURRENT, Part.UP_TO_CURRENT), (Part.PREVIOUS, Part.BEFORE_CURRENT)
# For each function the kind of word that nodes keep, and the kind of value made from it.
FUNCTIONS = {
    "count": (of.NUMBERS, of.NUMBERS),
    "sum": (of.SUM, of.SUM),
    "avg": (of.SUM, of.AVERAGE),
    "min": (of.LEAST, of.LEAST),
    "max": (of.MOST, of.MOST),
    "stddev": (of.SPREAD, of.DEVIATION),
}
# The single event that a function of a range returns.
SINGLE = {
    ("first", Part.ALL): Part.FIRST,
    ("first", Part.BEFORE_CURRENT): Part.FIRST,
    ("first", Part.UP_TO_CURRENT): Part.FIRST,
    ("last", Part.ALL): Part.LAST,
    ("last", Part.BEFORE_CURRENT): Part.PREVIOUS,
    ("last", Part.UP_TO_CURRENT): Part.CURRENT,
}


@dataclass(frozen=True)
class Term:
    """A condition or a value, and the moment when it is decided.

    `own` is the component whose newest event is `i`; `judged` the negative component of the event
    under test. It ranges over all other series, or with repeated groups over `quantified`.
    `at_hand` is the component of the group with a current iteration: that of the newest event, or a
    `given` one; `own_variable` is the group's variable whose newest event is `i`. It is checked
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


@dataclass
class Fills:
    """The inputs of a program by source, and its loops; row 0 is noted for overflows."""

    term: Term
    levels: dict[int, int]
    words: NodeWords
    base: ProgramLayout
    rows: list[tuple[int, ...]] = field(default_factory=list)
    loops: list[tuple[int, ...]] = field(default_factory=list)
    size: int = 1
    _places: dict[tuple[object, ...], int] = field(default_factory=dict)
    _loops: dict[Hashable, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.term.term, Predicate):
            return
        found = list(references(self.term.term))
        for component in dict.fromkeys(each.component for each in found):
            parts = [each.part for each in found if each.component == component]
            if component in (self.term.own, self.term.judged):
                continue
            if any(part in (*AT, *BEFORE) for part in parts):
                is_earlier = any(part.is_earlier for part in parts)
                self.loops.append(self._over(self.levels[component], int(is_earlier)))
                self._loops[component] = len(self.loops)

    def _over(self, level: int, exempt: int) -> tuple[int, ...]:
        """The loop over the events of a level; `exempt` excludes the first."""
        return level, exempt

    def _loop(self, component: int) -> int:
        return 0 if component == self.term.own else self._loops[component]

    def is_judged(self, reference: EventReference) -> bool:
        """Whether a reference is to the event under test."""
        return reference.component == self.term.judged

    def is_bound_before(self, own: int, level: int) -> bool:
        """Whether an event of one level may be bound before one of another."""
        return own <= level

    def event(self, reference: EventReference) -> int:
        """The place of an event."""
        component, part = reference.component, reference.part
        if component == self.term.judged:
            return self._place((of.JUDGED, 0, 0, 0))
        if part in AT and component not in self._loops and component != self.term.own:
            part = Part.FIRST  # an optional component in a result
        if part in AT:
            return self._place((of.EVENT_AT, self._loop(component), 0, 0))
        if part in BEFORE:
            return self._place((of.EVENT_BEFORE, self._loop(component), 0, 0))
        kind = of.LAST_EVENT if part is Part.LAST else of.FIRST_EVENT
        word = self.words.word(self.levels[component], kind, None, 0, NOTHING)
        return self._place((of.KNOWN_EVENT, 0, word, 0))

    def value(self, aggregate: Aggregate, kinds: tuple[int, int], table: int = NOTHING) -> int:
        """The place of an aggregate's tag and bits."""
        component, name = aggregate.component, aggregate.attribute
        column = 0 if name is None else self.base.places[(component, name)]
        word = self.words.word(self._subject(aggregate), kinds[0], name, column, table)
        return self._value(aggregate, word, kinds[1])

    def defined(self, aggregate: Aggregate, user: UserAggregate) -> int:
        """The place of a user-defined aggregate's tag and bits."""
        component = aggregate.component
        columns = [self.base.places[(component, name)] for name in aggregate.attributes]
        subject = self._subject(aggregate)
        return self._value(aggregate, *self.words.defined_word(subject, aggregate, user, columns))

    def confidence(self) -> int:
        """The place of the tag and bits of a match's confidence."""
        return self._place((of.KNOWN_VALUE, 0, self.words.confidence_word(), of.LEAST), 2)

    def flag(self, aggregate: Aggregate, lacking: frozenset[int]) -> int:
        """The place of a flag: an event in the range lacks the attribute."""
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
        return self.levels[aggregate.component]

    def _value(self, aggregate: Aggregate, word: int, kind: int) -> int:
        """The place of a word's tag and bits, over the range of an aggregate."""
        if aggregate.part not in (*AT, *BEFORE):
            return self._place((of.KNOWN_VALUE, 0, word, kind), 2)
        source = of.VALUE_AT if aggregate.part in AT else of.VALUE_BEFORE
        return self._place((source, self._loop(aggregate.component), word, kind), 2)

    def _place(self, row: tuple[int, int, int, int], size: int = 1, back: int = 0) -> int:
        key = *row, back
        if key not in self._places:
            self._places[key] = self.size
            self.rows.append((*row, self.size, back))
            self.size += size
        return self._places[key]


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


@dataclass(frozen=True)
class SeriesLayout(ProgramLayout):
    """The layout of a term's program, whose inputs are filled for each evaluation."""

    fills: Fills | None = None

    def row(self, reference: EventReference) -> int:
        """The row of a referenced event."""
        assert self.fills is not None
        return self.fills.event(reference)

    def may_lack_event(self, reference: EventReference) -> bool:
        """Whether the event may be missing: a first, last or earlier one of a series."""
        assert self.fills is not None
        return not self.fills.is_judged(reference) and reference.part is not Part.EVENT

    def row_of_arithmetic(self, operation: Operation) -> int:
        """Return an event that always exists."""
        return 0

    def single(self, aggregate: Aggregate) -> EventReference | None:
        """The event that `first` or `last` returns."""
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
        """The place of an aggregate's tag and bits."""
        assert self.fills is not None
        if aggregate.attribute is None:
            return self.fills.value(aggregate, (of.COUNT, of.COUNT))
        user = self.aggregates.get(aggregate.function)
        if user is not None:
            return self.fills.defined(aggregate, user)
        if aggregate.function not in FUNCTIONS:
            raise LoweringError(f"there is no way to find {aggregate.function} of a series")
        is_ranked = aggregate.function in ("min", "max") and aggregate.type.kind is Kind.STRING
        table = self.interner.table(RANK) if is_ranked else NOTHING
        return self.fills.value(aggregate, FUNCTIONS[aggregate.function], table)

    def confidence(self) -> int:
        """The place of the tag and bits of a match's confidence."""
        assert self.fills is not None
        return self.fills.confidence()

    def flag(self, aggregate: Aggregate) -> int:
        """The place of a flag: an event in the range lacks the attribute."""
        assert self.fills is not None
        codes = [self.type_codes.get(name) for name in aggregate.undeclared_by or ()]
        if (aggregate.component, aggregate.attribute) in self.lacking:
            codes.extend(self.unlisted)
        return self.fills.flag(aggregate, frozenset(code for code in codes if code is not None))


def laid_out(
    terms: Sequence[Term],
    words: NodeWords,
    base: ProgramLayout,
    fills_of: Callable[[Term], Fills],
) -> tuple[list[SeriesLayout], list[Fills], NodeWords]:
    """Layouts and inputs for terms, and the words of nodes; complete after compilation."""
    fills = [fills_of(term) for term in terms]
    return [SeriesLayout.over(base, fills=each) for each in fills], fills, words
