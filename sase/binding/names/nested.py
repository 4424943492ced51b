"""Read references as values within nested columns, where the syntax alone does not decide it."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import fields, replace
from decimal import Decimal
from typing import Any

from sase.base.paths import Path, path_of
from sase.lang import ast


def with_nested_columns(query: ast.Query) -> ast.Query:
    """Read `a[1].user.id` of a series as a value of its event, and not as one of an iteration."""
    series = {each.variable.text for each in _series(query.pattern) if each.variable}
    found: ast.Query = _mapped(query, lambda node: _of_series(node, series))
    return found


def of_one_event(condition: ast.Expression) -> ast.Expression:
    """Read `user.id` and `tags[1]` of a condition without variables as nested values."""
    found: ast.Expression = _mapped(condition, _of_event)
    return found


def member_of(reference: ast.Attribute | ast.Indexed | ast.InGroup, member: object) -> Any:
    """The reference to whether a list has a value: a text, a number or a truth value."""
    written = str(member) if isinstance(member, Decimal) else json.dumps(member, ensure_ascii=False)
    if isinstance(reference, ast.InGroup):
        return replace(reference, reference=member_of(reference.reference, member))
    name = reference.name if isinstance(reference, ast.Attribute) else reference.attribute
    assert name is not None
    path = (path_of(name.text) or Path(name.text))._replace(member=written)
    named = replace(name, text=str(path))
    if isinstance(reference, ast.Attribute):
        return replace(reference, name=named)
    return replace(reference, attribute=named)


def _series(node: Any) -> Iterator[ast.Component]:
    """The components of a pattern that are series."""
    if isinstance(node, ast.Component) and node.quantifier is not None:
        yield node
    for part in node if isinstance(node, tuple) else _parts(node).values():
        if isinstance(part, tuple | ast.Node):
            yield from _series(part)


def _of_series(node: Any, series: Collection[str]) -> Any:
    if not isinstance(node, ast.InGroup) or node.group.text not in series:
        return node
    reference = node.reference
    name = reference.name if isinstance(reference, ast.Attribute) else reference.attribute
    assert name is not None and reference.variable is not None
    index = reference.index.written if isinstance(reference, ast.Indexed) else ""
    if not (index.isdecimal() or isinstance(reference, ast.Attribute)):
        return node
    nested = replace(name, text=_joined(reference.variable.text, index, name.text))
    return ast.Indexed(node.group, node.index, nested, span=node.span)


def _joined(first: str, index: str, rest: str) -> str:
    """The name of a value from its first part, an index that may be empty, and the rest."""
    path = path_of(rest) or Path(rest)
    steps = (int(index),) if index else ()
    return str(Path(first, (*steps, path.column, *path.steps)))


def _of_event(node: Any) -> Any:
    match node:
        case ast.Attribute(name=name, variable=ast.Name(first)):
            text = _joined(first, "", name.text)
        case ast.Indexed(variable=ast.Name(first), index=index, attribute=None, others=()) if (
            index.written.isdecimal()
        ):
            text = str(Path(first, (int(index.written),)))
        case ast.Indexed(variable=ast.Name(first), index=index, attribute=ast.Name(rest)) if (
            index.written.isdecimal() and not node.others
        ):
            text = _joined(first, index.written, rest)
        case _:
            return node
    return ast.Attribute(ast.Name(text, span=node.span), span=node.span)


def _mapped(node: Any, change: Callable[[Any], Any]) -> Any:
    """A tree in which a function has replaced nodes, from the leaves up."""
    if isinstance(node, tuple):
        return tuple(_mapped(each, change) for each in node)
    if not isinstance(node, ast.Node):
        return node
    parts = _parts(node)
    changed = {name: _mapped(part, change) for name, part in parts.items()}
    return change(node if changed == parts else replace(node, **changed))


def _parts(node: ast.Node) -> dict[str, Any]:
    every = ((each.name, getattr(node, each.name)) for each in fields(node) if each.name != "span")
    return {name: part for name, part in every if isinstance(part, tuple | ast.Node)}
