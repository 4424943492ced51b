"""docs/semantics.md, Expressions: the value of an expression in a (partial) match.

Every component is a series of events here: an ordinary one, or a negative one, of exactly one, so
that `x.p` means `x[i].p` with an i that can only be 1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, TypeAlias

from sase.lang import ast
from sase.lang.ast import IndexKind
from tests.naive.aggregates import DEFINED, of_events
from tests.naive.functions import at_zone
from tests.naive.pattern import OF_ITERATION, iterations_of
from tests.naive.values import (
    Value,
    Written,
    arithmetic,
    compare,
    extreme,
    function,
    in_int64,
    is_number,
    literal,
    negative,
    not_nan,
    read,
)

CHOICES = ("coalesce", "least", "greatest")
AGGREGATES = ("avg", "sum", "min", "max", "count", "first", "last", "stddev")


@dataclass(frozen=True, eq=False)
class Event:
    """A row of the input: `row` as given, `position` as sorted, `key` the order key."""

    row: int
    position: int
    time: int
    key: tuple[Any, ...]
    type: str | None
    values: Mapping[str, object]
    declared: frozenset[str]
    until: int = 0  # with imprecise time its latest time, `time` being its earliest

    def __lt__(self, other: Event) -> bool:
        """Strictly before in the order; neither of two simultaneous events is."""
        return self.key < other.key

    def __getitem__(self, attribute: str) -> Value:
        """The value of an attribute; an undeclared or missing one is NULL."""
        return read(self.raw(attribute))

    def declares(self, attribute: str) -> bool:
        """Whether it has the column of an attribute, which may be nested."""
        return attribute in self.declared or _steps(attribute)[0] in self.declared

    def raw(self, attribute: str) -> Any:
        """The value as it is given; a step into none leads to none."""
        if attribute in self.declared:
            return self.values.get(attribute)
        first, *steps = _steps(attribute)
        found: Any = self.values.get(first) if first in self.declared else None
        for step in steps:
            if isinstance(found, list):
                found = dict(enumerate(found, start=1)).get(int(step.strip("[]")))
            else:
                found = None if found is None else found[step]
        return found


def _steps(name: str) -> list[str]:
    """`a.b[1]` in its parts `a`, `b` and `[1]`."""
    return [quoted or plain for quoted, plain in re.findall(r"`([^`]+)`|(\[\d+\]|[^.\[`]+)", name)]


Series: TypeAlias = tuple[Event, ...]


@dataclass(frozen=True)
class Scope:
    """The context of an expression: the bindings of each component, and the i of each series."""

    components: tuple[ast.Component, ...]
    parameters: Mapping[str, object]
    unit: int | None  # of raw integer time, in nanoseconds
    bound: Mapping[int, Series] = field(default_factory=dict)
    at: Mapping[int, int] = field(default_factory=dict)
    # Of groups by name: how many iterations they have, or of `(…)? g` whether it is there.
    groups: Mapping[str, int] = field(default_factory=dict)
    of_several_types: frozenset[str] = frozenset()

    def with_bound(self, bound: Mapping[int, Series]) -> Scope:
        """The same with the present bindings of components."""
        known = self.components, self.parameters, self.unit
        return Scope(*known, bound, self.at, self.groups, self.of_several_types)

    def with_at(self, at: Mapping[int, int]) -> Scope:
        """The same for one i of each series."""
        known = self.components, self.parameters, self.unit, self.bound
        return Scope(*known, at, self.groups, self.of_several_types)

    def number(self, variable: ast.Name | None) -> int:
        """Which component a variable means; without one, the only component."""
        if variable is None and len(self.components) == 1:
            return 0
        for number, component in enumerate(self.components):
            if variable is not None and component.variable == variable:
                return number
        raise NotImplementedError(f"the variable {variable}")

    def numbers(self, variable: ast.Name | None) -> list[int]:
        """The component, or those of several iterations, as far as they have the variable."""
        several = None if variable is None else iterations_of(variable.text)
        if several is None:
            return [self.number(variable)]
        names = [each.variable and each.variable.text for each in self.components]
        return [names.index(name) for name in several if name in names]


Reference: TypeAlias = ast.Attribute | ast.Indexed


def is_of_group(reference: Reference, scope: Scope) -> bool:
    """`g.len` and `g[]` of a group, of which the branch says how often it is there."""
    return reference.variable is not None and reference.variable.text in scope.groups


def references(node: object) -> Iterator[Reference]:
    """All references to events in an expression."""
    if isinstance(node, Reference):
        yield node
    elif isinstance(node, tuple):
        for part in node:
            yield from references(part)
    elif isinstance(node, ast.Node):
        for name in names_of_fields(node.__class__):
            yield from references(getattr(node, name))


@cache
def names_of_fields(kind: Any) -> tuple[str, ...]:
    """The names of the parts of a kind of node."""
    return tuple(each.name for each in fields(kind))


def is_list(component: ast.Component) -> bool:
    """All Kleene forms but `?` bind lists."""
    return component.quantifier is not None and component.quantifier.symbol != "?"


def is_length(reference: Reference, scope: Scope) -> bool:
    """`a.len`, the number of events of a Kleene variable."""
    if not isinstance(reference, ast.Attribute) or reference.name.text.lower() != "len":
        return False
    if is_of_group(reference, scope):
        return True
    return scope.components[scope.number(reference.variable)].quantifier is not None


def events_of(reference: Reference, scope: Scope) -> Series:
    """docs/semantics.md, References to series: the events that one selects."""
    number, *others = scope.numbers(reference.variable) or (-1,)
    series = tuple(e for n in (number, *others) for e in scope.bound.get(n, ()))
    if isinstance(reference, ast.Attribute):
        if is_list(scope.components[number]) and not is_length(reference, scope):
            raise NotImplementedError(f"{reference.name.text} of a series, without an index")
        return series
    match reference.index.kind:
        case IndexKind.ALL:
            return series
        case IndexKind.FIRST:
            return series[:1]
        case IndexKind.LAST:
            return series[-1:]
        case IndexKind.OTHER:
            raise NotImplementedError(f"the index {reference.index.text}")
    if number not in scope.at:
        raise NotImplementedError("a[i] outside WHERE")
    i = scope.at[number]
    match reference.index.kind:
        case IndexKind.CURRENT:
            return series[i : i + 1]
        case IndexKind.PREVIOUS:
            return series[i - 1 : i]
        case IndexKind.BEFORE_CURRENT:
            return series[:i]
        case IndexKind.UP_TO_CURRENT:
            return series[: i + 1]


def attributes_of(reference: Reference) -> tuple[str, ...]:
    """All attributes that a reference names: `a[].(p, q)` names several."""
    if isinstance(reference, ast.Indexed):
        return tuple(name.text for name in reference.attributes)
    return (reference.name.text,)


def attribute_of(reference: Reference) -> str | None:
    """The attribute that a reference names; `a[]` by itself names none."""
    name = reference.name if isinstance(reference, ast.Attribute) else reference.attribute
    return name.text if name else None


def is_undeclared(reference: Reference, scope: Scope) -> bool:
    """Rule 1: a component of several types has bound an event that does not declare it."""
    if is_of_group(reference, scope) or is_length(reference, scope):
        return False
    if not any(
        _is_of_several(scope.components[n], scope) for n in scope.numbers(reference.variable)
    ):
        return False
    return any(
        not event.declares(attribute)
        for attribute in attributes_of(reference)
        for event in events_of(reference, scope)
    )


def _is_of_several(component: ast.Component, scope: Scope) -> bool:
    """Whether a component is ANY, or of other types in another place."""
    names = {component.variable.text.partition(OF_ITERATION)[0]} if component.variable else set()
    return isinstance(component.test, ast.AnyTest) or bool(names & scope.of_several_types)


# ---------------------------------------------------------------- values


def value(node: ast.Expression, scope: Scope) -> Value:
    """The value of an expression; None is NULL."""
    match node:
        case ast.Attribute(variable=ast.Name(group)) if is_of_group(node, scope):
            if not is_length(node, scope):
                raise NotImplementedError(f"the attribute {node.name.text} of a group")
            return scope.groups[group]
        case ast.Call(ast.Name("count"), (ast.Indexed(ast.Name(group), index, None),)) if (
            index.kind == IndexKind.ALL and group in scope.groups
        ):
            return scope.groups[group]
        case ast.Attribute() if is_length(node, scope):
            return len(events_of(node, scope))
        case ast.Attribute() | ast.Indexed():
            return _value_of_reference(node, scope)
        case ast.Call(ast.Name(name), arguments) if name in AGGREGATES or name in DEFINED:
            return _aggregate(name, arguments, scope)
        case ast.AtZone(operand, zone):
            return at_zone(value(operand, scope), value(zone, scope))  # type: ignore[no-any-return]
        case ast.Call(ast.Name("list_contains"), (listed, member)):
            return _contains(listed, literal(member, scope.parameters), scope)
        case ast.Call(ast.Name("if"), (condition, one, other)):
            return value(one if _holds(condition, scope) else other, scope)
        case ast.Call(ast.Name("nullif"), (one, other)):
            left, right = value(one, scope), value(other, scope)
            is_same = (
                left is not None and right is not None and not compare(left, right, scope.unit)
            )
            return None if is_same else left
        case ast.Case(conditions, values, otherwise):
            for condition, chosen in zip(conditions, values, strict=True):
                if _holds(condition, scope):
                    return value(chosen, scope)
            return None if otherwise is None else value(otherwise, scope)
        case _ if isinstance(node, ast.CONDITIONS):
            return _holds(node, scope)
        case ast.Call(ast.Name(name), arguments):
            return function(name, [_argument(name, a, scope) for a in arguments], scope.unit)
        case ast.Negative(ast.Integer() | ast.Float() | ast.Interval()):
            return literal(node, scope.parameters)
        case ast.Negative(operand):
            return negative(value(operand, scope))
        case ast.Sum(operands, signs) | ast.Product(operands, signs):
            result = value(operands[0], scope)
            for sign, operand in zip(signs, operands[1:], strict=True):
                result = arithmetic(sign, result, value(operand, scope), scope.unit)
            return result
        case _:
            return literal(node, scope.parameters)


def _holds(condition: ast.Expression, scope: Scope) -> bool:
    from tests.naive.conditions import is_true, normal

    return is_true(normal(condition), scope)


def _argument(name: str, node: ast.Expression, scope: Scope) -> Value:
    """An argument of a function: a number with a point is a float, but in a choice."""
    found = value(node, scope)
    is_written = isinstance(node, ast.Float | ast.Negative | ast.Parameter)
    if is_written and isinstance(found, Written) and name not in CHOICES:
        return float(found)
    return found


def _contains(listed: ast.Expression, member: Value, scope: Scope) -> Value:
    """Whether a list of an event has a value; a NULL in it equals nothing."""
    assert isinstance(listed, ast.Attribute | ast.Indexed)
    selected = events_of(listed, scope)
    values = selected[0].raw(attribute_of(listed) or "") if selected else None
    if values is None:
        return None
    known = [read(each) for each in values]
    return any(each is not None and not compare(each, member, scope.unit) for each in known)


def _value_of_reference(reference: Reference, scope: Scope) -> Value:
    """The attribute of one event, NULL where there is none."""
    attribute = attribute_of(reference)
    several = (IndexKind.ALL, IndexKind.BEFORE_CURRENT, IndexKind.UP_TO_CURRENT)
    if isinstance(reference, ast.Indexed) and reference.index.kind in several:
        raise NotImplementedError("several events outside an aggregate")
    if attribute is None:
        raise NotImplementedError("an event as a value")
    selected = events_of(reference, scope)
    return selected[0][attribute] if selected else None


# ---------------------------------------------------------------- aggregates


def _aggregate(name: str, arguments: Sequence[ast.Expression], scope: Scope) -> Value:
    """docs/semantics.md, Aggregates: over `a[]`, `a[..i-1]` or `a[..i]`."""
    match arguments:
        case (ast.Indexed(index=ast.Index(kind=kind)) as reference,) if kind in (
            IndexKind.ALL,
            IndexKind.BEFORE_CURRENT,
            IndexKind.UP_TO_CURRENT,
        ):
            selected = events_of(reference, scope)
        case _:
            raise NotImplementedError(f"{name} of what is no a[…].p")
    if name in DEFINED:
        names = attributes_of(reference)
        if len(names) + 1 != len(DEFINED[name].kinds):
            raise NotImplementedError(f"{name} of {len(names)} attributes")
        return of_events(DEFINED[name], [[event[each] for each in names] for event in selected])
    if isinstance(reference, ast.Indexed) and reference.others:
        raise NotImplementedError(f"{name} of several attributes")
    attribute = attribute_of(reference)
    if attribute is None:
        if name != "count":
            raise NotImplementedError(f"{name} of events without an attribute")
        return len(selected)
    values = [event[attribute] for event in selected]
    if name in ("first", "last"):
        return (values[0] if name == "first" else values[-1]) if values else None
    return _of_values(name, [each for each in values if each is not None], scope.unit)


def _of_values(name: str, values: list[Value], unit: int | None) -> Value:
    """The aggregates that skip NULLs: these are the others."""
    if name == "count":
        return len(values)
    if name in ("min", "max"):
        return extreme(values, -1 if name == "min" else 1, unit)
    if not all(is_number(each) for each in values):
        raise NotImplementedError(f"{name} of {values!r}")
    if name == "stddev":
        return _stddev([float(each) for each in values])  # type: ignore[arg-type]
    total = _sum(values)
    if name == "sum" or total is None:
        return total
    return not_nan(float(total) / len(values))


def _sum(values: list[Any]) -> int | float | None:
    """Integers exactly; floats in float64 in the order of the events."""
    if not values:
        return None
    if all(isinstance(each, int) for each in values):
        return in_int64(sum(values))
    total = float(values[0])
    for each in values[1:]:
        total += float(each)
    return not_nan(total)


def _stddev(values: list[float]) -> float | None:
    """The sample standard deviation by Welford's recurrence."""
    mean = squares = 0.0
    for count, each in enumerate(values, start=1):
        delta = each - mean
        mean += delta / count
        squares += delta * (each - mean)
    if len(values) < 2:
        return None
    return None if math.isnan(squares) else math.sqrt(squares / (len(values) - 1))


def equal(left: Value, right: Value, scope: Scope) -> bool:
    """Whether neither is NULL and they are equal."""
    return left is not None and right is not None and compare(left, right, scope.unit) == 0
