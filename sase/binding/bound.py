"""A query after binding: names resolved, types known, conditions in one normal form and sorted.

These are plain frozen values, which planning reads and rewrites and the engine lowers to kernels.
Components are named by their index in the pattern, negative ones counted.
"""

# long because: it is the one list of what a bound query can say, and the values hold each other.

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from itertools import groupby
from typing import TypeAlias

from sase.binding.types import DataType
from sase.errors import Diagnostic
from sase.lang.ast import ComparisonOperator, StrategyName
from sase.source import NOWHERE, Span

# ---------------------------------------------------------------- values


class Part(Enum):
    """Which event of a component a reference means; the value is its rank as an identifier."""

    EVENT = ("event", 1)
    FIRST = ("1", 1)
    CURRENT = ("i", 2)
    PREVIOUS = ("i-1", 2)
    BEFORE_CURRENT = ("..i-1", 2)
    UP_TO_CURRENT = ("..i", 2)
    LAST = ("len", 3)
    ALL = ("", 3)

    # Each member is there once: to hash by identity is many times as fast as by name.
    __hash__ = object.__hash__

    @property
    def rank(self) -> int:
        """Its place in `c[1] < c[i] < c as a whole` (docs/semantics.md, Runs)."""
        return self.value[1]

    @property
    def is_earlier(self) -> bool:
        """Whether it looks back from the event being added, so that the first is exempt."""
        return self in (Part.FIRST, Part.PREVIOUS, Part.BEFORE_CURRENT)


@dataclass(frozen=True, slots=True)
class Inner:
    """Which event of an iteration a reference means: of a variable of the group, by its number."""

    variable: int
    part: Part
    name: str = ""


# What a constant may hold: a timestamp is nanoseconds since 1970, an interval nanoseconds, a
# decimal a number that is exactly as it is written.
Scalar: TypeAlias = bool | int | float | Decimal | str | None


@dataclass(frozen=True, slots=True)
class Value:
    """An expression with its type."""

    type: DataType
    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Constant(Value):
    """A literal, or what was folded to one.

    `interval` is how many nanoseconds a number of raw units of time was written as.
    """

    value: Scalar
    interval: int | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Placeholder(Value):
    """A parameter that has not been given."""

    name: str


@dataclass(frozen=True, slots=True)
class Reference(Value):
    """An attribute of one event of a component.

    `undeclared_by` are the types, among those the component admits, that do not declare it: then
    the condition is true. None: which types there are is not known, so the events decide. Of a
    repeated group `part` is which iteration, and `inner` which of its events.
    """

    component: int
    part: Part
    attribute: str
    undeclared_by: frozenset[str] | None = frozenset()
    inner: Inner | None = None


@dataclass(frozen=True, slots=True)
class Aggregate(Value):
    """A function over a range of a series; `count` without an attribute is its length.

    One that a user defined may have a `trend`, and may be over several attributes: for each of the
    `others` it holds itself over that alone, and `place` is its place among them.
    """

    function: str
    component: int
    part: Part
    attribute: str | None = None
    undeclared_by: frozenset[str] | None = frozenset()
    others: tuple[Aggregate, ...] = ()
    place: int = 0
    trend: str | None = None
    inner: Inner | None = None

    @property
    def attributes(self) -> tuple[str, ...]:
        """All attributes that it is over."""
        every = (self.attribute, *(each.attribute for each in self.others))
        return tuple(name for name in every if name is not None)


@dataclass(frozen=True, slots=True)
class Operation(Value):
    """An operator (`+ - * / %` of two, `neg` of one) or a function on values."""

    name: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class MatchConfidence(Value):
    """`confidence` in HAVING and RETURN: how likely a match of imprecise time is."""


Expression: TypeAlias = (
    Constant | Placeholder | Reference | Aggregate | Operation | MatchConfidence
)  # fmt: skip


# ---------------------------------------------------------------- conditions: no NOT is left


@dataclass(frozen=True, slots=True)
class Predicate:
    """An atomic condition or a combination of them: true or false, never unknown."""

    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Truth(Predicate):
    """A condition that is decided."""

    value: bool


