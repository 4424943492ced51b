"""Traverse the values of a plan, and print it as an indented list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from operator import attrgetter
from typing import Any, TypeAlias

from sase.base.limits import heed
from sase.base.paths import columns_of
from sase.binding import Schema
from sase.binding.bound import (
    Aggregate,
    BoundComponent,
    BoundWindow,
    Column,
    Condition,
    Conjunct,
    Constant,
    EquivalenceTest,
    EventValues,
    Placeholder,
    Reference,
    When,
)
from sase.binding.values.text import Names, condition_text, test_text, value_text, window_text
from sase.planning.plan.negatives import NegativeComponent, NegativeSequence, SequenceSearch
from sase.planning.plan.nodes import EdgeCondition, Operator, chain, variables_of

# ---------------------------------------------------------------- traversal

_Values: TypeAlias = Callable[[Any], Iterable[object]]
_Names: TypeAlias = Callable[[Any], Iterable[str | None]]


def within(value: object) -> Iterator[object]:
    """Yield a value and all values inside it, each before its parts; constants have none."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        yield each
        kind: type = type(each)
        parts = _parts_of(kind)
        if parts is not None:
            waiting += parts(each)


def conditions_on(plan: Operator, component: int) -> Iterator[Condition]:
    """The conditions that read only the event of a component, on any operator."""
    for each in within(plan):
        if not isinstance(each, Conjunct) or each.when is not When.EVENT:
            continue
        if each.references == (component,) == (each.component,):
            yield each.condition


@cache
def _parts_of(kind: type) -> _Values | None:
    """Returns the reader of the parts of a type's values, last one first; None without parts."""
    if issubclass(kind, tuple):
        return _reversed
    if issubclass(kind, Constant):  # there may be very many
        return None
    found = fields(kind) if is_dataclass(kind) else ()
    names = [field.name for field in reversed(found) if field.compare]
    if not names:
        return None
    values = attrgetter(*names)
    return values if len(names) > 1 else lambda each: (values(each),)


def _reversed(values: tuple[object, ...]) -> Iterable[object]:
    heed()
    return reversed(values)


def attributes_read(*values: object) -> tuple[str, ...]:
    """Every attribute that conditions and values of a plan, or of a part of it, read."""
    names: list[str | None] = []
    waiting: list[Any] = [values]
    while waiting:  # like `within`, with fewer calls for each value
        each = waiting.pop()
        kind: type = type(each)
        named, parts = _read_of(kind)
        if named is not None:
            names += named(each)
        if parts is not None:
            waiting += parts(each)
    return tuple(dict.fromkeys(name for name in names if name is not None))


def columns_named(schema: Schema, *values: object) -> frozenset[str]:
    """Every column that a plan, or a part of it, reads or shows."""
    shown = (each.attribute for each in within(values) if isinstance(each, EventValues))
    names = (*schema.roles, *attributes_read(*values), *shown)
    return columns_of(names, schema.names)


@cache
def _read_of(kind: type) -> tuple[_Names | None, _Values | None]:
    """Return the readers of the attributes and of the parts of a type's values."""
    named: _Names | None = None
    if issubclass(kind, EquivalenceTest):
        named = _tested
    elif issubclass(kind, Reference | Aggregate):
        named = _attribute
    return named, _parts_of(kind)


def _tested(test: EquivalenceTest) -> tuple[str | None, ...]:
    return test.attributes or (test.attribute,)


def _attribute(value: Reference | Aggregate) -> tuple[str | None]:
    return (value.attribute,)


# ---------------------------------------------------------------- outline


def outline(root: Operator) -> str:
    """The plan as an indented list from the top down, with the checks of each operator."""
    return "\n".join(_outlined(root, 0))


def _outlined(root: Operator, depth: int) -> Iterator[str]:
    names = variables_of(root)
    for operator in chain(root):
        details = [
            f"{field.name}={_brief(getattr(operator, field.name), names)}"
            for field in fields(operator)
            if field.name not in ("input", "branches")
            and _says_something(getattr(operator, field.name))
        ]
        yield "  " * depth + f"{type(operator).__name__} {' '.join(details)}".rstrip()
        depth += 1
        for branch in getattr(operator, "branches", ()):
            yield from _outlined(branch, depth)


def _says_something(value: object) -> bool:
    return value not in ((), None) and value is not False


def _brief(value: object, names: Names) -> str:
    match value:
        case tuple():
            return f"[{', '.join(_brief(each, names) for each in value)}]"
        case BoundComponent(variable=name):
            return name
        case Column(name=name, value=returned):
            text = value_text(returned, names)
            return name if text.replace(".", "_") == name else f"{text} AS {name}"
        case EquivalenceTest():
            return test_text(value)
        case NegativeComponent(component=component, conditions=conditions):
            checked = "".join(f" where {_brief(each, names)}" for each in conditions)
            return f"!{component.variable}{checked}"
        case NegativeSequence(conditions=conditions):
            checked = "".join(f" where {_brief(each, names)}" for each in conditions)
            found = "" if value.search is SequenceSearch.IN_GAPS else f" by {value.search.value}"
            return f"!({value.name}{found}){checked}"
        case BoundWindow():
            return window_text(value)
        case Conjunct(condition=condition) | EdgeCondition(conjunct=Conjunct(condition=condition)):
            return condition_text(condition, names)
        case Constant() | Placeholder():
            return value_text(value, names)
        case Enum():
            return str(value.name)
    return condition_text(value, names) if isinstance(value, Condition) else str(value)
