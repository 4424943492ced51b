"""The syntax tree: a query as frozen values, before its names are resolved.

Every node has the `span` of its text; equality ignores it, so two texts with different layout have
equal trees. Brackets are not stored, unless they change the grouping of the same operator. The
builder makes these nodes; the printer turns them back into text.
"""

# long because: it is the one list of the language's constructs, a few lines for each node.

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Literal, TypeAlias

from sase.source import NOWHERE, Span


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a query and the range of text that it came from."""

    span: Span = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A name as written, without backquotes."""

    text: str


# ---------------------------------------------------------------- expressions


@dataclass(frozen=True, slots=True)
class Integer(Node):
    """An integer literal, never negative: a sign is a `Negative` around it."""

    value: int


@dataclass(frozen=True, slots=True)
class Float(Node):
    """A number with a point or an exponent, as written; never negative."""

    value: Decimal


@dataclass(frozen=True, slots=True)
class String(Node):
    """A string literal."""

    value: str


@dataclass(frozen=True, slots=True)
class Boolean(Node):
    """`TRUE` or `FALSE`."""

    value: bool


@dataclass(frozen=True, slots=True)
class Null(Node):
    """`NULL`."""


@dataclass(frozen=True, slots=True)
class Timestamp(Node):
    """`TIMESTAMP '…'`; binding reads the text."""

    text: str


@dataclass(frozen=True, slots=True)
class Date(Node):
    """`DATE '…'`; binding reads the text."""

    text: str


@dataclass(frozen=True, slots=True)
class ClockTime(Node):
    """`TIME '08:30'`, the time since midnight; binding reads the text."""

    text: str


@dataclass(frozen=True, slots=True)
class Interval(Node):
    """`5 minutes` or `INTERVAL '5' MINUTE`; the unit in lower case."""

    amount: Integer | Float
    unit: Name


@dataclass(frozen=True, slots=True)
class Percentage(Node):
    """`80%` as a factor: 0.8."""

    amount: Integer | Float


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    """`:name`, a literal that the caller gives."""

    name: str


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    """`x.a`, or an unqualified `a`. On a Kleene variable `a.len` is an `Attribute` too."""

    name: Name
    variable: Name | None = None


class IndexKind(Enum):
    """Which events of a Kleene variable an index means."""

    ALL = ""
    FIRST = "1"
    CURRENT = "i"
    PREVIOUS = "i-1"
    LAST = "len"
    BEFORE_CURRENT = "..i-1"
    UP_TO_CURRENT = "..i"
    OTHER = "?"


@dataclass(frozen=True, slots=True)
class Index(Node):
    """The index in the brackets of `a[…]`; `text` is kept for invalid indexes."""

    kind: IndexKind
    text: str = ""

    @property
    def written(self) -> str:
        """The text in the brackets."""
        return self.text if self.kind is IndexKind.OTHER else self.kind.value


@dataclass(frozen=True, slots=True)
class Indexed(Node):
    """`a[1].p`, `a[..i].p`, `a[].p`, without an attribute `a[]`, with several `a[].(p, q)`."""

    variable: Name
    index: Index
    attribute: Name | None = None
    others: tuple[Name, ...] = ()

    @property
    def attributes(self) -> tuple[Name, ...]:
        """All attributes named."""
        return (self.attribute, *self.others) if self.attribute else ()


@dataclass(frozen=True, slots=True)
class AllAttributes(Node):
    """`x.*` in RETURN: a column for each attribute of the event."""

    variable: Name


@dataclass(frozen=True, slots=True)
class InGroup(Node):
    """`g[i].b.p`, `g[i].s[1].p`: a reference into an iteration of a repeated group (level 3)."""

    group: Name
    index: Index
    reference: Attribute | Indexed


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A function or an aggregate; its name in lower case."""

    function: Name
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Case(Node):
    """`CASE WHEN a THEN b … ELSE c END`: the value of the first condition that holds."""

    conditions: tuple[Expression, ...]
    values: tuple[Expression, ...]
    otherwise: Expression | None = None


@dataclass(frozen=True, slots=True)
class AtZone(Node):
    """`a AT TIME ZONE 'Europe/Berlin'`: the time that clocks of the zone show."""

    operand: Expression
    zone: String | Parameter


@dataclass(frozen=True, slots=True)
class Negative(Node):
    """Unary minus."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Sum(Node):
    """`a + b - c`, from left to right: one operator fewer than operands."""

    operands: tuple[Expression, ...]
    operators: tuple[Literal["+", "-"], ...]


@dataclass(frozen=True, slots=True)
class Product(Node):
    """`a * b / c % d`, from left to right: one operator fewer than operands."""

    operands: tuple[Expression, ...]
    operators: tuple[Literal["*", "/", "%"], ...]


# ---------------------------------------------------------------- conditions

