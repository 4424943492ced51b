"""What a plan asks of an event by itself: its type, and mostly one of some values, or a range."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf, isnan, nextafter
from typing import NamedTuple, TypeAlias

from sase.binding.bound import (
    Between,
    BoundComponent,
    Comparison,
    Condition,
    Conjunct,
    Constant,
    Expression,
    Membership,
    Part,
    Reference,
    When,
)
from sase.binding.folding import INT64_MIN
from sase.binding.types import Kind
from sase.planning.negatives import NegativeSequence
from sase.planning.nodes import SequenceScan
from sase.planning.plan import EnginePlan
from sase.planning.split import negations_of
from sase.planning.traversal import within

# What a component asks of an event: one of its types, mostly with one of an attribute's values.
Value: TypeAlias = "int | str | ValueRange"
Values: TypeAlias = "tuple[str, tuple[Value, ...]]"
# Of BETWEEN so many values are named one by one.
NARROW = 64
# Where a condition on one event is asked of every event of a component, be it one or a series.
EVERY = (Part.EVENT, When.EVENT), (Part.CURRENT, When.EVERY)
KINDS: Mapping[Kind, type] = {Kind.INTEGER: int, Kind.STRING: str}
RANGED = Kind.INTEGER, Kind.FLOAT
# By the sign of a comparison: whether it bounds from below, and whether the bound is included.
BOUNDS = {">": (True, False), ">=": (True, True), "<": (False, False), "<=": (False, True)}
# The greatest integer up to which each is a float.
MOST_EXACT = 1 << 53
# Integers as great are no bounds: nothing is beyond them.
GREAT = 1 << 62


class ValueRange(NamedTuple):
    """The numbers of a kind from a bound on and below another one; without one to the end."""

    kind: Kind
    low: int | float | None
    high: int | float | None

    def within(self, other: ValueRange) -> ValueRange:
        """The numbers that are in both."""
        lows = [each for each in (self.low, other.low) if each is not None]
        highs = [each for each in (self.high, other.high) if each is not None]
        return ValueRange(self.kind, max(lows, default=None), min(highs, default=None))

    def of(self, attribute: str) -> str:
        """The same as a condition; the end of what is no integer is shown as it is compared."""
        low, high = self.low, self.high
        if high is None:
            return f"{attribute} >= {low!r}"
        if self.kind is Kind.INTEGER:
            last = int(high) - 1
            return f"{attribute} <= {last}" if low is None else f"{attribute} {low} to {last}"
        return f"{attribute} < {high!r}" if low is None else f"{low!r} <= {attribute} < {high!r}"


@dataclass(frozen=True, slots=True, order=True)
class Asked:
    """What an event must be for a component: of a type, and with a value, if one is named."""

    type: str
    attribute: str = ""
    value: Value = ""

    def __str__(self) -> str:
        if isinstance(self.value, ValueRange):
            return f"{self.type} {self.value.of(self.attribute)}"
        value = f" {self.attribute} = {self.value!r}" if self.attribute else ""
        return f"{self.type}{value}"


@dataclass(frozen=True, slots=True)
class Asking:
    """What the components of a plan ask of an event, None if every event counts.

    Where it `is_all` there is to ask, the scan admits each event that is one of these. Where it is
    `told_apart` by what is dealt out, it is given no others, even where it takes most of them.
    """

    asked: frozenset[Asked] | None
    is_all: bool
    told_apart: bool = False

    @classmethod
    def of(cls, plan: EnginePlan) -> Asking:
        """Return it, found once for a plan."""
        if Asking not in plan.cache:
            asked = None
            if plan.types_wanted is not None and not plan.watches_all and not plan.ranked:
                asked = frozenset(_asked(plan))
            plan.cache[Asking] = cls(asked, asked is not None and _asks_no_more(plan))
        found: Asking = plan.cache[Asking]
        return found


def asked_wholly(plan: EnginePlan, component: int) -> tuple[Conjunct, ...]:
    """The conditions of the scan on a component, if they ask for a value or a range and no more."""
    scan = plan.scan
    if not isinstance(scan, SequenceScan) or Asking.of(plan).asked is None:
        return ()
    own = tuple(each for each in scan.conditions if each.component == component)
    asked = _all_asked([*map(_asked_values, own)]) if own and all(map(_is_typed, own)) else None
    return own if asked is not None and asked == _values(plan).get(component) else ()


def _asks_no_more(plan: EnginePlan) -> bool:
    """Whether no type is of two components, and each condition of the scan is a value asked for."""
    scan = plan.scan
    if not isinstance(scan, SequenceScan) or plan.negatives or scan.values:
        return False
    names = [name for each in plan.positives for name in each.types or ()]
    by_component: dict[int | None, list[Values | None]] = {}
    for each in scan.conditions:
        by_component.setdefault(each.component, []).append(_asked_values(each))
    found = {component: _all_asked(asked) for component, asked in by_component.items()}
    is_each = all(map(_is_typed, scan.conditions)) and None not in found.values()
    return is_each and found == _values(plan) and len(set(names)) == len(names)


def _all_asked(asked: list[Values | None]) -> Values | None:
    """What several conditions on an event ask together, if it is one of some values or a range."""
    some = [each for each in asked if each is not None]
    chosen = _chosen(some)
    if chosen is None or len(some) < len(asked):
        return None
    is_whole = len(some) == 1 or all(map(_is_range, some))
    return chosen if is_whole and len({attribute for attribute, _ in some}) == 1 else None


def _chosen(asked: Iterable[Values]) -> Values | None:
    """Of what conditions ask of an event the first that names values, or else the first range.

    Ranges of the same attribute are made one.
    """
    ranges = list[Values]()
    for each in asked:
        if not _is_range(each):
            return each
        ranges.append(each)
    if not ranges:
        return None
    (attribute, _), *_ = ranges
    whole: ValueRange | None = None
    for name, (value,) in ranges:
        if name == attribute and isinstance(value, ValueRange):
            whole = value if whole is None else whole.within(value)
    assert whole is not None
    return attribute, (whole,)


def _is_range(asked: Values) -> bool:
    return isinstance(asked[1][0], ValueRange) if asked[1] else False


def _is_typed(conjunct: Conjunct) -> bool:
    """Whether a condition compares values of one type, as all events will have them."""
    return len({each.type for each in _compared(conjunct.condition)}) == 1


def _compared(condition: Condition) -> tuple[Expression, ...]:
    """The values of which a condition says that they are equal, or one of some; none of others."""
    match condition:
        case Comparison(operator="=" | "<" | "<=" | ">" | ">=", left=left, right=right):
            return (right, left) if isinstance(left, Constant) else (left, right)
        case Membership(operand=operand, values=values, negated=False):
            return operand, *values
        case Between(operand=operand, low=low, high=high, negated=False):
            return operand, low, high
    return ()


def _asked(plan: EnginePlan) -> Iterator[Asked]:
    for branch in plan.branches or (plan,):
        values = _values(branch)
        for component in (*branch.positives, *branch.negatives):
            attribute, some = values.get(component.index, ("", ("",)))
            for name in component.types or ():
                yield from (Asked(name, attribute, value) for value in some)


def _values(plan: EnginePlan) -> dict[int, Values]:
    """By component an attribute of which it asks one of some values, where each event must have it.

    Components of groups and sets are numbered by themselves: of these types alone are known.
    """
    components = (*plan.positives, *plan.negatives)
    has_groups = any(isinstance(each, NegativeSequence) for each in negations_of(plan.operators))
    if has_groups or any(not _is_plain(each) for each in components):
        return {}
    found = dict[int, dict[Values, None]]()
    for each in within(plan.operators):
        if isinstance(each, Conjunct) and each.component is not None and not each.quantified:
            values = _asked_values(each)
            if values is not None and each.references == (each.component,):
                found.setdefault(each.component, {})[values] = None
    chosen = {component: _chosen(asked) for component, asked in found.items()}
    return {component: asked for component, asked in chosen.items() if asked is not None}


def _is_plain(component: BoundComponent) -> bool:
    parts = component.group, component.inside, component.set_of
    return all(part is None for part in parts) and not component.is_sequence


def _asked_values(conjunct: Conjunct) -> Values | None:
    """The attribute and the values that a conjunct asks of every event that it speaks of."""
    operand, *constants = _compared(conjunct.condition) or (None,)
    if not isinstance(operand, Reference) or (operand.part, conjunct.when) not in EVERY:
        return None
    if operand.undeclared_by != frozenset() or operand.inner is not None:
        return None
    if (found := _range_of(operand, conjunct.condition)) is not None:
        return operand.attribute, (found,)
    if isinstance(conjunct.condition, Comparison) and conjunct.condition.operator != "=":
        return None
    values = list[Value]()
    for each in constants:
        if not isinstance(each, Constant) or each.type.kind not in KINDS:
            return None
        if not isinstance(each.value, int | str) or each.value == INT64_MIN:
            return None
        values.append(each.value)
    if isinstance(conjunct.condition, Between):
        low, high = values
        if not isinstance(low, int) or not isinstance(high, int):
            return None
        values = [*range(low, high + 1)]
    return operand.attribute, tuple(dict.fromkeys(values))


def _range_of(operand: Reference, condition: Condition) -> ValueRange | None:
    """The range that a condition asks of an attribute; a narrow one of integers has its values."""
    kind = operand.type.kind
    match condition:
        case Comparison(operator=sign, left=left, right=right) if sign in BOUNDS:
            from_below, included = BOUNDS[sign]
            is_low = from_below != isinstance(left, Constant)  # as in  5 < a.n
            value = left if isinstance(left, Constant) else right
            bound = _bound(value, kind, above=is_low != included)
            if bound is None:
                return None
            return ValueRange(kind, bound, None) if is_low else ValueRange(kind, None, bound)
        case Between(low=low, high=high, negated=False):
            first, end = _bound(low, kind, above=False), _bound(high, kind, above=True)
            if first is None or end is None or (kind is Kind.INTEGER and end - first <= NARROW):
                return None
            return ValueRange(kind, first, end)
    return None


def _bound(value: Expression, kind: Kind, *, above: bool) -> int | float | None:
    """A constant as a bound, or the next number of its kind."""
    if kind not in RANGED or not isinstance(value, Constant) or value.type.kind not in RANGED:
        return None
    number = value.value
    if isinstance(number, bool) or not isinstance(number, int | float):
        return None
    if kind is Kind.INTEGER:
        is_near = isinstance(number, int) and abs(number) < GREAT
        return number + above if is_near else None
    if isinstance(number, int) and abs(number) > MOST_EXACT or isnan(number):
        return None
    return nextafter(float(number), inf) if above else float(number)
