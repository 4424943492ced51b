"""Columns of RETURN with values as the events have them: lists of a series, nested columns."""

from __future__ import annotations

from collections.abc import Iterator

from sase.binding.bound import BoundComponent, Constant, EventValues, Expression
from sase.binding.names.references import declared
from sase.binding.names.scope import Scope
from sase.binding.types import ELEMENT, FLOAT, NULL, DataType, Kind
from sase.lang import ast
from sase.lang.ast import IndexKind

MEDIAN = "median"
# A series has no more events.
MOST_EVENTS = 2**31 - 1


def bind_event_values(node: ast.Expression, scope: Scope) -> Expression | None:
    """The column that an item of RETURN means if the events have its values, otherwise None."""
    is_median, inner = False, node
    match node:
        case ast.Call(function=ast.Name("median"), arguments=(ast.Indexed() as inner,)):
            is_median = True
    if not isinstance(inner, ast.Attribute | ast.Indexed) or inner.variable is None:
        return None
    if scope.lacks(inner.variable):
        is_own = scope.whole is None or bind_event_values(node, scope.whole) is not None
        return Constant(NULL, None, span=node.span) if is_own else None
    component = scope.component(inner.variable.text)
    if component is None or component.is_absent or component.group is not None:
        return None
    if isinstance(inner, ast.Attribute):
        return None if component.is_series else _of_event(inner, component, scope)
    if not component.is_series or inner.attribute is None or inner.others:
        return None
    if inner.index.kind is IndexKind.ALL:
        return _of_series(inner, component, scope, is_median=is_median)
    place = int(inner.index.written) if inner.index.written.isdecimal() else 0
    if is_median or not 1 <= place <= MOST_EVENTS:
        return None
    data_type = _type(inner.attribute, component, scope)
    if place == 1 and data_type.kind is not Kind.OTHER:
        return None  # `a[1].p` is a value in every clause
    name = inner.attribute.text
    return EventValues(data_type, component.index, name, place=place, span=node.span)


def _of_event(node: ast.Attribute, component: BoundComponent, scope: Scope) -> Expression | None:
    if component.is_optional and node.name.text.lower() == "len":
        return None
    data_type = _type(node.name, component, scope)
    if data_type.kind is not Kind.OTHER:
        return None
    if _is_mixed(node.name, component, scope):
        return None
    return EventValues(data_type, component.index, node.name.text, span=node.span)


def _of_series(
    node: ast.Indexed, component: BoundComponent, scope: Scope, *, is_median: bool
) -> Expression:
    assert node.attribute is not None
    name, data_type = node.attribute.text, _type(node.attribute, component, scope)
    if is_median and not data_type.is_number:
        return scope.refuse(
            "incompatible-types",
            f"{MEDIAN} does not take `{name}`: it is {data_type.described()}",
            node.span,
            "it is the middle one of numbers",
        )
    if _is_mixed(node.attribute, component, scope):
        return scope.refuse(
            "incompatible-types",
            f"`{name}` cannot be a list: its types in the events have nothing in common",
            node.span,
            "without RETURN results show it as it is",
        )
    if is_median:
        return EventValues(FLOAT, component.index, name, "median", span=node.span)
    listed = DataType(Kind.OTHER, parts=((ELEMENT, data_type),))
    return EventValues(listed, component.index, name, "list", span=node.span)


def _type(name: ast.Name, component: BoundComponent, scope: Scope) -> DataType:
    data_type, _ = declared(component, name, scope)
    return data_type


def _is_mixed(name: ast.Name, component: BoundComponent, scope: Scope) -> bool:
    """Whether the types of a component have an attribute in kinds with nothing in common."""
    found = [each for each in scope.declarations(component, name.text).values() if each]
    if all(each.kind is Kind.OTHER for each in found):
        return len({(each.is_list, bool(each.parts)) for each in found}) > 1
    return not all(found[0].compares_with(each) for each in found)


def every_value(
    variable: ast.Name, component: BoundComponent, names: list[str], item: ast.OutputItem
) -> Iterator[ast.OutputItem]:
    """The items that `x.*`, or `a.*` of a series, means."""
    span = item.span
    for text in names:
        name = ast.Name(text, span=span)
        value: ast.Expression = ast.Attribute(name, variable, span=span)
        if component.is_series:
            index = ast.Index(IndexKind.ALL, span=span)
            value = ast.Indexed(variable, index, name, span=span)
        yield ast.OutputItem(value, span=span)
