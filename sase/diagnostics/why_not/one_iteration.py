"""Reduce a query with repeated groups to one iteration of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import fields, replace
from typing import Any

from sase.binding.absent import conjuncts_of, of_iterations, references_in
from sase.lang import ast
from sase.lang.ast import IndexKind
from sase.lang.parser import parse_query
from sase.lang.printer import to_text


def of_one_iteration(text: str) -> tuple[str, str]:
    """The text of a query with each repeated group once, and a list of what is left out."""
    tree = parse_query(text)
    groups = {each.variable.text for each in _repeated(tree.pattern) if each.variable}
    asked, left = _parted(tree.where, groups)
    having, more = _parted(tree.having, groups)
    strategy = None if tree.strategy is None else replace(tree.strategy, variables=())
    once = replace(
        tree,
        pattern=_once(tree.pattern),
        where=_joined([_at_hand(each, groups) for each in asked]),
        having=_joined(having),
        strategy=strategy,
        output=None,
    )
    return to_text(once), "".join(_words(tree.pattern, [*left, *more]))


def _repeated(pattern: Any) -> Iterator[ast.Group]:
    match pattern:
        case ast.Group(negated=False, quantifier=ast.Quantifier(symbol=symbol)) if symbol != "?":
            yield pattern
        case ast.Group(pattern=inner):
            yield from _repeated(inner)
        case ast.Sequence(parts=parts) | ast.Alternatives(patterns=parts):
            for part in parts:
                yield from _repeated(part)


def _once(pattern: Any) -> Any:
    """Replace repeated groups by single ones, optional if they may be empty."""
    match pattern:
        case ast.Group(negated=False, quantifier=ast.Quantifier(symbol=symbol) as quantifier) if (
            symbol != "?"
        ):
            maybe = ast.Quantifier("?", 0, 1) if quantifier.minimum == 0 else None
            return replace(pattern, variable=None, quantifier=maybe)
        case ast.Group(pattern=inner):
            return replace(pattern, pattern=_once(inner))
        case ast.Sequence(parts=parts):
            return replace(pattern, parts=tuple(map(_once, parts)))
        case ast.Alternatives(patterns=patterns):
            return replace(pattern, patterns=tuple(map(_once, patterns)))
    return pattern


def _parted(
    node: ast.Expression | None, groups: Set[str]
) -> tuple[list[ast.Expression], list[ast.Expression]]:
    """Split conjuncts: on at most one iteration; on several iterations or whole groups."""
    asked, left = list[ast.Expression](), list[ast.Expression]()
    for each in () if node is None else conjuncts_of(node):
        indexes = [found.index.kind for found in of_iterations(each) if found.group.text in groups]
        whole = any(r.variable and r.variable.text in groups for r in references_in(each))
        is_of_one = not whole and all(kind is IndexKind.CURRENT for kind in indexes)
        (asked if is_of_one else left).append(each)
    return asked, left


def _at_hand(node: Any, groups: Set[str]) -> Any:
    """Remove the index of the current iteration from a condition."""
    match node:
        case ast.InGroup(group=ast.Name(text), reference=reference) if text in groups:
            return reference
        case tuple():
            return tuple(_at_hand(each, groups) for each in node)
        case ast.Node():
            names = (each.name for each in fields(node) if each.name != "span")
            return replace(node, **{n: _at_hand(getattr(node, n), groups) for n in names})
    return node


def _joined(conjuncts: Sequence[ast.Expression]) -> ast.Expression | None:
    if len(conjuncts) < 2:
        return conjuncts[0] if conjuncts else None
    return ast.And(tuple(conjuncts))


def _words(pattern: ast.Pattern, left: Sequence[ast.Expression]) -> Iterator[str]:
    listed = ", ".join(
        f"`{each.variable.text}`" if each.variable else to_text(each) for each in _repeated(pattern)
    )
    yield f"this is about one iteration of {listed}"
    for each in _repeated(pattern):
        if each.quantifier and each.quantifier.minimum > 1:
            name = f" of `{each.variable.text}`" if each.variable else ""
            yield f", where at least {each.quantifier.minimum}{name} are needed"
    if left:
        yield f"; left aside: {', '.join(map(to_text, left))}"
