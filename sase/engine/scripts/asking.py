"""What a plan asks of an event by itself: its type, and mostly the value of an attribute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from sase.binding.bound import (
    BoundComponent,
    Comparison,
    Conjunct,
    Constant,
    Part,
    Reference,
    When,
)
from sase.binding.folding import INT64_MIN
from sase.binding.types import Kind
from sase.engine.plan import EnginePlan
from sase.planning.nodes import Negation, SequenceScan, find
from sase.planning.traversal import within

# What a component asks of an event: one of its types, and mostly a value of one attribute.
Value: TypeAlias = "int | str"
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
    found = {each.component: _equality(each) for each in scan.conditions}
    is_each = len(found) == len(scan.conditions) and all(map(_is_typed, scan.conditions))
    return is_each and found == _values(plan) and len(set(names)) == len(names)


def _is_typed(conjunct: Conjunct) -> bool:
    """Whether a comparison is of two values of one type, as all events will have them."""
    condition = conjunct.condition
    return isinstance(condition, Comparison) and condition.left.type == condition.right.type


def _asked(plan: EnginePlan) -> Iterator[Asked]:
    for branch in plan.branches or (plan,):
        values = _values(branch)
        for component in (*branch.positives, *branch.negatives):
            equality = values.get(component.index)
            for name in component.types or ():
                yield Asked(name) if equality is None else Asked(name, *equality)


def _values(plan: EnginePlan) -> dict[int, tuple[str, Value]]:
    """By component an attribute of which it asks one value, where every event of it must have it.

    Components of groups and sets are numbered by themselves: of these types alone are known.
    """
    components = (*plan.positives, *plan.negatives)
    negation = find(plan.operators, Negation)
    if (negation and negation.sequences) or any(not _is_plain(each) for each in components):
        return {}
    found = dict[int, tuple[str, Value]]()
    for each in within(plan.operators):
        if isinstance(each, Conjunct) and each.component is not None and not each.quantified:
            equality = _equality(each)
            if equality is not None and each.references == (each.component,):
                found.setdefault(each.component, equality)
    return found


def _is_plain(component: BoundComponent) -> bool:
    parts = component.group, component.inside, component.set_of
    return all(part is None for part in parts) and not component.is_sequence


def _equality(conjunct: Conjunct) -> tuple[str, Value] | None:
    """The attribute and the value of a conjunct that compares them at every event it speaks of."""
    condition = conjunct.condition
    if not isinstance(condition, Comparison) or condition.operator != "=":
        return None
    sides = condition.left, condition.right
    for one, other in (sides, sides[::-1]):
        if isinstance(one, Reference) and isinstance(other, Constant):
            is_known = other.type.kind in KINDS and other.value != INT64_MIN
            is_known &= one.undeclared_by == frozenset() and one.inner is None
            is_known &= (one.part, conjunct.when) in EVERY
            value = other.value
            return (one.attribute, value) if is_known and isinstance(value, int | str) else None
    return None
