"""Read `a[1].user.id` of a series as a value of its event, not of an iteration of a group."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import fields, replace
from typing import Any

from sase.base.limits import heed
from sase.base.paths import Path, path_of
from sase.lang import ast


def with_nested_columns(query: ast.Query) -> ast.Query:
    """Return the query with references to nested values of series."""
    series = {each.variable.text for each in _series(query.pattern) if each.variable}
    found: ast.Query = mapped(query, lambda node: _of_series(node, series))
    return found


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
    text = joined_name(reference.variable.text, index, name.text)
    nested = ast.Name(text, span=reference.span)
    return ast.Indexed(node.group, node.index, nested, span=node.span)


def joined_name(first: str, index: str, rest: str) -> str:
    """The name of a value from its first part, an index that may be empty, and the rest."""
    path = path_of(rest) or Path(rest)
    steps = (int(index),) if index else ()
    return str(Path(first, (*steps, path.column, *path.steps)))


def mapped(node: Any, change: Callable[[Any], Any]) -> Any:
    """Return a tree in which a function has replaced nodes, from the leaves up."""
    heed()
    if isinstance(node, tuple):
        return tuple(mapped(each, change) for each in node)
    if not isinstance(node, ast.Node):
        return node
    parts = _parts(node)
    changed = {name: mapped(part, change) for name, part in parts.items()}
    return change(node if changed == parts else replace(node, **changed))


def _parts(node: ast.Node) -> dict[str, Any]:
    every = ((each.name, getattr(node, each.name)) for each in fields(node) if each.name != "span")
    return {name: part for name, part in every if isinstance(part, tuple | ast.Node)}
