"""A query after binding: names resolved, types known, conditions normalized and classified.

These are plain frozen values. Planning reads and rewrites them, and the engine compiles them to
kernels. Components are identified by their index in the pattern, negative ones included.
"""

# long because: it is the one list of the forms of a bound query, and they refer to each other.

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from itertools import groupby
from typing import Literal, TypeAlias

from sase.binding.types import DataType
from sase.errors import Diagnostic
from sase.lang.ast import ComparisonOperator, StrategyName
from sase.source import NOWHERE, Span

# ---------------------------------------------------------------- values


class Part(Enum):
    """Which event of a component a reference means; the value's number is its rank in time."""

    EVENT = ("event", 1)
    FIRST = ("1", 1)
    CURRENT = ("i", 2)
    PREVIOUS = ("i-1", 2)
    BEFORE_CURRENT = ("..i-1", 2)
    UP_TO_CURRENT = ("..i", 2)
    LAST = ("len", 3)
    ALL = ("", 3)

    # Members are unique: hashing by identity is many times as fast as by name.
    __hash__ = object.__hash__

    @property
    def rank(self) -> int:
        """Its place in the order `c[1] < c[i] < c as a whole` (docs/semantics.md, Runs)."""
        return self.value[1]

    @property
    def is_earlier(self) -> bool:
        """Whether it refers to events before the one being added; the first event has none."""
        return self in (Part.FIRST, Part.PREVIOUS, Part.BEFORE_CURRENT)


@dataclass(frozen=True, slots=True)
class Inner:
    """Which event of an iteration a reference means: the group's variable by number, and a part."""

    variable: int
    part: Part
    name: str = ""


# The value of a constant. Timestamps are nanoseconds since 1970, intervals nanoseconds, decimals
# exactly the number written.
Scalar: TypeAlias = bool | int | float | Decimal | str | None


@dataclass(frozen=True, slots=True)
class Value:
    """An expression with its type."""

    type: DataType
    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Constant(Value):
    """A literal, or a folded expression.

    `interval` is set if a number of raw time units was written as that many nanoseconds.
    """

    value: Scalar
    interval: int | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Placeholder(Value):
    """A parameter without a value yet."""

    name: str


@dataclass(frozen=True, slots=True)
class Reference(Value):
    """An attribute of one event of a component.

    `undeclared_by` are the types that the component admits and that do not declare the attribute:
    for their events the condition is true. None if the types are unknown, so that the events
    decide. In a repeated group `part` selects the iteration, and `inner` the event in it.
    """

    component: int
    part: Part
    attribute: str
    undeclared_by: frozenset[str] | None = frozenset()
    inner: Inner | None = None


@dataclass(frozen=True, slots=True)
class Aggregate(Value):
    """A function over a range of a series; `count` without an attribute is the length.

    A user-defined one may have a `trend`, and several attributes: `others` has then one aggregate
    for each further attribute, and `place` is the place among them.
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
        """All attributes that it reads."""
        every = (self.attribute, *(each.attribute for each in self.others))
        return tuple(name for name in every if name is not None)


@dataclass(frozen=True, slots=True)
class Operation(Value):
    """An operator (`+ - * / %` of two operands, `neg` of one) or a function of values.

    `case` has pairs of a condition and a value, and a last value for all other events.
    """

    name: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class ConditionValue(Value):
    """A condition as a value: TRUE or FALSE."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class MatchConfidence(Value):
    """`confidence` in HAVING and RETURN: the probability of a match with imprecise time."""


@dataclass(frozen=True, slots=True)
class EventValues(Value):
    """A column of RETURN with values as the events have them: `a[].p`, `a[2].p`, `x.tags`.

    Of a series it is the list of values, their median, or the value of the event at a `place`.
    """

    component: int
    attribute: str
    form: Literal["event", "list", "median"] = "event"
    place: int | None = None


Expression: TypeAlias = (
    Constant | Placeholder | Reference | Aggregate | Operation | ConditionValue | MatchConfidence
    | EventValues
)  # fmt: skip


# ---------------------------------------------------------------- conditions, without NOT


