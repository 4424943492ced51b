"""Which values conditions on one attribute let pass, as far as constants tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import combinations
from typing import TypeAlias

from sase.binding import bound
from sase.binding.types import DataType, Kind
from sase.lang.ast import TURNED

# The least and the greatest value, each with whether it is itself let pass.
Bound: TypeAlias = tuple[bound.Scalar, bool] | None
Range: TypeAlias = tuple[Bound, Bound]


# Conditions on one attribute that are compared in pairs, where all together leave no value.
MOST_COMPARED = 200


def first_exclusion(conditions: Sequence[bound.Condition]) -> tuple[int, int] | None:
    """The places of the first two conditions on equal attributes that no value satisfies both.

    Only what compares attributes of one type with the same kind of constants is compared, and no
    numbers with a point beside what may be floats.
    """
    alike: dict[tuple[frozenset[Kind], frozenset[DataType]], list[int]] = {}
    for place, condition in enumerate(conditions):
        alike.setdefault(_types(condition), []).append(place)
    pairs = (
        _first_pair(places, [ranges(conditions[place]) for place in places])
        for (constants, read), places in alike.items()
        if len(constants) == 1
        and len(places) > 1
        and (Kind.DECIMAL not in constants or _are_exact(read))
    )
    return min((pair for pair in pairs if pair is not None), default=None)


def _are_exact(types: frozenset[DataType]) -> bool:
    return all(each.kind in (Kind.INTEGER, Kind.DECIMAL) for each in types)


def _first_pair(places: list[int], passing: list[list[Range]]) -> tuple[int, int] | None:
    """The first two of many conditions that let no value in common pass."""
    if reduce(lambda left, each: list(_common(left, each)), passing):
        return None  # some value passes all, as mostly, so any two have one in common
    for one, other in combinations(range(min(len(passing), MOST_COMPARED)), 2):
        if next(_common(passing[one], passing[other]), None) is None:
            return places[one], places[other]
    return None


def _common(mine: list[Range], its: list[Range]) -> Iterator[Range]:
    """Yield what two lists of ranges share, each in order and without overlaps."""
    one = other = 0
    while one < len(mine) and other < len(its):
        (low, high), (its_low, its_high) = mine[one], its[other]
        is_first = _is_within(high, its_high)
        if not (_below(high, its_low) or _below(its_high, low)):
            yield (its_low if _is_above(its_low, low) else low), (high if is_first else its_high)
        one, other = one + is_first, other + (not is_first)


def _is_within(high: Bound, other: Bound) -> bool:
    """Whether all up to one bound is up to the other."""
    if high is None or other is None:
        return other is None
    return high[0] < other[0] or (high[0] == other[0] and high[1] <= other[1])  # type: ignore[operator]


def _is_above(low: Bound, other: Bound) -> bool:
    """Whether a lower bound leaves less than another."""
    if low is None or other is None:
        return other is None
    return low[0] > other[0] or (low[0] == other[0] and low[1] < other[1])  # type: ignore[operator]


def ranges(condition: bound.Condition) -> list[Range]:
    """The ranges of values that a condition lets pass; one without bounds where that is unknown.

    They are in order.
    """
    everything: list[Range] = [(None, None)]
    match condition:
        case bound.Membership(values=values, negated=False):
            if not all(isinstance(value, bound.Constant) for value in values):
                return everything
            known = {value.value for value in values if isinstance(value, bound.Constant)} - {None}
            return [((value, True), (value, True)) for value in sorted(known)]  # type: ignore[type-var]
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
            return [(_bound(value, True), _bound(value, True))]
        case "<" | "<=":
            return [(None, _bound(value, operator == "<="))]
        case ">" | ">=":
            return [(_bound(value, operator == ">="), None)]
    return []


def _bound(value: bound.Expression, inclusive: bool) -> Bound:
    if isinstance(value, bound.Constant) and value.value is not None:
        return value.value, inclusive
    return None


def _below(high: Bound, low: Bound) -> bool:
    """Whether everything up to the one bound is less than everything from the other on."""
    if high is None or low is None:
        return False
    (most, is_in), (least, is_in_too) = high, low
    if most == least:
        return not (is_in and is_in_too)
    return bool(most < least)  # type: ignore[operator]


def _types(condition: bound.Condition) -> tuple[frozenset[Kind], frozenset[DataType]]:
    """The kinds of the constants of a condition, and the types of the attributes that it reads."""
    parts: tuple[object, ...] = ()
    match condition:
        case bound.Comparison(left=left, right=right):
            parts = (left, right)
        case bound.Membership(operand=operand, values=values):
            parts = (operand, *values)
        case bound.Between(operand=operand, low=low, high=high):
            parts = (operand, low, high)
    constants = frozenset(part.type.kind for part in parts if isinstance(part, bound.Constant))
    return constants, frozenset(part.type for part in parts if isinstance(part, bound.Reference))
