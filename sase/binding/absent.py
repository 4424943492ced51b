"""What is asked of a branch: conditions without what concerns variables that it does not have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import fields, replace

from sase.lang import ast


def asked_of_branch(
    written: Iterable[ast.Expression], absent: Set[str], negative: Set[str]
) -> Iterator[ast.Expression]:
    """The conjuncts that a branch without some variables is asked, of those some negative ones.

    An atomic condition on an absent variable drops out of its AND or OR. A conjunct of which
    nothing remains, or that mentions an absent negative variable, is not asked.
    """
    for node in written:
        for conjunct in _conjuncts(node):
            if _variables(conjunct) & absent & negative:
                continue
            left = _without(conjunct, absent)
            if left is not None:
                yield left


def asked_of_match(node: ast.Expression, vacuous: Set[str]) -> ast.Expression | None:
    """What HAVING asks of the matches of a branch without some variables written with `?`.

    Of the events of such a variable it holds as it does where it is empty: there is none.
    """
    asked = tuple(each for each in _conjuncts(node) if not _events_of(each) & vacuous)
    if not asked:
        return None
    return asked[0] if len(asked) == 1 else ast.And(asked, span=node.span)


def _conjuncts(node: ast.Expression, negated: bool = False) -> Iterator[ast.Expression]:
    """The operands of the one flat conjunction, as it is once NOT is pushed inwards."""
    match node:
        case ast.Not(operand=operand):
            yield from _conjuncts(operand, not negated)
        case ast.And(operands=operands) if not negated:
            for operand in operands:
                yield from _conjuncts(operand, negated)
        case ast.Or(operands=operands) if negated:
            for operand in operands:
                yield from _conjuncts(operand, negated)
        case _:
            yield ast.Not(node, span=node.span) if negated else node


def _without(node: ast.Expression, absent: Set[str]) -> ast.Expression | None:
    """A condition without its atomic conditions on absent variables; None if nothing remains.

    What remains of one conjunct stays one: AND and OR keep an operand that is left alone.
    """
    match node:
        case ast.Not(operand=operand):
            left = _without(operand, absent)
            return None if left is None else replace(node, operand=left)
        case ast.And(operands=operands) | ast.Or(operands=operands):
            kept = tuple(each for o in operands if (each := _without(o, absent)) is not None)
            return replace(node, operands=kept) if kept else None
    return None if _variables(node) & absent else node


def _variables(node: object) -> frozenset[str]:
    """The variables that an expression mentions."""
    return frozenset(each.variable.text for each in _references(node) if each.variable)


def _events_of(node: object) -> frozenset[str]:
    """The variables of whose events, not of the length alone, it mentions an attribute."""
    found = (each for each in _references(node) if isinstance(each, ast.Attribute))
    return frozenset(
        each.variable.text for each in found if each.variable and each.name.text.lower() != "len"
    )


def _references(node: object) -> Iterator[ast.Attribute | ast.Indexed]:
    match node:
        case ast.Attribute() | ast.Indexed():
            yield node
        case tuple():
            for each in node:
                yield from _references(each)
        case ast.Node():
            for field in fields(node):
                if field.name != "span":
                    yield from _references(getattr(node, field.name))
