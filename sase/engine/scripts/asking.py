"""Conditions of a plan on a single event: its type, and mostly one of some values, or a range."""

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
from sase.binding.types import Kind
from sase.binding.values.folding import INT64_MIN
from sase.planning.engine_plan import EnginePlan
from sase.planning.plan.negatives import NegativeSequence
from sase.planning.plan.nodes import SequenceScan
from sase.planning.plan.traversal import within
from sase.planning.split import negations_of

# A condition of a component on an event: one of its types, mostly with a value of an attribute.
Value: TypeAlias = "int | str | ValueRange"
Values: TypeAlias = "tuple[str, tuple[Value, ...]]"
# Up to this size a BETWEEN of integers becomes a list of values.
NARROW = 64
# A condition on one event that holds for every event of a component, single or a series.
EVERY = (Part.EVENT, When.EVENT), (Part.CURRENT, When.EVERY)
KINDS: Mapping[Kind, type] = {Kind.INTEGER: int, Kind.STRING: str}
RANGED = Kind.INTEGER, Kind.FLOAT
# By comparison sign: whether it is a lower bound, and whether the bound is included.
BOUNDS = {">": (True, False), ">=": (True, True), "<": (False, False), "<=": (False, True)}
# Up to this integer every integer has an exact float.
MOST_EXACT = 1 << 53
# Integers from this one on are not used as bounds.
GREAT = 1 << 62


class ValueRange(NamedTuple):
    """The numbers of a kind from `low` on and below `high`; None is no bound."""

    kind: Kind
    low: int | float | None
    high: int | float | None

    def within(self, other: ValueRange) -> ValueRange:
        """The numbers that are in both."""
        lows = [each for each in (self.low, other.low) if each is not None]
        highs = [each for each in (self.high, other.high) if each is not None]
        return ValueRange(self.kind, max(lows, default=None), min(highs, default=None))

    def of(self, attribute: str) -> str:
        """The range as a condition; the end of a float range is shown as it is compared."""
        low, high = self.low, self.high
        if high is None:
            return f"{attribute} >= {low!r}"
        if self.kind is Kind.INTEGER:
            last = int(high) - 1
            return f"{attribute} <= {last}" if low is None else f"{attribute} {low} to {last}"
        return f"{attribute} < {high!r}" if low is None else f"{low!r} <= {attribute} < {high!r}"


@dataclass(frozen=True, slots=True, order=True)
class Asked:
    """A condition of a component on an event: a type, and a value if there is an attribute."""

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
    """The conditions of a plan's components on single events; None if every event counts.

    If they are `is_all` conditions of the scan, the scan admits each event that meets one of these.
    If they are `told_apart`, the plan must get no other events, even if it needs most events.
    """

    asked: frozenset[Asked] | None
    is_all: bool
    told_apart: bool = False

    @classmethod
    def of(cls, plan: EnginePlan) -> Asking:
        """Return the conditions of a plan, computed once for each plan."""
        if Asking not in plan.cache:
            asked = None
            if plan.types_needed is not None:
                asked = frozenset(_asked(plan))
            plan.cache[Asking] = cls(asked, asked is not None and _asks_no_more(plan))
        found: Asking = plan.cache[Asking]
        return found


def asked_wholly(plan: EnginePlan, component: int) -> tuple[Conjunct, ...]:
    """The conditions of the scan on a component, if they are just a list of values or a range."""
    scan = plan.scan
    if not isinstance(scan, SequenceScan) or Asking.of(plan).asked is None:
        return ()
    own = tuple(each for each in scan.conditions if each.component == component)
    asked = _all_asked([*map(_asked_values, own)]) if own and all(map(_is_typed, own)) else None
    return own if asked is not None and asked == _values(plan).get(component) else ()


def _asks_no_more(plan: EnginePlan) -> bool:
    """Whether types have one component each, and scan conditions are values or ranges."""
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
    """Combine several conditions on an event to one, if that is a list of values or a range."""
    some = [each for each in asked if each is not None]
    chosen = _chosen(some)
    if chosen is None or len(some) < len(asked):
        return None
    is_whole = len(some) == 1 or all(map(_is_range, some))
    return chosen if is_whole and len({attribute for attribute, _ in some}) == 1 else None


def _chosen(asked: Iterable[Values]) -> Values | None:
    """Of conditions on an event choose the first list of values, or else the first range.

    Ranges of the same attribute are intersected.
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
    """Whether a condition compares values of one type, so that all events have this type."""
    return len({each.type for each in _compared(conjunct.condition)}) == 1


def _compared(condition: Condition) -> tuple[Expression, ...]:
    """The operands of a comparison with constants, the reference first; else none."""
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
    """By component an attribute with a list of values or a range, which each of its events has.

    Components of groups and sets have their own numbers: of plans with these only types are used.
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
    """The attribute and the values, or the range, that a conjunct requires of all its events."""
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
    """The range of a condition on an attribute; None of a narrow BETWEEN of integers."""
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
