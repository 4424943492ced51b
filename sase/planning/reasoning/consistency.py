"""Classify how the truth of a condition changes as a series grows: to postpone it, or to prune.

The four classes are those of SASE++ (section 5.2), stated for every condition of docs/semantics.md,
Conditions on series. Skip till any match first collects all candidates for each series, and then
takes subsets of them. So it matters how the truth over the candidates and over a subset of them are
related.

Let P(S) be the truth of an instance of a condition when the components have bound the series S, and
let S' come from S by adding events: docs/postponing.md defines which. A condition is true-value
consistent if P(S') implies P(S), and false-value consistent if P(S) implies P(S'). The same, for S'
that adds only later events to the last series, or only earlier ones to the first, decides which
partial matches a search forward or back can prune.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from math import isfinite
from typing import TypeAlias

from sase.binding import bound
from sase.binding.conditions.parts import references, values_read
from sase.binding.types import Kind
from sase.binding.values.text import value_text

# Whether an attribute that a condition reads may be NULL.
Nullable: TypeAlias = Callable[[bound.Reference | bound.Aggregate], bool]


class Consistency(Enum):
    """How the truth over all candidates and over a subset of them are related (SASE++ 5.2)."""

    TRUE = "true-value consistent"
    FALSE = "false-value consistent"
    BOTH = "true-value and false-value consistent"
    NEITHER = "inconsistent"


class Trend(Enum):
    """How a value or a truth can change while events are added."""

    STEADY = "stays as it is"
    RISING = "can only rise"
    FALLING = "can only fall"
    OPEN = "can rise and fall"

    @property
    def opposite(self) -> Trend:
        """The trend of the value with its sign changed, or of the negated condition."""
        return {Trend.RISING: Trend.FALLING, Trend.FALLING: Trend.RISING}.get(self, self)


class Growth(Enum):
    """Where events are added: anywhere, after the last ones, or before the first ones."""

    ANYWHERE = "anywhere"
    LATER = "after its last event"
    EARLIER = "before its first event"


@dataclass(frozen=True, slots=True)
class Classified:
    """The class of a condition, and the trend of its truth if later or earlier events are added."""

    consistency: Consistency
    later: Trend
    earlier: Trend
    reason: str


def classified(
    conjunct: bound.Conjunct,
    components: Sequence[bound.BoundComponent],
    nullable: Nullable = lambda reference: True,
) -> Classified:
    """Classify a condition; `nullable` decides for which attributes NULL must be expected."""
    if conjunct.kind is bound.ConjunctClass.NEGATIVE:
        reason = "it speaks of an event that is in no match: it is checked when the match is known"
        return Classified(Consistency.NEITHER, Trend.OPEN, Trend.OPEN, reason)
    trends = {growth: _Growing(conjunct, components, nullable, growth) for growth in Growth}
    anywhere, later, earlier = (trends[growth].of(conjunct.condition) for growth in Growth)
    consistency = {
        Trend.STEADY: Consistency.BOTH,
        Trend.FALLING: Consistency.TRUE,
        Trend.RISING: Consistency.FALSE,
        Trend.OPEN: Consistency.NEITHER,
    }[anywhere]
    reason = _reason(trends[Growth.ANYWHERE], conjunct.condition, consistency)
    return Classified(consistency, later, earlier, reason)


# ---------------------------------------------------------------- trends


@dataclass(frozen=True, slots=True)
class _Growing:
    """The trends of values and conditions while the series of some components grow."""

    conjunct: bound.Conjunct
    components: Sequence[bound.BoundComponent]
    nullable: Nullable
    growth: Growth

    def _component(self, index: int) -> bound.BoundComponent:
        """A component by its index in the pattern; negative ones may be missing."""
        return next(each for each in self.components if each.index == index)

    def grows(self, component: int) -> bool:
        """Whether events are added to the series of a component."""
        if self._component(component).is_single:
            return False
        # Components before the growing one are finished: in a search forward all but the last, in a
        # walk back all but the first.
        mentioned = self.conjunct.references
        ends = {Growth.LATER: mentioned[-1:], Growth.EARLIER: mentioned[:1]}
        return component in ends.get(self.growth, mentioned)

    def of(self, condition: bound.Condition) -> Trend:
        """The trend of the truth of a condition: if rising, it can only turn true."""
        match condition:
            case bound.Truth():
                return Trend.STEADY
            case bound.All(operands=operands) | bound.Any(operands=operands):
                return _combined(self.of(operand) for operand in operands)
        found = self._atom(condition)
        # An event of a type that does not declare the attribute makes an atomic condition true.
        if any(self._may_turn_undeclared(each) for each in references(condition)):
            found = _combined([found, Trend.RISING])
        return found

    def _atom(self, condition: bound.Condition) -> Trend:
        match condition:
            case bound.Comparison(operator=operator, left=left, right=right):
                return self._compared(operator, left, right)
            case bound.Between(operand=operand, low=low, high=high, negated=False):
                sides = (self._compared(">=", operand, low), self._compared("<=", operand, high))
                return _combined(sides)
            case bound.Between(operand=operand, low=low, high=high):
                sides = (self._compared("<", operand, low), self._compared(">", operand, high))
                return _combined(sides)
            case bound.NullTest(operand=operand, negated=negated):
                trend = Trend.OPEN if self.value(operand) is Trend.OPEN else Trend.STEADY
                if trend is Trend.STEADY and self.is_late(operand):
                    return Trend.RISING if negated else Trend.FALLING
                return trend
        steady = all(self.value(each) is Trend.STEADY for each in references(condition))
        return Trend.STEADY if steady else Trend.OPEN

    def _compared(self, operator: str, left: bound.Expression, right: bound.Expression) -> Trend:
        sides = (self.value(left), self.value(right).opposite)
        if operator in ("=", "!=") and set(sides) != {Trend.STEADY}:
            return Trend.OPEN
        trend = _combined(sides)  # of left - right
        trend = trend.opposite if operator in ("<", "<=") else trend
        # NULL makes it false, and a NULL value may become known with more events.
        if any(self.is_late(each) for each in (left, right)):
            trend = _combined([trend, Trend.RISING])
        return trend

    # ------------------------------------------------------------ values

    def value(self, expression: bound.Expression) -> Trend:
        """The trend of a value while events are added; `is_late` handles the end of NULL."""
        match expression:
            case bound.Constant() | bound.Placeholder():
                return Trend.STEADY
            case bound.Reference() | bound.Aggregate():
                return self.reference(expression)
            case bound.MatchConfidence() | bound.EventValues():
                return Trend.OPEN
            case bound.ConditionValue(condition=condition):
                known = (self.value(each) for each in references(condition))
                return Trend.STEADY if {*known} <= {Trend.STEADY} else Trend.OPEN
            case bound.Operation(operands=operands):
                if all(self.value(each) is Trend.STEADY for each in operands):
                    return Trend.STEADY
                return self._scaled(expression)

    def _scaled(self, operation: bound.Operation) -> Trend:
        """Floats moved or scaled by a literal; all other values may become NULL, or turn around."""
        match operation:
            case bound.Operation(type=kind, name="neg", operands=(value,)) if (
                kind.kind is Kind.FLOAT
            ):
                return self.value(value).opposite
            case bound.Operation(type=kind, name=name, operands=(left, right)) if (
                kind.kind is Kind.FLOAT
            ):
                if _is_finite(right) and name in ("+", "-"):
                    return self.value(left)
                if _is_finite(left) and name in ("+", "-"):
                    trend = self.value(right)
                    return trend if name == "+" else trend.opposite
                if _sign(right) and name in ("*", "/"):
                    return self.value(left) if _sign(right) > 0 else self.value(left).opposite
                if _sign(left) and name == "*":
                    return self.value(right) if _sign(left) > 0 else self.value(right).opposite
        return Trend.OPEN

    def reference(self, reference: bound.Reference | bound.Aggregate) -> Trend:
        """The trend of one reference."""
        if not self._range_grows(reference):
            return Trend.STEADY
        name = _function(reference)
        if name in ("first", "last"):
            # The value at one end stays while events are added at the other end.
            other = Growth.LATER if name == "first" else Growth.EARLIER
            return Trend.STEADY if self.growth is other else Trend.OPEN
        if isinstance(reference, bound.Aggregate) and reference.trend is not None:
            return Trend.RISING if reference.trend == "rising" else Trend.FALLING
        return {"min": Trend.FALLING, "max": Trend.RISING, "count": Trend.RISING}.get(
            name, Trend.OPEN
        )

    def is_late(self, expression: bound.Expression) -> bool:
        """Whether it may be NULL at first, and known with more events."""
        return any(self._is_late(each) for each in references(expression))

    def _is_late(self, reference: bound.Reference | bound.Aggregate) -> bool:
        name = _function(reference)
        if self.reference(reference) is Trend.STEADY or name == "count":
            return False
        may_be_empty = self._component(reference.component).minimum == 0
        return self.nullable(reference) or (may_be_empty and self.growth is Growth.ANYWHERE)

    def _range_grows(self, reference: bound.Reference | bound.Aggregate) -> bool:
        """Whether added events may be in its range."""
        if not self.grows(reference.component) or _is_fixed(reference):
            return False
        # Events after that of the instance are not in its range. In a walk back the previous event
        # is known with the instance.
        if reference.part in (
            bound.Part.PREVIOUS,
            bound.Part.BEFORE_CURRENT,
            bound.Part.UP_TO_CURRENT,
        ):
            is_previous = reference.part is bound.Part.PREVIOUS
            return self.growth is Growth.ANYWHERE or (
                self.growth is Growth.EARLIER and not is_previous
            )
        return True

    def _may_turn_undeclared(self, reference: bound.Reference | bound.Aggregate) -> bool:
        if not isinstance(reference, bound.Aggregate) or reference.attribute is None:
            return False
        is_range = self.grows(reference.component) and (
            reference.part is bound.Part.ALL or self.growth is not Growth.LATER
        )
        return is_range and reference.undeclared_by != frozenset()


def _is_fixed(reference: bound.Reference | bound.Aggregate) -> bool:
    """Whether the instance determines the event: a single one, `a[i]`, or the last of `a[..i]`."""
    if reference.part in (bound.Part.EVENT, bound.Part.CURRENT):
        return True
    return reference.part is bound.Part.UP_TO_CURRENT and _function(reference) == "last"


def _function(reference: bound.Reference | bound.Aggregate) -> str:
    """The function of the events: `a[1]` is the first, `a[a.len]` and `a[i-1]` are the last."""
    if isinstance(reference, bound.Aggregate):
        return reference.function
    return "first" if reference.part is bound.Part.FIRST else "last"


def _combined(trends: Iterable[Trend]) -> Trend:
    """The trend of a combination that rises with each part: a sum, AND, or OR."""
    found = set(trends) - {Trend.STEADY}
    if not found:
        return Trend.STEADY
    return found.pop() if len(found) == 1 else Trend.OPEN


def _is_finite(expression: bound.Expression) -> bool:
    value = expression.value if isinstance(expression, bound.Constant) else None
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _sign(expression: bound.Expression) -> int:
    """The sign of a finite literal; 0 for all others."""
    if not isinstance(expression, bound.Constant) or not _is_finite(expression):
        return 0
    assert isinstance(expression.value, int | float)
    return (expression.value > 0) - (expression.value < 0)


# ---------------------------------------------------------------- the reason

_SO = {
    Consistency.TRUE: "so a condition that is true of all events is true of some of them",
    Consistency.FALSE: "so a condition that is false of all events is false of some of them",
    Consistency.BOTH: "no other event of a series changes its truth",
    Consistency.NEITHER: "so neither truth can be relied on when other events are taken",
}


def _reason(growing: _Growing, condition: bound.Condition, found: Consistency) -> str:
    said = list(dict.fromkeys(_phrases(growing, condition)))
    return ", ".join([*said, _SO[found]])


def _phrases(growing: _Growing, condition: bound.Condition) -> Iterator[str]:
    names = {each.index: each.variable for each in growing.components}
    for each in values_read(condition):
        trend, text = growing.reference(each), value_text(each, names)
        if trend is Trend.STEADY:
            continue
        if _function(each) in ("first", "last"):
            yield f"{text} may be of another event"
        else:
            yield f"{text} {trend.value} with more events"
        if growing.is_late(each) and trend is not Trend.OPEN:
            yield "and is NULL until one has a value"
