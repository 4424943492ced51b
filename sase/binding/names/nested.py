"""References to nested values: in conditions without variables, and to members of lists."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

from sase.base.paths import Path, path_of
from sase.lang import ast
from sase.lang.nested import joined_name, mapped


def of_one_event(condition: ast.Expression) -> ast.Expression:
    """Read `user.id` and `tags[1]` of a condition without variables as nested values."""
    found: ast.Expression = mapped(condition, _of_event)
    return found


def member_of(reference: ast.Attribute | ast.Indexed | ast.InGroup, member: Any) -> Any:
    """The reference to whether a list has a value: a text, a number or a truth value."""
    is_exact = isinstance(member, Decimal)
    written = f"{member.normalize():f}" if is_exact else json.dumps(member, ensure_ascii=False)
    if isinstance(reference, ast.InGroup):
        return replace(reference, reference=member_of(reference.reference, member))
    name = reference.name if isinstance(reference, ast.Attribute) else reference.attribute
    assert name is not None
    path = (path_of(name.text) or Path(name.text))._replace(member=written)
    named = replace(name, text=str(path))
    if isinstance(reference, ast.Attribute):
        return replace(reference, name=named)
    return replace(reference, attribute=named)


def _of_event(node: Any) -> Any:
    match node:
        case ast.Attribute(name=name, variable=ast.Name(first)):
            text = joined_name(first, "", name.text)
        case ast.Indexed(variable=ast.Name(first), index=index, attribute=None, others=()) if (
            index.written.isdecimal()
        ):
            text = str(Path(first, (int(index.written),)))
        case ast.Indexed(variable=ast.Name(first), index=index, attribute=ast.Name(rest)) if (
            index.written.isdecimal() and not node.others
        ):
            text = joined_name(first, index.written, rest)
        case _:
            return node
    return ast.Attribute(ast.Name(text, span=node.span), span=node.span)
