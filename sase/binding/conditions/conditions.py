"""Normalize conditions: push NOT to the atoms, flatten AND and OR, fold constants."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from sase.binding.bound import (
    All,
    Any,
    Between,
    Comparison,
    Condition,
    Constant,
    Expression,
    Like,
    Membership,
    NullTest,
    Operation,
    Placeholder,
    Reference,
    Truth,
)
from sase.binding.conditions.parts import references
from sase.binding.names.scope import Scope, is_unknown
from sase.binding.types import BOOLEAN, STRING, DataType, Kind
from sase.binding.values.folding import fold_comparison, fold_operation
from sase.binding.values.functions import LONGEST_PATTERN
from sase.binding.values.literals import beside, bind_literal, is_written, listed_parameter
from sase.binding.values.time_zones import warn_of_zones
from sase.binding.values.values import bind_operand, bind_value, joined_texts, on_raw_time
from sase.lang import ast
from sase.lang.printer import to_text
from sase.source import Span

LONGEST_QUOTED = 40

OPPOSITES: dict[ast.ComparisonOperator, ast.ComparisonOperator] = {
    "=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
}  # fmt: skip


def bind_condition(node: ast.Expression, scope: Scope, negated: bool = False) -> Condition:
    """Return the condition, or with `negated` its opposite, in normal form."""
    match node:
        case ast.Not(operand=operand):
            return bind_condition(operand, scope, not negated)
        case ast.And(operands=operands) | ast.Or(operands=operands):
            bound = [bind_condition(operand, scope, negated) for operand in operands]
            conjunction = isinstance(node, ast.And) != negated
            return combined(All if conjunction else Any, bound, node.span)
        case ast.Comparison():
            return _comparison(node, scope, negated)
        case ast.Membership():
            return _membership(node, scope, negated)
        case ast.Between():
            return _between(node, scope, negated)
        case ast.Like():
            return _like(node, scope, negated)
        case ast.NullTest():
            return _null_test(node, scope, negated)
        case ast.Equivalence():
            return _misplaced_equivalence(node, scope)
        case ast.Boolean(value=value):
            return Truth(value != negated, span=node.span)
    return _bare_boolean(node, scope, negated)


def combined(make: type[All] | type[Any], operands: list[Condition], span: Span) -> Condition:
    """A conjunction or disjunction, flattened, without operands of known truth."""
    decisive = make is Any  # TRUE decides an OR, FALSE an AND; the opposite is dropped
    flat = list(_flattened(make, operands))
    if any(isinstance(operand, Truth) and operand.value is decisive for operand in flat):
        if make is All and any(True for operand in flat for _ in references(operand)):
            return All(tuple(flat), span=span)  # false for these events only
        return Truth(decisive, span=span)
    left = [operand for operand in flat if not isinstance(operand, Truth)]
    if not left:
        return Truth(not decisive, span=span)
    # One written conjunct stays one: a conjunction left over from an OR is not flattened.
    is_one = len(left) == 1 and not (make is Any and isinstance(left[0], All))
    return left[0] if is_one else make(tuple(left), span=span)


def _flattened(make: type[All] | type[Any], operands: list[Condition]) -> Iterator[Condition]:
    for operand in operands:
        if isinstance(operand, make):
            yield from operand.operands
        else:
            yield operand


# ---------------------------------------------------------------- atoms


def _decided(node: ast.Node, operands: list[Expression], test: Callable[..., bool]) -> Truth | None:
    """The truth of an atom if all operands are constants, else None."""
    values = [operand.value for operand in operands if isinstance(operand, Constant)]
    if len(values) < len(operands):
        return None
    return Truth(test(*values), span=node.span)


def _compatible(left: Expression, right: Expression, node: ast.Node, scope: Scope) -> bool:
    if left.type.compares_with(right.type):
        return True
    scope.problems.error(
        "incompatible-types",
        f"{_described(left, scope)} and {_described(right, scope)}: they cannot be compared",
        node.span,
        _comparison_hint(left, right, scope),
    )
    return False


def _described(value: Expression, scope: Scope) -> str:
    """A value as written, with its type, for messages."""
    written = " ".join(scope.problems.source.text[slice(*value.span)].split())
    subject = f"`{written}`" if len(written) <= LONGEST_QUOTED else "this"
    return f"{subject} is {value.type.described()}"


def _comparison_hint(left: Expression, right: Expression, scope: Scope) -> str:
    kinds = {left.type.kind, right.type.kind}
    nested = next((each for each in (left, right) if each.type.parts), None)
    if isinstance(nested, Reference):
        return nested_hint(nested, scope)
    if Kind.TIMESTAMP in kinds and scope.schema.has_raw_time:
        return f"the time column `{scope.schema.time}` holds plain numbers: compare it with one"
    if kinds == {Kind.TIMESTAMP, Kind.INTERVAL}:
        return "an interval is compared with  time_of_day(x.ts)  or a difference of two timestamps"
    if Kind.TIMESTAMP in kinds:
        return "a point in time is written  TIMESTAMP '2026-01-31 12:00:00'  or  DATE '2026-01-31'"
    if Kind.INTERVAL in kinds:
        return "an interval is written  5 minutes , and the difference of two timestamps is one"
    if Kind.STRING in kinds and kinds & {Kind.INTEGER, Kind.FLOAT, Kind.DECIMAL}:
        return "numbers stand without quotes, texts with them"
    if Kind.BOOLEAN in kinds:
        return "a boolean is compared with TRUE or FALSE"
    if Kind.OTHER in kinds:
        return "cast the column to a text or a number before, as SQL or a data frame can"
    return "compare values of one kind"


def nested_hint(value: Reference, scope: Scope) -> str:
    """The ways to compare a value of a nested column."""
    written = " ".join(scope.problems.source.text[slice(*value.span)].split())
    search = f" , or search it:  list_contains({written}, 'a')" if value.type.is_list else ""
    return value.type.named_inside(written) + search


def _comparison(node: ast.Comparison, scope: Scope, negated: bool) -> Condition:
    operator = OPPOSITES[node.operator] if negated else node.operator
    left, right = bind_operand(node.left, scope), bind_operand(node.right, scope)
    left, right = beside(left, right.type), beside(right, left.type)
    left, right = on_raw_time(left, right, scope)
    if not _compatible(left, right, node, scope):
        return Truth(True, span=node.span)
    warn_of_zones((left, right), scope)
    for side, other in ((left, node.right), (right, node.left)):
        if isinstance(side, Constant) and side.type.kind is Kind.NULL:
            scope.problems.warning(
                "comparison-with-null",
                "a comparison with NULL is never true",
                node.span,
                f"write  {to_text(other)} IS {'NOT ' if operator == '!=' else ''}NULL",
            )
    decided = _decided(node, [left, right], lambda a, b: fold_comparison(operator, a, b))
    return decided or Comparison(operator, left, right, span=node.span)


def _membership(node: ast.Membership, scope: Scope, negated: bool) -> Condition:
    operand = bind_operand(node.operand, scope)
    values: list[Constant | Placeholder] = []
    fitting: DataType | None = None
    for value, found in _listed(node.values, scope):
        bound = beside(found, operand.type)
        if bound.type is not fitting:  # most are of one type
            _, bound = on_raw_time(operand, bound, scope)
            if not _compatible(operand, bound, value, scope):
                continue
            fitting = bound.type
        assert isinstance(bound, Constant | Placeholder)
        values.append(bound)
    warn_of_zones((operand, *values), scope)
    known = tuple(v for v in values if not (isinstance(v, Constant) and v.value is None))
    wanted = node.negated != negated
    decided = _decided(
        node,
        [operand, *known],
        lambda value, *others: (
            value is not None
            and any(fold_comparison("=", value, other) for other in others) != wanted
        ),
    )
    return decided or Membership(operand, known, wanted, span=node.span)


def _listed(
    nodes: tuple[ast.Expression, ...], scope: Scope
) -> Iterator[tuple[ast.Expression, Expression]]:
    """The literals of a list; a parameter may be a list of them."""
    for node in nodes:
        several = listed_parameter(node, scope) if isinstance(node, ast.Parameter) else None
        for found in [bind_operand(node, scope)] if several is None else several:
            yield node, found


def _between(node: ast.Between, scope: Scope, negated: bool) -> Condition:
    operand, low, high = (bind_operand(v, scope) for v in (node.operand, node.low, node.high))
    if is_written(operand) and beside(operand, low.type) != beside(operand, high.type):
        return _between_others(node, scope, negated)
    low, high = beside(low, operand.type), beside(high, operand.type)
    operand = beside(operand, low.type)
    for bound in (low, high):
        operand = on_raw_time(operand, bound, scope)[0]
    low, high = (on_raw_time(operand, bound, scope)[1] for bound in (low, high))
    if not all(_compatible(operand, bound, node, scope) for bound in (low, high)):
        return Truth(True, span=node.span)
    warn_of_zones((operand, low, high), scope)
    wanted = node.negated != negated
    decided = _decided(
        node,
        [operand, low, high],
        lambda value, least, most: (
            None not in (value, least, most)
            and (fold_comparison("<=", least, value) and fold_comparison("<=", value, most))
            != wanted
        ),
    )
    return decided or Between(operand, low, high, wanted, span=node.span)


def _between_others(node: ast.Between, scope: Scope, negated: bool) -> Condition:
    """BETWEEN as two comparisons, since its bounds compare the number differently."""
    span, bounds = node.span, (node.low, node.high)
    sides = (
        ast.Comparison("<=", node.low, node.operand, span=span),
        ast.Comparison("<=", node.operand, node.high, span=span),
    )
    wanted = node.negated != negated
    bound = [bind_condition(each, scope, wanted) for each in sides]
    if not wanted:
        return combined(All, bound, span)
    known: list[Condition] = [NullTest(bind_value(v, scope), True, span=v.span) for v in bounds]
    return combined(All, [*known, combined(Any, bound, span)], span)


def _like(node: ast.Like, scope: Scope, negated: bool) -> Condition:
    operand = bind_value(node.operand, scope)
    pattern = bind_literal(node.pattern, scope)
    assert isinstance(pattern, Constant | Placeholder)
    for value in (operand, pattern):
        if not value.type.compares_with(STRING):
            scope.problems.error(
                "incompatible-types",
                f"{'I' * node.in_any_case}LIKE is for texts, and {_described(value, scope)}",
                value.span,
                "compare numbers and times with  =  <  BETWEEN",
            )
            return Truth(True, span=node.span)
    text = pattern.value if isinstance(pattern, Constant) else None
    if isinstance(text, str) and len(text) > LONGEST_PATTERN:
        scope.problems.error(
            "pattern-too-long",
            f"LIKE takes {LONGEST_PATTERN:,} characters at most, and this has {len(text):,}",
            pattern.span,
            "compare a long text with  =  or look for a shorter part of it",
        )
        return Truth(True, span=node.span)
    if node.in_any_case:
        operand, lowered = _lowered(operand), _lowered(pattern)
        assert isinstance(lowered, Constant | Placeholder)
        pattern = lowered
    return Like(operand, pattern, node.negated != negated, span=node.span)


def _lowered(value: Expression) -> Expression:
    """A text in lower case; a parameter without a value stays, as no plan with it runs."""
    if isinstance(value, Constant):
        return replace(value, value=fold_operation("lower", [value.value]))
    if isinstance(value, Placeholder):
        return value
    return Operation(STRING, "lower", (value,), span=value.span)


def _null_test(node: ast.NullTest, scope: Scope, negated: bool) -> Condition:
    operand = bind_value(node.operand, scope)
    wanted = node.negated != negated
    decided = _decided(node, [operand], lambda value: (value is None) != wanted)
    return decided or NullTest(operand, wanted, span=node.span)


def _bare_boolean(node: ast.Expression, scope: Scope, negated: bool) -> Condition:
    value = bind_value(node, scope)
    allowed: DataType = value.type
    if allowed.kind not in (Kind.BOOLEAN, Kind.UNKNOWN):
        hints = tuple(joined_texts(node, scope))
        scope.problems.error(
            "value-as-condition",
            f"a condition is needed here, and {_described(value, scope)}",
            node.span,
            *(hints or (f"compare it with something:  {to_text(node)} = …",)),
        )
        return Truth(True, span=node.span)
    if is_unknown(value):
        return Truth(True, span=node.span)
    truth = Constant(BOOLEAN, not negated, span=node.span)
    decided = _decided(node, [value], lambda given: given is not None and given != negated)
    return decided or Comparison("=", value, truth, span=node.span)


def _misplaced_equivalence(node: ast.Equivalence, scope: Scope) -> Condition:
    names = [c.variable for c in scope.components if c.named and not c.is_series][:2]
    first, second = (*names, "x", "y")[:2]
    attribute = node.tests[0].attribute.text
    scope.problems.error(
        "misplaced-equivalence",
        f"the equivalence test `{to_text(node)}` may only be joined to the whole of WHERE by AND",
        node.span,
        f"inside OR or NOT compare the attributes:  {first}.{attribute} = {second}.{attribute}",
    )
    return Truth(True, span=node.span)
