"""Conditions and values over series: what nodes must know for them, and how programs read it."""

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
    """A condition or a value, and the moment at which it is decided.

    `own` is the component whose newest event its `i` means, `judged` the negative component
    whose event is given beside the match. Over all other series it ranges; of a pattern with
    repeated groups over what is `quantified`. `at_hand` is the group, by its component, of which an
    iteration is at hand: that of the newest event, or one that is `given`. `own_variable` is its
    variable whose newest event `i` means. It is checked once the `awaited` members of a set, as
    bits of states, have events.
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

    With a `group` what is meant is what it binds in the iteration at hand.
    """

    levels: tuple[int, ...]
    group: int | None = None


# What a fact is about: a level, or a variable that is bound at several states.
Subject: TypeAlias = int | Variable


@dataclass
class NodeWords:
    """The words of a node, behind those of the tests, by level, kind and attribute."""

    before: int
    # The words of a group that are new in each iteration: the group, and a range of a node.
    fresh: list[tuple[int, int, int]] = field(default_factory=list)
    changes: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    lacking: list[tuple[Subject, str, frozenset[int]]] = field(default_factory=list)
    # What users defined, by number, and the columns that it reads.
    defined: list[tuple[Aggregate, UserAggregate]] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    # Where the confidence of a match stands, if it is read.
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
        """The word for a fact about a level; its changes are recorded."""
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
        """The word of the confidence of a match, a tag and its bits, which no event changes."""
        if self.confidence == NOTHING:
            self.confidence = self.before + self._used
            self._used += words_of(of.LEAST)
        return self.confidence

    def defined_word(
        self, level: Subject, aggregate: Aggregate, user: UserAggregate, columns: Sequence[int]
    ) -> tuple[int, int]:
        """The word and the kind of what a user defined, over columns of a level."""
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
    """How many words the kind of a change, or of a value, has in a node."""
    if kind < 0:
        return 1
    return of.WORDS_OF_DEFINED if kind >= of.DEFINED else of.WORDS[of.MADE_OF.get(kind, kind)]


def words_read(row: Sequence[int]) -> range:
    """The words of a node that fill a place of a program."""
    source, _, word, kind, *_ = row
    if source == of.KNOWN_EVENT:
        return range(word, word + 1)
    if source in (of.KNOWN_VALUE, of.VALUE_AT, of.VALUE_BEFORE):
        return range(word, word + words_of(kind))
    return range(0)