@dataclass(frozen=True, slots=True)
class Comparison(Predicate):
    """Two values compared."""

    operator: ComparisonOperator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Membership(Predicate):
    """A value in a list of literals, or not; NULLs of the list are gone."""

    operand: Expression
    values: tuple[Constant | Placeholder, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class Between(Predicate):
    """A value between two bounds, or not."""

    operand: Expression
    low: Expression
    high: Expression
    negated: bool


@dataclass(frozen=True, slots=True)
class Like(Predicate):
    """A text that has a form, or not."""

    operand: Expression
    pattern: Constant | Placeholder
    negated: bool


@dataclass(frozen=True, slots=True)
class NullTest(Predicate):
    """A value that is NULL, or not."""

    operand: Expression
    negated: bool


@dataclass(frozen=True, slots=True)
class All(Predicate):
    """Conditions that hold together; never directly inside another `All`."""

    operands: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Any(Predicate):
    """Conditions of which one holds; never directly inside another `Any`."""

    operands: tuple[Condition, ...]


Condition: TypeAlias = (
    Truth | Comparison | Membership | Between | Like | NullTest | All | Any
)  # fmt: skip


# ---------------------------------------------------------------- conjuncts, by what they need


class When(Enum):
    """At which events a condition is checked (docs/semantics.md, Conditions on series)."""

    EVENT = "when it is bound"
    FIRST = "at its first event"
    EVERY = "at every event"
    FURTHER = "at every event but the first"
    WHOLE = "when it is finished"

    @classmethod
    def of(cls, parts: Collection[Part]) -> When:
        """When one is checked that mentions these parts of a component, and nothing later."""
        rank = max((part.rank for part in parts), default=Part.EVENT.rank)
        if rank == Part.ALL.rank:
            return cls.WHOLE
        if rank == Part.CURRENT.rank:
            return cls.FURTHER if any(part.is_earlier for part in parts) else cls.EVERY
        return cls.FIRST if Part.FIRST in parts else cls.EVENT


class ConjunctClass(Enum):
    """What a conjunct needs before it can be decided."""

    CONSTANT = "no event"
    SINGLE = "one event"
    SEVERAL = "several events"
    NEGATIVE = "an event of a negative component"


@dataclass(frozen=True, slots=True)
class Quantified:
    """A series for each event of which a condition must hold, or for each but the first.

    Of a repeated group: its iterations, those of some `branches` alone, if any are given; with an
    `inner` variable the events of that series in each such iteration.
    """

    component: int
    but_first: bool
    branches: tuple[int, ...] | None = None
    inner: int | None = None


@dataclass(frozen=True, slots=True)
class MemberCheck:
    """Where a condition on several members of a set is checked, if this one is bound last of them.

    It is checked `when` the member has bound an event, if the `awaited` members have one by then;
    of the `quantified` series it ranges over the events that are bound by then.
    """

    component: int
    when: When
    quantified: tuple[Quantified, ...] = ()
    awaited: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Conjunct:
    """One operand of the flat conjunction in WHERE, and everything by which it is placed.

    `component` is where it is checked, `when` at which of its events: the place of its last
    identifier, or for a condition on a negative component (P−) that component. `references` are
    the components that it reads; `quantified` the series whose every event it speaks of. `derived`
    is what the planner added because it follows from others. Where the order in which a set is
    bound decides which identifier is the last, `checks` say it, for each member that it mentions.
    """

    condition: Condition
    kind: ConjunctClass
    references: tuple[int, ...] = ()
    component: int | None = None
    when: When = When.EVENT
    quantified: tuple[Quantified, ...] = ()
    derived: bool = False
    checks: tuple[MemberCheck, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class IterationConjunct:
    """A conjunct that is decided in the iteration of a repeated group at hand, of one branch.

    It is asked of the `iterations` of that branch: the first alone, each, or each but the first.
    `element` is where it is checked, by its place in the branch, `when` at which of its events.
    `references` are the components of the pattern that it reads; `quantified` the series and groups
    of whose every event it speaks besides.
    """

    condition: Condition
    iterations: When
    element: int
    when: When
    references: tuple[int, ...] = ()
    quantified: tuple[Quantified, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class EquivalenceTest:
    """`[a]` or `[a = 'v']`, as written.

    `declared` says of each component whether every type that it admits declares the attribute (None
    where that is not known): only then a plan may partition on it.
    """

    attribute: str
    value: Constant | Placeholder | None
    type: DataType
    declared: tuple[bool | None, ...]
    # Of an inferred test, where the names of the attribute are not the same: that of each component
    # which has a part in it, and that of each type.
    attributes: tuple[str | None, ...] = ()
    by_type: tuple[tuple[str, str], ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)

    def attribute_of(self, component: int) -> str | None:
        """The attribute of a component, by its index in the pattern; None if it has no part."""
        return self.attributes[component] if self.attributes else self.attribute

    def is_declared_by(self, components: Iterable[BoundComponent]) -> bool:
        """Whether every type that some components admit declares the attribute."""
        return all(self.declared[component.index] for component in components)


# ---------------------------------------------------------------- the query


@dataclass(frozen=True, slots=True)
class IterationBranch:
    """One way to write an iteration: its elements, numbered in it, and what is asked of it.

    `variables` are the numbers of the variables that the elements are of; `present` are the
    variables of groups with `?` that it has; `negations` are its negative sequences, whose
    `position` counts its elements.
    """

    elements: tuple[BoundComponent, ...]
    variables: tuple[int, ...]
    conjuncts: tuple[IterationConjunct, ...] = ()
    present: frozenset[str] = frozenset()
    negations: tuple[BoundNegation, ...] = ()

    @property
    def first(self) -> BoundComponent:
        """The first element that is not negative."""
        return self.elements[self.positive[0]]

    @property
    def positive(self) -> tuple[int, ...]:
        """The places of the elements that are not negative."""
        return tuple(place for place, each in enumerate(self.elements) if not each.negated)


@dataclass(frozen=True, slots=True)
class RepeatedGroup:
    """What is repeated: a component for each variable inside, by number, and the branches.

    `choices` are the variables of groups with `?` inside.
    """

    variables: tuple[BoundComponent, ...]
    branches: tuple[IterationBranch, ...]
    choices: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        """The variables inside, those of groups with `?` included."""
        return self.choices | {each.variable for each in self.variables if each.named}

    @property
    def forbidding(self) -> tuple[BoundComponent, ...]:
        """The components of the negative sequences inside, by branch."""
        found = (each for branch in self.branches for each in branch.negations)
        return tuple(component for each in found for component in each.components)

    def variable(self, name: str) -> BoundComponent | None:
        """The component of a variable inside."""
        return next((each for each in self.variables if each.key == (True, name)), None)


@dataclass(frozen=True, slots=True)
class BoundComponent:
    """A component: the types that it admits, and how many events it binds.

    A repeated group is one, whose minimum and maximum count iterations. `inside` is the number of
    the negative group whose sequence it is in, `set_of` that of the set whose member it is.
    `written` is the place of its variable in the order of first writing, if that is not its index
    among the positive components. With imprecise time a series `is_sequence` if every order of its
    events is a match of its own. A single event `is_counted` as a series of one is, if its variable
    has a `?` in another branch.
    """

    index: int
    variable: str
    named: bool
    # None: events of every type.
    types: tuple[str, ...] | None
    is_any: bool = False
    negated: bool = False
    minimum: int = 1
    maximum: int | None = 1
    is_series: bool = False
    group: RepeatedGroup | None = None
    inside: int | None = None
    set_of: int | None = None
    written: int | None = None
    is_sequence: bool = False
    is_counted: bool = False
    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)

    @property
    def is_absent(self) -> bool:
        """Whether no match has an event of it."""
        return self.negated or self.inside is not None

    @property
    def key(self) -> tuple[bool, str]:
        """What tells it from others of the pattern, but for those of the same variable."""
        return self.named, self.variable

    @property
    def names(self) -> frozenset[str]:
        """Its variable, and those inside of a group that is repeated."""
        own = frozenset((self.variable,))
        return own if self.group is None else own | self.group.names

    @property
    def is_single(self) -> bool:
        """Whether it binds exactly one event, and not as a list."""
        return not self.is_series and self.minimum == 1 and not self.is_counted

    @property
    def is_optional(self) -> bool:
        """Whether it is written with `?`, here or in another branch: one event or none."""
        return not self.is_series and (self.minimum == 0 or self.is_counted)


def elements_of(components: Sequence[BoundComponent]) -> list[tuple[int, ...]]:
    """The places of components, those of the members of a set together."""
    places = groupby(
        range(len(components)), lambda n: (components[n].set_of is None and n, components[n].set_of)
    )
    return [tuple(own) for _, own in places]


def ranks_of(components: Sequence[BoundComponent]) -> list[int]:
    """Of each component, by its place, the rank of its variable in the order of first writing."""
    return [n if each.written is None else each.written for n, each in enumerate(components)]


class WindowKind(Enum):
    """What a window measures."""

    TIME = "time"
    EVENTS = "events"
    PARTITION_EVENTS = "events per partition"


@dataclass(frozen=True, slots=True)
class BoundWindow:
    """The window: `size` in raw units or events, where the unit of the time column is known."""

    kind: WindowKind
    amount: Fraction | Placeholder
    unit: str | None
    inclusive: bool
    size: int | None
    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class BoundConfidence:
    """That time is imprecise, and the confidence that matches reach, or if `strict` exceed."""

    threshold: Fraction | Placeholder | None
    strict: bool


@dataclass(frozen=True, slots=True)
class Column:
    """A column of RETURN."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class BoundNegation:
    """A negative sequence: its components, numbered behind all others, and its conjuncts.

    `position` is how many components of the pattern stand before it, or of the iteration.
    """

    components: tuple[BoundComponent, ...]
    position: int
    conjuncts: tuple[Conjunct, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A query whose names, types and rules are checked.

    Of a pattern with choices `branches` are the queries of its branches; the whole then has a
    component for each variable. `negations` are the negative sequences. Of precise time there is no
    `confidence`.
    """

    components: tuple[BoundComponent, ...]
    strategy: StrategyName
    equivalences: tuple[EquivalenceTest, ...]
    conjuncts: tuple[Conjunct, ...]
    window: BoundWindow | None
    having: Condition | None
    columns: tuple[Column, ...] | None
    type_name: str | None
    limit: int | Placeholder | None
    definitions: tuple[tuple[str, Condition], ...] = ()
    branches: tuple[BoundQuery, ...] = ()
    negations: tuple[BoundNegation, ...] = ()
    confidence: BoundConfidence | None = None
    warnings: tuple[Diagnostic, ...] = field(default=(), compare=False, repr=False)

    @property
    def positives(self) -> tuple[BoundComponent, ...]:
        """The components whose events make a match."""
        return tuple(c for c in self.components if not c.negated)

    @property
    def negatives(self) -> tuple[BoundComponent, ...]:
        """The components whose events forbid a match."""
        return tuple(c for c in self.components if c.negated)

    @property
    def has_groups(self) -> bool:
        """Whether a component is a repeated group."""
        return any(component.group is not None for component in self.components)

    @property
    def has_sets(self) -> bool:
        """Whether a component of some branch is a member of a set."""
        if self.branches:
            return any(branch.has_sets for branch in self.branches)
        return any(each.set_of is not None for each in self.components)

    @property
    def every(self) -> tuple[BoundComponent, ...]:
        """All components, those of negative sequences too."""
        inside = (each for negation in self.negations for each in negation.components)
        return (*self.components, *inside)

    @property
    def level(self) -> int:
        """1 as in SASE 2006, 2 with Kleene closure or a strategy, 3 with branches, groups, sets."""
        if self.branches or self.has_groups or self.has_sets:
            return 3
        simple = all(component.is_single for component in self.positives)
        return 1 if simple and self.strategy is StrategyName.SKIP_TILL_ANY_MATCH else 2
