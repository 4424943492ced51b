"""Which values conditions on one attribute let pass, as far as constants tell."""

from __future__ import annotations

from typing import TypeAlias

from sase.binding import bound
from sase.binding.types import DataType
from sase.lang.ast import TURNED

# The least and the greatest value, each with whether it is itself let pass.
Bound: TypeAlias = tuple[bound.Scalar, bool] | None
Range: TypeAlias = tuple[Bound, Bound]


def exclude(one: bound.Condition, other: bound.Condition) -> bool:
    """Whether no value satisfies two conditions on the same attribute."""
    if _types(one) != _types(other) or len(_types(one)) != 1:
        return False
    return not any(_meet(mine, its) for mine in ranges(one) for its in ranges(other))


def ranges(condition: bound.Condition) -> list[Range]:
    """The ranges of values that a condition lets pass; one without bounds where that is unknown."""
    everything: list[Range] = [(None, None)]
    match condition:
        case bound.Membership(values=values, negated=False):
            return [_only(value) for value in values]
        case bound.Between(low=low, high=high, negated=False):
            return [(_bound(low, True), _bound(high, True))]
        case bound.Comparison(operator=operator, left=bound.Reference(), right=value):
            return _compared(str(operator), value) or everything
        case bound.Comparison(operator=operator, left=value, right=bound.Reference()):
            return _compared(TURNED[operator], value) or everything
    return everything


def _compared(operator: str, value: bound.Expression) -> list[Range]:
    match operator:
        case "=":
            return [_only(value)]
        case "<" | "<=":
            return [(None, _bound(value, operator == "<="))]
        case ">" | ">=":
            return [(_bound(value, operator == ">="), None)]
    return []


def _only(value: bound.Expression) -> Range:
    return _bound(value, True), _bound(value, True)


def _bound(value: bound.Expression, inclusive: bool) -> Bound:
    if isinstance(value, bound.Constant) and value.value is not None:
        return value.value, inclusive
    return None


def _meet(one: Range, other: Range) -> bool:
    """Whether some value may lie in both."""
    return not (_below(one[1], other[0]) or _below(other[1], one[0]))


def _below(high: Bound, low: Bound) -> bool:
    """Whether everything up to the one bound is less than everything from the other on."""
    if high is None or low is None:
        return False
    (most, is_in), (least, is_in_too) = high, low
    if most == least:
        return not (is_in and is_in_too)
    return bool(most < least)  # type: ignore[operator]


def _types(condition: bound.Condition) -> frozenset[DataType]:
    """The types of the constants of a condition."""
    parts: tuple[object, ...] = ()
    match condition:
        case bound.Comparison(left=left, right=right):
            parts = (left, right)
        case bound.Membership(values=values):
            parts = values
        case bound.Between(low=low, high=high):
            parts = (low, high)
    return frozenset(part.type for part in parts if isinstance(part, bound.Constant))
