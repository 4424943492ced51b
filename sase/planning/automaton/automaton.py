"""The automaton of a pattern (NFAb): states, and the edges by which an event is bound.

Sequences, series, sets and repeated groups are shapes of the same value. For `SEQ(A a, B+ b[], C
c)` under skip till next match:

    START ──► a ──► b ⟲ ──► c ──► END

It describes one branch of a pattern, independent of the way in which runs are stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from sase.binding.bound import BoundComponent, Condition, Quantified, When
from sase.cached_property import cached_property

START, END = -1, -2


class Bind(Enum):
    """How an edge binds an event to its component."""

    BEGIN = "begin"  # the only event, or the first one of a series
    TAKE = "take"  # a further event of a series


class Waits(Enum):
    """Whether a run that can bind an event by an edge must do so under skip till next match."""

    ALWAYS = "always"  # a further event, another member of the current set, another iteration
    WHEN_FULL = "when full"  # the next element, if the run can bind nothing more where it is
    NEVER = "never"  # after an optional element that is skipped


class Ignore(Enum):
    """Which events a run may ignore; an event that it can neither ignore nor bind ends it."""

    ANY = "any event"
    UNLESS_WAITED = "an event that it does not wait for"
    UNLESS_MOVED = "an event with which it cannot move"
    OTHER_PARTITION = "an event of another partition"
    NEVER = "no event"


class At(Enum):
    """The move of a run after which a condition is checked."""

    BEGIN = "begun"
    TAKE = "taken"
    FINISH = "finished"
    LEAVE = "left"


class Moment(NamedTuple):
    """When a condition is checked: at a state; for `LEAVE` at a group.

    A set is finished at its first state.
    """

    at: At
    number: int


class CountRange(NamedTuple):
    """The least and the greatest number of events or iterations; None is no bound."""

    least: int
    most: int | None

    @property
    def cap(self) -> int:
        """The number from which on all counts have the same possible continuations."""
        return max(self.least, 1) if self.most is None else self.most

    def admits(self, count: int) -> bool:
        """Whether a count lies within both bounds."""
        return self.least <= count and self.has_room(count)

    def has_room(self, count: int) -> bool:
        """Whether a count does not exceed the greatest one."""
        return self.most is None or count <= self.most


@dataclass(frozen=True, slots=True)
class PatternState:
    """A state in which an event is bound: of a component, or of an element of an iteration.

    `number` is its bit among the states at which an event may begin or be taken. `level` is the
    index of its component in the pattern. In a group, `branch`, `place` and `slot` are the branch,
    the index among its elements and the number of the variable. `rank` is the rank of its variable
    by first occurrence.
    """

    number: int
    component: BoundComponent
    level: int
    element: int
    count: CountRange
    rank: int
    branch: int = 0
    place: int = 0
    slot: int = 0

    @property
    def is_series(self) -> bool:
        """Whether it may bind further events."""
        return not self.component.is_single


@dataclass(frozen=True, slots=True)
class PatternElement:
    """A part that is entered and left as a whole: a component, a set, or a repeated group."""

    states: tuple[int, ...]
    group: int | None = None


@dataclass(frozen=True, slots=True)
class PatternGroup:
    """A repeated group: the bounds on its iterations, and the states of each of its branches."""

    variable: str
    element: int
    iterations: CountRange
    branches: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Edge:
    """A move of a run from a state, or `START`, to the state of the event that it binds, or `END`.

    An edge that `leaves` its source needs the least number of events there: in the component, or in
    every member of the set. If it has `iterations`, the number of the group's iterations must be in
    that range. The conditions on `finished` elements, including skipped ones, must hold, in order.
    `passed` are the optional elements skipped at the start of an iteration that the edge `begins`.
    An edge `inside` a set leads from member to member.
    """

    source: int
    target: int
    bind: Bind = Bind.BEGIN
    waits: Waits = Waits.WHEN_FULL
    inside: bool = False
    leaves: bool = False
    begins: bool = False
    iterations: tuple[int, CountRange] | None = None
    finished: tuple[Moment, ...] = ()
    passed: tuple[Moment, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """A condition at one moment; a conjunct may have several.

    `own` is the component with the newest event that `i` refers to; in an iteration of `group` it
    is `variable`. Both are indexes in the pattern. The condition is checked in some `iterations`,
    if the `awaited` states of a set have events by then, and ranges over the `quantified` series
    and groups. A condition on an iteration `is_single` if it is on one event.
    """

    condition: Condition
    moment: Moment
    own: int | None = None
    quantified: tuple[Quantified, ...] = ()
    awaited: tuple[int, ...] = ()
    group: int | None = None
    variable: int | None = None
    iterations: When = When.EVERY
    is_single: bool = False


@dataclass(frozen=True)
class PatternAutomaton:
    """The automaton of one branch of a pattern.

    Edges are ordered by source, with those of `START` last, and for a source with those to `END`
    last.
    """

    states: tuple[PatternState, ...]
    elements: tuple[PatternElement, ...]
    groups: tuple[PatternGroup, ...]
    edges: tuple[Edge, ...]
    ignore: Ignore
    checks: tuple[Check, ...] = ()

    @property
    def is_chain(self) -> bool:
        """Whether it has neither sets nor groups: then events are bound in the order of states."""
        return not self.groups and all(each.component.set_of is None for each in self.states)

    def members(self, state: int) -> tuple[int, ...]:
        """The states of a state's component or set."""
        element = self.elements[self.states[state].element]
        return element.states if element.group is None else (state,)

    def is_of_set(self, state: int) -> bool:
        """Whether a state is that of a member of a set."""
        return len(self.members(state)) > 1

    def group_of(self, state: int) -> PatternGroup | None:
        """The group that a state belongs to."""
        number = self.elements[self.states[state].element].group
        return None if number is None else self.groups[number]

    def repeats(self, edge: Edge) -> bool:
        """Whether an edge begins another iteration of the group of its source."""
        if not edge.begins or edge.source == START:
            return False
        return self.states[edge.source].element == self.states[edge.target].element

    def after(self, source: int) -> tuple[Edge, ...]:
        """The edges from a state, or from `START`."""
        return self._after.get(source, ())

    @cached_property
    def _after(self) -> dict[int, tuple[Edge, ...]]:
        found: dict[int, tuple[Edge, ...]] = {}
        for edge in self.edges:
            found[edge.source] = (*found.get(edge.source, ()), edge)
        return found
