"""Bind HAVING, RETURN and LIMIT, and name the columns of the result."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import replace

from sase.base.paths import path_of
from sase.binding.bound import Column, Placeholder
from sase.binding.names.references import find_component
from sase.binding.names.scope import Scope
from sase.binding.types import Kind
from sase.binding.values.event_values import bind_event_values, every_value
from sase.binding.values.folding import INT64_MAX
from sase.binding.values.literals import bind_literal
from sase.binding.values.values import bind_item
from sase.lang import ast
from sase.lang.ast import IndexKind
from sase.lang.printer import to_text
from sase.source import Span

# Columns that every result has.
RESERVED_COLUMNS = ("ts_start", "ts_end", "detected_at")


def reserved_columns(scope: Scope) -> tuple[str, ...]:
    """The columns that every result of a query has."""
    return (*RESERVED_COLUMNS, "confidence") if scope.schema.is_imprecise else RESERVED_COLUMNS


def bind_columns(output: ast.Output, scope: Scope) -> tuple[Column, ...]:
    """Bind the columns of RETURN."""
    columns, seen = [], set(reserved_columns(scope))
    known = scope.schema.names
    items = (each for item in output.items for each in _expanded(item, scope))
    for place, item in enumerate(items, 1):
        name = item.alias.text if item.alias else default_name(item.expression, place, known)
        if name in seen:
            is_itself = isinstance(item.expression, ast.Attribute) and not item.expression.variable
            _refuse_clash(name, (item.alias or item).span, scope, is_itself=is_itself)
        seen.add(name)
        value = bind_event_values(item.expression, scope)
        columns.append(Column(name, value or bind_item(item.expression, scope)))
        if value is None and columns[-1].value.type.kind is Kind.OTHER:
            _refuse_kind(item.expression.span, scope)
    return tuple(columns)


def _expanded(item: ast.OutputItem, scope: Scope) -> Iterator[ast.OutputItem]:
    """The item, or those that `x.*` and `a[].(p, q)` mean."""
    if isinstance(item.expression, ast.Indexed) and item.alias is None:
        for name in item.expression.attributes or (None,):
            each = replace(item.expression, attribute=name, others=())
            yield replace(item, expression=each)
        return
    if not isinstance(item.expression, ast.AllAttributes):
        yield item
        return
    variable, span = item.expression.variable, item.span
    own = scope if scope.whole is None or not scope.lacks(variable) else scope.whole
    component = find_component(variable, own)
    if component is None:
        return
    if component.group is not None:
        scope.problems.error(
            "event-as-value",
            f"`{variable.text}` is a group, and `{to_text(item)}` is of events",
            span,
            f"without RETURN the column `{variable.text}` lists its iterations",
        )
        return
    names = own.attribute_names(component)
    if not names:
        scope.problems.error(
            "unknown-attribute",
            f"the attributes of `{variable.text}` are not known here",
            span,
            "give a schema or events, or list the attributes:  x.(p, q)",
        )
    yield from every_value(variable, component, names, item)


def default_name(expression: ast.Expression, place: int, known: Container[str]) -> str:
    """The name of a column without an alias: from its expression, or its place.

    `known` are the names of whole columns.
    """
    match expression:
        case ast.Attribute(name=name, variable=variable):
            own = _flat(name, known)
            return f"{variable.text}_{own}" if variable else own
        case ast.Indexed(variable=variable, index=index, attributes=names):
            return _joined(variable, index, *(_flat(name, known) for name in names))
        case ast.InGroup(group=group, index=index, reference=reference):
            return _joined(group, index, default_name(reference, place, known))
        case ast.Call(function=function, arguments=(argument,)):
            return f"{function.text}_{default_name(argument, place, known)}"
    return f"column_{place}"


def _flat(name: ast.Name, known: Container[str]) -> str:
    """A name in which the steps into a nested column are joined: `user_id`, `tags_1`."""
    path = None if name.text in known else path_of(name.text)
    if path is None or path.member is not None:
        return name.text
    return "_".join(map(str, (path.column, *path.steps)))


def _joined(series: ast.Name, index: ast.Index, *names: str) -> str:
    kind = "last" if index.kind is IndexKind.LAST else None
    if index.written.isdecimal():
        kind = index.written
    return "_".join(filter(None, [series.text, kind, *names]))


def _refuse_kind(span: Span, scope: Scope) -> None:
    written = " ".join(scope.problems.source.text[slice(*span)].split())
    scope.problems.error(
        "incompatible-types",
        f"`{written}` cannot be a column: its values are of kinds that have nothing in common, or"
        " of one that no expression reads",
        span,
        "without RETURN results show it as it is",
    )


def _refuse_clash(name: str, span: Span, scope: Scope, *, is_itself: bool = False) -> None:
    is_reserved = name in reserved_columns(scope)
    reason = "every result has a column of that name" if is_reserved else "it is taken"
    remedy = "give it another name with  RETURN … AS name"
    if is_reserved and is_itself:
        remedy = f"leave it out, results show it anyway; or {remedy}"
    scope.problems.error(
        "column-clash",
        f"the result cannot have a column `{name}`: {reason}",
        span,
        remedy,
    )


def check_default_columns(query: ast.Query, scope: Scope, flat: bool) -> None:
    """Check that the columns of a query without RETURN have distinct names."""
    if len(set(scope.variables)) < len(scope.variables):
        return  # already an error
    seen: dict[str, str] = {}
    for name, owner, span in _default_columns(query, scope, flat):
        if name in reserved_columns(scope) or seen.get(name, owner) != owner:
            _refuse_clash(name, span, scope)
        seen.setdefault(name, owner)


def _default_columns(query: ast.Query, scope: Scope, flat: bool) -> Iterator[tuple[str, str, Span]]:
    """The default columns: name, source, and span."""
    for component in scope.components:
        if component.is_absent:
            continue
        span = component.span
        if not flat or component.is_series:  # a series stays a list in the flat form
            yield component.variable, str(component.index), span
            continue
        for attribute in scope.attribute_names(component):
            yield f"{component.variable}_{attribute}", f"{component.index}.{attribute}", span


def bind_limit(limit: ast.Integer | ast.Parameter, scope: Scope) -> int | Placeholder | None:
    """The number of results, or the parameter for it."""
    if isinstance(limit, ast.Integer):
        return min(limit.value, INT64_MAX)
    bound = bind_literal(limit, scope)
    if isinstance(bound, Placeholder) or bound is None:
        return bound
    if bound.type.kind is Kind.INTEGER and isinstance(bound.value, int) and bound.value >= 0:
        return bound.value
    scope.problems.error(
        "bad-parameter",
        f"LIMIT is a whole number from 0, and `:{limit.name}` is {bound.value!r}",
        limit.span,
    )
    return None
