"""Conditions and values over series: the words that nodes need, and how programs read them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from sase.binding.aggregates import UserAggregate
from sase.binding.bound import (
    Aggregate,
    Condition,
    Expression,
    Part,
    Quantified,
)
from sase.engine.kernels.kleene import run_nodes as of
from sase.engine.kernels.sentinels import NOTHING

AT, BEFORE = (Part.CURRENT, Part.UP_TO_CURRENT), (Part.PREVIOUS, Part.BEFORE_CURRENT)


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