@dataclass(frozen=True, slots=True)
class Predicate:
    """An atomic condition or a combination of them: true or false, never unknown."""

    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Truth(Predicate):
    """A condition with a known value."""

    value: bool


@dataclass(frozen=True, slots=True)
class Comparison(Predicate):
    """Two values compared."""

    operator: ComparisonOperator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Membership(Predicate):
    """A value in a list of literals, or not; NULLs are removed from the list."""

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
    """A text that matches a pattern, or not."""

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
    """Conditions joined by AND; never directly inside another `All`."""

    operands: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Any(Predicate):
    """Conditions joined by OR; never directly inside another `Any`."""

    operands: tuple[Condition, ...]


Condition: TypeAlias = (
    Truth | Comparison | Membership | Between | Like | NullTest | All | Any
)  # fmt: skip


# ---------------------------------------------------------------- conjuncts


class When(Enum):
    """When a condition on a component is checked (docs/semantics.md, Conditions on series)."""

    EVENT = "when it is bound"
    FIRST = "at its first event"
    EVERY = "at every event"
    FURTHER = "at every event but the first"
    WHOLE = "when it is finished"

    @classmethod
    def of(cls, parts: Collection[Part]) -> When:
        """When to check a condition that mentions these parts of a component, and nothing later."""
        rank = max((part.rank for part in parts), default=Part.EVENT.rank)
        if rank == Part.ALL.rank:
            return cls.WHOLE
        if rank == Part.CURRENT.rank:
            return cls.FURTHER if any(part.is_earlier for part in parts) else cls.EVERY
        return cls.FIRST if Part.FIRST in parts else cls.EVENT


class ConjunctClass(Enum):
    """The events that a conjunct needs to be decided."""

    CONSTANT = "no event"
    SINGLE = "one event"
    SEVERAL = "several events"
    NEGATIVE = "an event of a negative component"


@dataclass(frozen=True, slots=True)
class Quantified:
    """A series for every event of which a condition must hold, or for every event but the first.

    For a repeated group: its iterations, of certain `branches` only if given; with an `inner`
    variable the events of that series in each of them.
    """

    component: int
    but_first: bool
    branches: tuple[int, ...] | None = None
    inner: int | None = None


@dataclass(frozen=True, slots=True)
class MemberCheck:
    """Where a condition on several members of a set is checked if this member is bound last.

    It is checked `when` the member has bound an event, provided the `awaited` members have one. Of
    the `quantified` series it ranges over the events bound so far.
    """

    component: int
    when: When
    quantified: tuple[Quantified, ...] = ()
    awaited: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Conjunct:
    """One operand of the flat conjunction in WHERE, and where it is checked.

    `component` and `when` are the place of the check: that of its last identifier, or the negative
    component in a condition on one (P−). `references` are the components that it reads. It ranges
    over the events of the `quantified` series. `derived` conjuncts are added by the planner,
    because they follow from others. If the binding order of a set decides which identifier is last,
    `checks` has the place for each member mentioned.
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
    """A conjunct that is decided inside an iteration of a repeated group, for one branch of it.

    It applies to some `iterations`: the first, each, or each but the first. `element` is its place
    in the branch, `when` the event of that element. `references` are the components of the pattern
    that it reads. It ranges over the events of the `quantified`: other series and groups.
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

    `declared` says for each component whether every type that it admits declares the attribute,
    None if unknown: a plan may partition only on declared ones.
    """

    attribute: str
    value: Constant | Placeholder | None
    type: DataType
    declared: tuple[bool | None, ...]
    # For an inferred test over attributes with different names: the attribute of each component
    # that takes part, and of each type.
    attributes: tuple[str | None, ...] = ()
    by_type: tuple[tuple[str, str], ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)

    def attribute_of(self, component: int) -> str | None:
        """The attribute of a component, by its index; None if it does not take part."""
        return self.attributes[component] if self.attributes else self.attribute

    def is_declared_by(self, components: Iterable[BoundComponent]) -> bool:
        """Whether every type that these components admit declares the attribute."""
        return all(self.declared[component.index] for component in components)


# ---------------------------------------------------------------- the query


@dataclass(frozen=True, slots=True)
class IterationBranch:
    """One form of an iteration: its elements, numbered within it, and its conjuncts.

    `variables` are the numbers of the elements' variables; `present` the variables of its groups
    with `?`; `negations` its negative sequences, with a `position` that counts elements.
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
    """A repeated group: a component for each variable inside, by number, and the branches.

    `choices` are the variables of groups with `?` inside.
    """

    variables: tuple[BoundComponent, ...]
    branches: tuple[IterationBranch, ...]
    choices: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        """The variables inside, including those of groups with `?`."""
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

    A repeated group is one component; its minimum and maximum count iterations. `inside` is the
    number of the negative group that its sequence belongs to, `set_of` that of its set. `written`
    is the rank of its variable by first occurrence, if that is not its index among the positive
    components. With imprecise time, a series `is_sequence` if every order of its events is a
    separate match. A single event `is_counted`, as a series of one, if its variable has a `?` in
    another branch.
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
        """Whether matches never contain an event of it."""
        return self.negated or self.inside is not None

    @property
    def key(self) -> tuple[bool, str]:
        """Its identity in the pattern, equal for components of one variable."""
        return self.named, self.variable

    @property
    def names(self) -> frozenset[str]:
        """Its variable, and those inside a repeated group."""
        own = frozenset((self.variable,))
        return own if self.group is None else own | self.group.names

    @property
    def is_single(self) -> bool:
        """Whether it binds exactly one event, not a list."""
        return not self.is_series and self.minimum == 1 and not self.is_counted

    @property
    def is_optional(self) -> bool:
        """Whether it has a `?`, here or in another branch: one event or none."""
        return not self.is_series and (self.minimum == 0 or self.is_counted)


