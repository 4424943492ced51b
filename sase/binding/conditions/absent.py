"""Reduce conditions to a branch of the pattern: drop the parts on variables that it lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import fields, replace

from sase.lang import ast
from sase.lang.ast import IndexKind


def asked_of_branch(
    written: Iterable[ast.Expression], absent: Set[str], negative: Set[str]
) -> Iterator[ast.Expression]:
    """The conjuncts for a branch without the `absent` variables, some of which are `negative`.

    An atomic condition on an absent variable is dropped from its AND or OR. A conjunct is dropped
    if nothing remains of it, or if it mentions an absent negative variable.
    """
    for node in written:
        for conjunct in conjuncts_of(node):
            left = asked_without(conjunct, absent, negative, variables_in)
            if left is not None:
                yield left


def asked_without(
    conjunct: ast.Expression,
    absent: Set[str],
    negative: Set[str],
    variables: Callable[[ast.Expression], Set[str]],
) -> ast.Expression | None:
    """The rest of a conjunct, or None; `variables` returns those that an expression needs."""
    if variables(conjunct) & absent & negative:
        return None
    return _without(conjunct, absent, variables)


def asked_of_match(node: ast.Expression, vacuous: Set[str]) -> ast.Expression | None:
    """The HAVING condition for a branch in which `vacuous` variables with `?` have no event.

    A conjunct on the events of such a variable holds, as for an empty series.
    """
    asked = tuple(each for each in conjuncts_of(node) if not _events_of(each) & vacuous)
    if not asked:
        return None
    return asked[0] if len(asked) == 1 else ast.And(asked, span=node.span)


def conjuncts_of(node: ast.Expression, negated: bool = False) -> Iterator[ast.Expression]:
    """The operands of the flat conjunction, once NOT is pushed inwards."""
    match node:
        case ast.Not(operand=operand):
            yield from conjuncts_of(operand, not negated)
        case ast.And(operands=operands) if not negated:
            for operand in operands:
                yield from conjuncts_of(operand, negated)
        case ast.Or(operands=operands) if negated:
            for operand in operands:
                yield from conjuncts_of(operand, negated)
        case _:
            yield ast.Not(node, span=node.span) if negated else node


def _without(
    node: ast.Expression, absent: Set[str], variables: Callable[[ast.Expression], Set[str]]
) -> ast.Expression | None:
    """A condition without its atoms on absent variables; None if nothing remains.

    The rest of one conjunct stays one conjunct: an AND or OR keeps its last operand.
    """
    match node:
        case ast.Not(operand=operand):
            left = _without(operand, absent, variables)
            return None if left is None else replace(node, operand=left)
        case ast.And(operands=operands) | ast.Or(operands=operands):
            found = (_without(each, absent, variables) for each in operands)
            kept = tuple(each for each in found if each is not None)
            return replace(node, operands=kept) if kept else None
    return None if variables(node) & absent else node


def variables_in(node: object) -> frozenset[str]:
    """The variables that an expression mentions."""
    inner = frozenset(each.variable.text for each in references_in(node) if each.variable)
    return inner | frozenset(each.group.text for each in of_iterations(node))


def at_hand(node: object) -> frozenset[str]:
    """The variables read in the current iteration, or outside of groups."""
    match node:
        case ast.InGroup(index=index) if index.kind is not IndexKind.CURRENT:
            return frozenset()
        case ast.Attribute() | ast.Indexed():
            return frozenset((node.variable.text,)) if node.variable else frozenset()
    return frozenset().union(*map(at_hand, _parts(node)))


def of_iterations(node: object) -> Iterator[ast.InGroup]:
    """The references of an expression that name the iteration of a group."""
    if isinstance(node, ast.InGroup):
        yield node
        return
    for part in _parts(node):
        yield from of_iterations(part)


def _events_of(node: object) -> frozenset[str]:
    """The variables of which an expression reads events, not only the length."""
    found = (each for each in references_in(node) if isinstance(each, ast.Attribute))
    return frozenset(
        each.variable.text for each in found if each.variable and each.name.text.lower() != "len"
    )


def references_in(node: object) -> Iterator[ast.Attribute | ast.Indexed]:
    """The references of an expression to variables, in any iteration."""
    if isinstance(node, ast.Attribute | ast.Indexed):
        yield node
        return
    for part in _parts(node):
        yield from references_in(part)


def _parts(node: object) -> Iterator[object]:
    match node:
        case tuple():
            yield from node
        case ast.Node():
            yield from (getattr(node, each.name) for each in fields(node) if each.name != "span")
