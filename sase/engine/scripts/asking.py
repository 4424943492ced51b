"""What a plan asks of an event by itself: its type, and mostly one of some values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

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
from sase.engine.plan import EnginePlan
from sase.planning.nodes import Negation, SequenceScan, find
from sase.planning.traversal import within

# What a component asks of an event: one of its types, mostly with one of an attribute's values.
Value: TypeAlias = "int | str"
Values: TypeAlias = "tuple[str, tuple[Value, ...]]"
# Of BETWEEN so many values are named one by one.
NARROW = 64
# Where a condition on one event is asked of every event of a component, be it one or a series.
EVERY = (Part.EVENT, When.EVENT), (Part.CURRENT, When.EVERY)
KINDS: Mapping[Kind, type] = {Kind.INTEGER: int, Kind.STRING: str}


@dataclass(frozen=True, slots=True, order=True)
class Asked:
    """What an event must be for a component: of a type, and with a value, if one is named."""

    type: str
    attribute: str = ""
    value: Value = ""

    def __str__(self) -> str:
        value = f" {self.attribute} = {self.value!r}" if self.attribute else ""
        return f"{self.type}{value}"


@dataclass(frozen=True, slots=True)
class Asking:
    """What the components of a plan ask of an event, None if every event counts.

    Where it `is_all` there is to ask, the scan admits each event that is one of these.
    """

    asked: frozenset[Asked] | None
    is_all: bool

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


def _asks_no_more(plan: EnginePlan) -> bool:
    """Whether no type is of two components, and each condition of the scan is a value asked for."""
    scan = plan.scan
    if not isinstance(scan, SequenceScan) or plan.negatives or scan.values:
        return False
    names = [name for each in plan.positives for name in each.types or ()]
    found = {each.component: _asked_values(each) for each in scan.conditions}
    is_each = len(found) == len(scan.conditions) and all(map(_is_typed, scan.conditions))
    return is_each and found == _values(plan) and len(set(names)) == len(names)


def _is_typed(conjunct: Conjunct) -> bool:
    """Whether a condition compares values of one type, as all events will have them."""
    return len({each.type for each in _compared(conjunct.condition)}) == 1


def _compared(condition: Condition) -> tuple[Expression, ...]:
    """The values of which a condition says that they are equal, or one of some; none of others."""
    match condition:
        case Comparison(operator="=", left=left, right=right):
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
    negation = find(plan.operators, Negation)
    if (negation and negation.sequences) or any(not _is_plain(each) for each in components):
        return {}
    found = dict[int, Values]()
    for each in within(plan.operators):
        if isinstance(each, Conjunct) and each.component is not None and not each.quantified:
            values = _asked_values(each)
            if values is not None and each.references == (each.component,):
                found.setdefault(each.component, values)
    return found


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
    values = list[Value]()
    for each in constants:
        if not isinstance(each, Constant) or each.type.kind not in KINDS:
            return None
        if not isinstance(each.value, int | str) or each.value == INT64_MIN:
            return None
        values.append(each.value)
    if isinstance(conjunct.condition, Between):
        low, high = values
        if isinstance(low, str) or isinstance(high, str) or high - low >= NARROW:
            return None
        values = [*range(low, high + 1)]
    return operand.attribute, tuple(dict.fromkeys(values))
