"""Conditions that exclude each other: of no events are both true."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import TypeAlias

from sase.binding.bound import All, Any, Between, Comparison, Condition, Expression
from sase.lang.ast import TURNED, ComparisonOperator

# The orders of two values that a comparison accepts, as bits: less, equal, more. With NULL, which
# NaN is, there is none.
ACCEPTED: dict[ComparisonOperator, int] = {
    "<": 0b001, "=": 0b010, "<=": 0b011, ">": 0b100, "!=": 0b101, ">=": 0b110,
}  # fmt: skip
_Compared: TypeAlias = tuple[Expression, Expression]
# So many ways to choose an operand of each OR are looked at.
_MOST_WAYS = 64


def exclude(one: Sequence[Condition], other: Sequence[Condition]) -> bool:
    """Whether some conditions are never true where some others are, as far as orders tell.

    Two comparisons of the same values exclude each other if they accept no order in common, which
    goes for values of any kind, since they are in one order or in none. So equal references must
    mean equal events, and values that every event has: what is undeclared makes conditions true.
    """
    conditions = [*one, *other]
    choices = [_operands(each) for each in conditions]
    if prod(map(len, choices)) > _MOST_WAYS:
        choices = [[each] for each in conditions]
    return all(_contradict(chosen) for chosen in product(*choices))


def _operands(condition: Condition) -> Sequence[Condition]:
    return condition.operands if isinstance(condition, Any) else (condition,)


def _contradict(conditions: Sequence[Condition]) -> bool:
    """Whether two values would have to be in no order."""
    left = dict[_Compared, int]()
    for condition in conditions:
        for operator, one, other in _comparisons(condition):
            if (other, one) in left:
                operator, one, other = TURNED[operator], other, one
            left[one, other] = left.get((one, other), 0b111) & ACCEPTED[operator]
    return 0 in left.values()


def _comparisons(
    condition: Condition,
) -> Iterator[tuple[ComparisonOperator, Expression, Expression]]:
    """The comparisons that are true where a condition is."""
    match condition:
        case All(operands=operands):
            for operand in operands:
                yield from _comparisons(operand)
        case Comparison(operator=operator, left=left, right=right):
            yield operator, left, right
        case Between(operand=operand, low=low, high=high, negated=False):
            yield ">=", operand, low
            yield "<=", operand, high
