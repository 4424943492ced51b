"""docs/semantics.md, Conditions: all, their normal form, their truth, their quantifiers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from itertools import product

from sase.lang import ast
from sase.lang.ast import IndexKind
from tests.naive.expressions import (
    Event,
    Reference,
    Scope,
    equal,
    is_length,
    is_of_group,
    is_undeclared,
    references,
    value,
)
from tests.naive.pattern import iterations_of
from tests.naive.values import Value, compare, like, literal

# ---------------------------------------------------------------- normal form

_OPPOSITE: dict[ast.ComparisonOperator, ast.ComparisonOperator] = {
    "=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<",
}  # fmt: skip


def normal(condition: ast.Expression) -> ast.Expression:
    """docs/semantics.md, Conjuncts: NOT is pushed inwards to the atomic conditions."""
    match condition:
        case ast.Not(operand):
            return opposite(operand)
        case ast.And(operands) | ast.Or(operands):
            return replace(condition, operands=tuple(normal(part) for part in operands))
        case _:
            return condition


def opposite(condition: ast.Expression) -> ast.Expression:
    """NOT of a condition, by De Morgan."""
    match condition:
        case ast.Not(operand):
            return normal(operand)
        case ast.And(operands):
            return ast.Or(tuple(opposite(part) for part in operands))
        case ast.Or(operands):
            return ast.And(tuple(opposite(part) for part in operands))
        case ast.Comparison(operator):
            return replace(condition, operator=_OPPOSITE[operator])
        case ast.Membership() | ast.Between() | ast.Like() | ast.NullTest():
            return replace(condition, negated=not condition.negated)
        case ast.Equivalence():
            raise NotImplementedError("an equivalence test under NOT")
        case _:  # a bare boolean
            return ast.Comparison("=", condition, ast.Boolean(False))


def conjuncts(condition: ast.Expression | None) -> list[ast.Expression]:
    """The operands of the one flat conjunction."""
    if condition is None:
        return []
    return _flat(normal(condition))


def _flat(condition: ast.Expression) -> list[ast.Expression]:
    if isinstance(condition, ast.And):
        return [part for operand in condition.operands for part in _flat(operand)]
    return [condition]


def names(condition: ast.Expression) -> set[str]:
    """The variables that a condition mentions."""
    return {each.variable.text for each in references(condition) if each.variable}


def present(
    condition: ast.Expression,
    absent: Set[str],
    mentioned: Callable[[ast.Expression], Set[str]] = names,
) -> ast.Expression | None:
    """docs/semantics.md, Absent conditions: the rest of a conjunct, if there is any."""
    match condition:
        case ast.And(operands) | ast.Or(operands):
            remaining = [present(part, absent, mentioned) for part in operands]
            kept = tuple(part for part in remaining if part is not None)
            return replace(condition, operands=kept) if kept else None
        case _:
            return None if mentioned(condition) & absent else condition


# ---------------------------------------------------------------- truth


def is_true(condition: ast.Expression, scope: Scope) -> bool:
    """docs/semantics.md, Truth and NULL: every atomic condition is either true or false."""
    match condition:
        case ast.And(operands):
            return all(is_true(part, scope) for part in operands)
        case ast.Or(operands):
            return any(is_true(part, scope) for part in operands)
        case ast.Not():
            raise AssertionError("NOT has been pushed inwards")
        case ast.Equivalence():
            raise NotImplementedError("an equivalence test that is no top-level conjunct")
    if any(is_undeclared(reference, scope) for reference in references(condition)):
        return True  # rule 1
    return _atom(condition, scope)


def _atom(condition: ast.Expression, scope: Scope) -> bool:
    """Rules 2 and 3: false if an operand is NULL, otherwise its own truth."""
    match condition:
        case ast.NullTest(operand, negated):
            return (value(operand, scope) is None) != negated
        case ast.Comparison(operator, left, right):
            return _compared(operator, value(left, scope), value(right, scope), scope)
        case ast.Membership(operand, values, negated):
            each = value(operand, scope)
            found = any(equal(each, v, scope) for v in _listed(values, scope.parameters))
            return each is not None and found != negated
        case ast.Between(operand, low, high, negated):
            each, least, most = (value(part, scope) for part in (operand, low, high))
            if each is None or least is None or most is None:
                return False
            inside = compare(least, each, scope.unit) <= 0 <= compare(most, each, scope.unit)
            return inside != negated
        case ast.Like(operand, pattern, negated, in_any_case):
            text, form = value(operand, scope), literal(pattern, scope.parameters)
            if in_any_case and isinstance(text, str) and isinstance(form, str):
                text, form = text.lower(), form.lower()
            return _alike(text, form, negated)
        case _:
            return _is_the_boolean_true(value(condition, scope))


def _listed(nodes: Sequence[ast.Expression], parameters: Mapping[str, object]) -> Iterator[Value]:
    """The literals of a list; a parameter may be a list itself."""
    for node in nodes:
        given = parameters[node.name] if isinstance(node, ast.Parameter) else None
        if isinstance(given, list):
            yield from (literal(node, {node.name: each}) for each in given)
        else:
            yield literal(node, parameters)


def _compared(operator: ast.ComparisonOperator, left: Value, right: Value, scope: Scope) -> bool:
    if left is None or right is None:
        return False
    sign = compare(left, right, scope.unit)
    return {
        "=": sign == 0,
        "!=": sign != 0,
        "<": sign < 0,
        "<=": sign <= 0,
        ">": sign > 0,
        ">=": sign >= 0,
    }[operator]


def _alike(text: Value, pattern: Value, negated: bool) -> bool:
    if text is None or pattern is None:
        return False
    if not isinstance(text, str) or not isinstance(pattern, str):
        raise NotImplementedError(f"{text!r} LIKE {pattern!r}")
    return like(text, pattern) != negated


def _is_the_boolean_true(truth: Value) -> bool:
    if truth is not None and not isinstance(truth, bool):
        raise NotImplementedError(f"{truth!r} as a condition")
    return truth is True


# ---------------------------------------------------------------- conditions on series


class Part(IntEnum):
    """docs/semantics.md, Runs: the identifiers of a condition, c[1] < c[i] < c as a whole."""

    FIRST = 1
    CURRENT = 2
    WHOLE = 3


_EARLIER = (IndexKind.PREVIOUS, IndexKind.BEFORE_CURRENT)
_NOW = (IndexKind.CURRENT, IndexKind.UP_TO_CURRENT)


@dataclass(frozen=True)
class Condition:
    """A conjunct, the parts of the components it mentions, and over which events its i run."""

    expression: ast.Expression
    parts: frozenset[tuple[int, Part]]
    from_second: frozenset[int]  # components of which it also mentions something earlier

    @cached_property
    def components(self) -> frozenset[int]:
        """The components it mentions."""
        return frozenset(number for number, _ in self.parts)

    def mentions(self, number: int, part: Part) -> bool:
        """Whether it mentions c[1], c[i], or c as a whole."""
        return (number, part) in self.parts

    def is_of_whole(self, step: Sequence[int]) -> bool:
        """Whether it mentions one of these components as a whole."""
        return any(self.mentions(number, Part.WHOLE) for number in step)


def condition(expression: ast.Expression, scope: Scope) -> Condition:
    """docs/semantics.md, Conditions on series: which events a conjunct must hold for."""
    bound = [each for each in references(expression) if not is_of_group(each, scope)]
    parts = frozenset(part for reference in bound for part in _parts(reference, scope))
    earlier = frozenset(
        scope.number(reference.variable)
        for reference in bound
        if isinstance(reference, ast.Indexed)
        and reference.index.kind in (IndexKind.FIRST, *_EARLIER)
    )
    return Condition(expression, parts, earlier)


def _parts(reference: Reference, scope: Scope) -> Iterator[tuple[int, Part]]:
    """Its identifiers: of several iterations the event of each, or whether there is one."""
    if reference.variable is None or iterations_of(reference.variable.text) is None:
        yield _part(reference, scope)
        return
    for number in scope.numbers(reference.variable):
        is_single = scope.components[number].quantifier is None
        yield number, Part.FIRST if is_single else Part.WHOLE


def _part(reference: Reference, scope: Scope) -> tuple[int, Part]:
    number = scope.number(reference.variable)
    if isinstance(reference, ast.Attribute):
        return number, Part.WHOLE if is_length(reference, scope) else Part.CURRENT
    if reference.index.kind == IndexKind.FIRST:
        return number, Part.FIRST
    if reference.index.kind in (*_NOW, *_EARLIER):
        return number, Part.CURRENT
    return number, Part.WHOLE


def holds(condition: Condition, scope: Scope, newest: int | None = None) -> bool:
    """Whether it holds for every i of every series; for `newest` its last event is the only i."""
    ranges = {
        number: _indexes(condition, number, scope, number == newest)
        for number, part in condition.parts
        if part == Part.CURRENT
    }
    return all(
        is_true(condition.expression, scope.with_at(dict(zip(ranges, chosen, strict=True))))
        for chosen in product(*ranges.values())
    )


def _indexes(condition: Condition, number: int, scope: Scope, only_newest: bool) -> range:
    if scope.components[number].quantifier is None:
        return range(1)  # where a result does not have it, it is NULL
    count = len(scope.bound.get(number, ()))
    start = 1 if number in condition.from_second else 0
    return range(max(start, count - 1) if only_newest else start, count)


def is_checked(
    condition: Condition, last: Sequence[int], bound: Mapping[int, tuple[Event, ...]]
) -> bool:
    """On an empty series a condition with a[1] as its last identifier is not checked.

    `last` is its last part in the pattern: a component, or the members of a set.
    """
    return condition.is_of_whole(last) or not any(
        condition.mentions(number, Part.FIRST) and not bound.get(number) for number in last
    )