ComparisonOperator: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">="]
# The operator with the same meaning when the sides are swapped.
TURNED: dict[ComparisonOperator, ComparisonOperator] = {
    "=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<=",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    """`a < b`; the operator in its one canonical spelling."""

    operator: ComparisonOperator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Membership(Node):
    """`a [NOT] IN (…)`; a value is a literal, or a `Negative` of one."""

    operand: Expression
    values: tuple[Expression, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Between(Node):
    """`a [NOT] BETWEEN low AND high`, both bounds included."""

    operand: Expression
    low: Expression
    high: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Like(Node):
    """`a [NOT] LIKE 'pattern'`, or ILIKE, which takes upper and lower case alike."""

    operand: Expression
    pattern: String | Parameter
    negated: bool = False
    in_any_case: bool = False


@dataclass(frozen=True, slots=True)
class NullTest(Node):
    """`a IS [NOT] NULL`."""

    operand: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class EqualAttribute(Node):
    """One entry of an equivalence test: `a`, or `a = 'v'`."""

    attribute: Name
    value: Expression | None = None


@dataclass(frozen=True, slots=True)
class Equivalence(Node):
    """`[a]`, `[a, b]`, `[a = 'v']`: every event of the match agrees on the attributes."""

    tests: tuple[EqualAttribute, ...]


@dataclass(frozen=True, slots=True)
class Not(Node):
    """`NOT a`."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class And(Node):
    """`a AND b AND …`."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or(Node):
    """`a OR b OR …`."""

    operands: tuple[Expression, ...]


LITERALS = (
    Integer, Float, String, Boolean, Null, Timestamp, Date, ClockTime, Interval, Percentage,
    Parameter,
)  # fmt: skip
VALUES = (
    Attribute, Index, Indexed, AllAttributes, InGroup, Call, Case, AtZone, Negative, Sum, Product,
)  # fmt: skip
CONDITIONS = (Or, And, Not, Comparison, Membership, Between, Like, NullTest, Equivalence)
# The grammar does not distinguish values and conditions, since brackets may contain either; binding
# does.
Expression: TypeAlias = (
    Integer | Float | String | Boolean | Null | Timestamp | Date | ClockTime | Interval
    | Percentage | Parameter | Attribute | Indexed | AllAttributes | InGroup | Call | Case | AtZone
    | Negative | Sum | Product
    | Comparison | Membership | Between | Like | NullTest | Equivalence | Not | And | Or
)  # fmt: skip


# ---------------------------------------------------------------- patterns


@dataclass(frozen=True, slots=True)
class TypeTest(Node):
    """A component that takes events of one type."""

    name: Name


@dataclass(frozen=True, slots=True)
class AnyTest(Node):
    """`ANY(A, B)`; without names every type."""

    names: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True)
class Quantifier(Node):
    """`+ * ? {n} {n,} {n,m}`; `?` binds one event or none, all others bind lists."""

    symbol: Literal["+", "*", "?", "{}"]
    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True)
class Component(Node):
    """One event of a pattern, or with a quantifier a series of them; negated, their absence."""

    test: TypeTest | AnyTest
    variable: Name | None = None
    quantifier: Quantifier | None = None
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Group(Node):
    """A parenthesised pattern as a component (level 3)."""

    pattern: Pattern
    variable: Name | None = None
    quantifier: Quantifier | None = None
    negated: bool = False


@dataclass(frozen=True, slots=True)
class SetOf(Node):
    """`SET(…)`: its members match in any order (level 3)."""

    members: tuple[PatternPart, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Sequence(Node):
    """`SEQ(…)`."""

    parts: tuple[PatternPart, ...]


@dataclass(frozen=True, slots=True)
class Alternatives(Node):
    """`SEQ(…) OR SEQ(…)` (level 3)."""

    patterns: tuple[PatternPart | Sequence, ...]


PATTERNS = (TypeTest, AnyTest, Quantifier, Component, Group, SetOf, Sequence, Alternatives)
PatternPart: TypeAlias = Component | Group | SetOf
Pattern: TypeAlias = PatternPart | Sequence | Alternatives


# ---------------------------------------------------------------- clauses, queries, scripts


class StrategyName(Enum):
    """The event selection strategies, as they are written."""

    STRICT_CONTIGUITY = "strict_contiguity"
    PARTITION_CONTIGUITY = "partition_contiguity"
    SKIP_TILL_NEXT_MATCH = "skip_till_next_match"
    SKIP_TILL_ANY_MATCH = "skip_till_any_match"
    EARLIEST_MAXIMAL = "earliest_maximal"


# The strategies that form a scale; each permits more than the one before.
STRATEGIES = (
    StrategyName.STRICT_CONTIGUITY,
    StrategyName.PARTITION_CONTIGUITY,
    StrategyName.SKIP_TILL_NEXT_MATCH,
    StrategyName.SKIP_TILL_ANY_MATCH,
)


@dataclass(frozen=True, slots=True)
class Strategy(Node):
    """The strategy of a WHERE clause and the variables written after it, if any."""

    name: StrategyName
    variables: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True)
class Window(Node):
    """WITHIN: a time (without a unit: in raw units of integer time), or a number of events."""

    amount: Integer | Float | Negative | Parameter
    unit: Name | None = None
    events: bool = False
    per_partition: bool = False
    inclusive: bool = False


@dataclass(frozen=True, slots=True)
class Confidence(Node):
    """`WITH CONFIDENCE >= c` (level 3), or with `>`: then it is strict."""

    threshold: Integer | Float | Parameter
    strict: bool = False


@dataclass(frozen=True, slots=True)
class OutputItem(Node):
    """One column of RETURN."""

    expression: Expression
    alias: Name | None = None


@dataclass(frozen=True, slots=True)
class Output(Node):
    """RETURN; with a `type_name` the items are the attributes of a new event of that type."""

    items: tuple[OutputItem, ...]
    type_name: Name | None = None


@dataclass(frozen=True, slots=True)
class Query(Node):
    """A query, a field for each clause."""

    pattern: Pattern
    sources: tuple[Name, ...] = ()
    strategy: Strategy | None = None
    where: Expression | None = None
    window: Window | None = None
    confidence: Confidence | None = None
    having: Expression | None = None
    output: Output | None = None
    limit: Integer | Parameter | None = None


@dataclass(frozen=True, slots=True)
class Statement(Node):
    """A query, and the stream that CREATE STREAM makes of its output."""

    query: Query
    stream: Name | None = None


@dataclass(frozen=True, slots=True)
class Script(Node):
    """Statements with semicolons between them."""

    statements: tuple[Statement, ...]