def elements_of(components: Sequence[BoundComponent]) -> list[tuple[int, ...]]:
    """The places of components, where the members of a set form one element."""
    places = groupby(
        range(len(components)), lambda n: (components[n].set_of is None and n, components[n].set_of)
    )
    return [tuple(own) for _, own in places]


def ranks_of(components: Sequence[BoundComponent]) -> list[int]:
    """The rank of each component's variable by first occurrence."""
    return [n if each.written is None else each.written for n, each in enumerate(components)]


class WindowKind(Enum):
    """The quantity that a window measures."""

    TIME = "time"
    EVENTS = "events"
    PARTITION_EVENTS = "events per partition"


@dataclass(frozen=True, slots=True)
class BoundWindow:
    """The window; `size` is in raw units or events, if the unit of the time column is known."""

    kind: WindowKind
    amount: Fraction | Placeholder
    unit: str | None
    inclusive: bool
    size: int | None
    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class BoundConfidence:
    """Marks imprecise time; matches need this confidence, or more if `strict`."""

    threshold: Fraction | Placeholder | None
    strict: bool


@dataclass(frozen=True, slots=True)
class Column:
    """A column of RETURN."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class BoundNegation:
    """A negative sequence: its components, numbered after all others, and its conjuncts.

    `position` is the number of components before it, in the pattern or the iteration.
    """

    components: tuple[BoundComponent, ...]
    position: int
    conjuncts: tuple[Conjunct, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A query with checked names, types and rules.

    If the pattern has choices, `branches` are the queries of its branches, and this one has a
    component for each variable. `negations` are the negative sequences. With precise time
    `confidence` is None.
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
        """The components that bind the events of a match."""
        return tuple(c for c in self.components if not c.negated)

    @property
    def negatives(self) -> tuple[BoundComponent, ...]:
        """The components with events that forbid a match."""
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
        """All components, including those of negative sequences."""
        inside = (each for negation in self.negations for each in negation.components)
        return (*self.components, *inside)

    @property
    def level(self) -> int:
        """The language level: 1 as in SASE 2006; 2 with Kleene closure or a strategy; 3."""
        if self.branches or self.has_groups or self.has_sets:
            return 3
        simple = all(component.is_single for component in self.positives)
        return 1 if simple and self.strategy is StrategyName.SKIP_TILL_ANY_MATCH else 2
