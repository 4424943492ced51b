"""Value ranges of conditions, conditions that exclude each other, and extremes of a series."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import combinations, product
from math import prod
from typing import TypeAlias

from sase.binding import bound
from sase.binding.bound import (
    Aggregate,
    All,
    Any,
    Between,
    BoundComponent,
    Comparison,
    Condition,
    Conjunct,
    ConjunctClass,
    Expression,
    NullTest,
    Part,
    Quantified,
    Reference,
    When,
)
from sase.binding.conditions.parts import references, with_values
from sase.binding.types import DataType, Kind
from sase.lang.ast import TURNED, ComparisonOperator
from sase.planning.reasoning.consistency import Classified, Consistency, classified

# ---------------------------------------------------------------- value ranges

# The least and the greatest value, each with whether it is included.
Bound: TypeAlias = tuple[bound.Scalar, bool] | None
Range: TypeAlias = tuple[Bound, Bound]


# The most conditions on one attribute that are compared in pairs, if no value satisfies all.
MOST_COMPARED = 200


def first_exclusion(conditions: Sequence[bound.Condition]) -> tuple[int, int] | None:
    """The indexes of the first two conditions on one attribute that no value satisfies both.

    Only conditions on attributes of one type with constants of one kind are compared. Numbers with
    a point are not compared beside attributes that may be floats.
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
    """The first two of many conditions that accept no common value."""
    if reduce(lambda left, each: list(_common(left, each)), passing):
        return None  # some value satisfies all, as is usual, so each two have one in common
    for one, other in combinations(range(min(len(passing), MOST_COMPARED)), 2):
        if next(_common(passing[one], passing[other]), None) is None:
            return places[one], places[other]
    return None


def _common(mine: list[Range], its: list[Range]) -> Iterator[Range]:
    """Yield the intersections of two lists of ranges, each in order and without overlaps."""
    one = other = 0
    while one < len(mine) and other < len(its):
        (low, high), (its_low, its_high) = mine[one], its[other]
        is_first = _is_within(high, its_high)
        if not (_below(high, its_low) or _below(its_high, low)):
            yield (its_low if _is_above(its_low, low) else low), (high if is_first else its_high)
        one, other = one + is_first, other + (not is_first)


def _is_within(high: Bound, other: Bound) -> bool:
    """Whether an upper bound is at most another."""
    if high is None or other is None:
        return other is None
    return high[0] < other[0] or (high[0] == other[0] and high[1] <= other[1])  # type: ignore[operator]


def _is_above(low: Bound, other: Bound) -> bool:
    """Whether a lower bound is stricter than another."""
    if low is None or other is None:
        return other is None
    return low[0] > other[0] or (low[0] == other[0] and low[1] < other[1])  # type: ignore[operator]


def ranges(condition: bound.Condition) -> list[Range]:
    """The ranges of values that a condition accepts, in order; one without bounds if unknown."""
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
    """Whether all values up to one bound are less than all from the other one on."""
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


# ---------------------------------------------------------------- exclusion

# The orders of two values that a comparison accepts, as bits: less, equal, more. NULL, which NaN
# is, has none.
ACCEPTED: dict[ComparisonOperator, int] = {
    "<": 0b001, "=": 0b010, "<=": 0b011, ">": 0b100, "!=": 0b101, ">=": 0b110,
}  # fmt: skip
_Compared: TypeAlias = tuple[Expression, Expression]
# The most combinations of operands, one of each OR, that are examined.
_MOST_WAYS = 64


def exclude(one: Sequence[Condition], other: Sequence[Condition]) -> bool:
    """Whether some conditions are never true where others are, by the orders of compared values.

    Two comparisons of the same values exclude each other if they accept no common order. That is
    true for values of any kind, since they have one order or none. So equal references must mean
    equal events, and attributes that every event has: an undeclared one makes a condition true.
    """
    conditions = [*one, *other]
    choices = [_operands(each) for each in conditions]
    if prod(map(len, choices)) > _MOST_WAYS:
        choices = [[each] for each in conditions]
    return all(_contradict(chosen) for chosen in product(*choices))


def _operands(condition: Condition) -> Sequence[Condition]:
    return condition.operands if isinstance(condition, Any) else (condition,)


def _contradict(conditions: Sequence[Condition]) -> bool:
    """Whether two values would need contradictory orders."""
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
    """The comparisons that are true if a condition is."""
    match condition:
        case All(operands=operands):
            for operand in operands:
                yield from _comparisons(operand)
        case Comparison(operator=operator, left=left, right=right):
            yield operator, left, right
        case Between(operand=operand, low=low, high=high, negated=False):
            yield ">=", operand, low
            yield "<=", operand, high


# ---------------------------------------------------------------- extremes

# An extreme is the value of some event. So `max(a[].p) > 5` is false for every subset of the
# candidates of a series if `a[i].p > 5` is false for each of them, and true for every subset if
# that is true for each. And `max(a[].p) < 5` can only turn false, so no event with a greater value
# is in a match.

# The event that represents a range.
_ONE_OF = {
    Part.ALL: Part.CURRENT,
    Part.UP_TO_CURRENT: Part.CURRENT,
    Part.BEFORE_CURRENT: Part.PREVIOUS,
}
# The operators for which `extreme operator value` holds if it holds for every value of the range.
_OF_ALL = {"max": ("<", "<="), "min": (">", ">=")}


def class_of(conjunct: Conjunct, components: Sequence[BoundComponent]) -> Classified:
    """The class of a condition, ignoring NULL, which the caller must handle."""
    return classified(conjunct, components, lambda _: False)


# ---------------------------------------------------------------- unfolding


def unfolded(conjunct: Conjunct) -> tuple[Conjunct, ...]:
    """Equivalent conditions on single events and neighbours; none if there are none."""
    match conjunct.condition:
        case Comparison(operator=operator, left=Aggregate() as extreme, right=value):
            return tuple(_unfolded(conjunct, extreme, operator, value))
        case Comparison(operator=operator, left=value, right=Aggregate() as extreme):
            return tuple(_unfolded(conjunct, extreme, TURNED[operator], value))
    return ()


def _unfolded(
    conjunct: Conjunct, extreme: Aggregate, operator: str, value: Expression
) -> Iterator[Conjunct]:
    if operator not in _OF_ALL.get(extreme.function, ()) or extreme.undeclared_by != frozenset():
        return
    if extreme.part is Part.BEFORE_CURRENT and value == event_of(extreme, Part.CURRENT):
        # The values before it rise, or fall: the last of them is the greatest, or the least.
        yield replace(conjunct, condition=of_one(conjunct.condition))
    elif extreme.part is Part.UP_TO_CURRENT and _is_known(value, extreme.component):
        # The first event has a value. Every other one has no greater value, or none.
        first, each = event_of(extreme, Part.FIRST), event_of(extreme, Part.CURRENT)
        is_single = conjunct.references == (extreme.component,)
        kind = ConjunctClass.SINGLE if is_single else ConjunctClass.SEVERAL
        new = replace(conjunct, kind=kind, quantified=())
        yield replace(new, condition=_with(conjunct.condition, first), when=When.FIRST)
        yield replace(new, condition=_or_null(conjunct.condition, each), when=When.EVERY)


def _is_known(value: Expression, component: int) -> bool:
    """Whether a value depends only on constants and events before a component."""
    return all(each.part is Part.EVENT and each.component < component for each in references(value))


# ---------------------------------------------------------------- consequences


def implied(conjunct: Conjunct, components: Sequence[BoundComponent]) -> Conjunct | None:
    """The consequence of a true-value consistent condition for each event of a match."""
    extreme = _extreme_of(conjunct)
    if extreme is None or extreme.undeclared_by != frozenset():
        return None
    if class_of(conjunct, components).consistency is not Consistency.TRUE:
        return None
    event = event_of(extreme, _ONE_OF[extreme.part])
    new = replace(conjunct, condition=_or_null(conjunct.condition, event), derived=True)
    if extreme.part is not Part.ALL:
        return new
    if conjunct.component != extreme.component:
        return replace(new, quantified=(Quantified(extreme.component, False),))
    is_single = conjunct.references == (extreme.component,)
    kind = ConjunctClass.SINGLE if is_single else ConjunctClass.SEVERAL
    return replace(new, kind=kind, when=When.EVERY)


def decided_by_candidates(conjunct: Conjunct, components: Sequence[BoundComponent]) -> bool:
    """Whether a condition can be checked on all candidates of a series before any is chosen.

    Besides the extreme it may read the last event of a match.
    """
    extreme, last = _extreme_of(conjunct), components[-1]
    if extreme is None or extreme.part not in (Part.ALL, Part.UP_TO_CURRENT):
        return False
    others = [each for each in references(conjunct.condition) if each is not extreme]
    if not all(each.component == last.index and each.part is Part.EVENT for each in others):
        return False
    own = next(each for each in components if each.index == extreme.component)
    return own.minimum > 0 and (not others or last.is_single)


def decided_by_earlier(conjunct: Conjunct) -> bool:
    """Whether a condition on each event of a series can be checked with all earlier candidates.

    If it is false with each of these, the event is in no match, or in none as a further event.
    """
    extreme = _extreme_of(conjunct)
    if extreme is None or conjunct.component != extreme.component:
        return False
    others = [each for each in references(conjunct.condition) if each is not extreme]
    if extreme.part is Part.UP_TO_CURRENT:
        return not others and conjunct.when is When.EVERY
    is_before = extreme.part is Part.BEFORE_CURRENT and conjunct.when is When.FURTHER
    return is_before and all(each.component == extreme.component for each in others)


def series_of(conjunct: Conjunct) -> int:
    """The component with the series of the extreme."""
    extreme = _extreme_of(conjunct)
    assert extreme is not None, "it is on no extreme"
    return extreme.component


def of_one(condition: Condition) -> Condition:
    """The same condition on one event of the range in place of the extreme."""
    return with_values(condition, _one_of)


def _one_of(value: Reference | Aggregate) -> Reference:
    return value if isinstance(value, Reference) else event_of(value, _ONE_OF[value.part])


def _extreme_of(conjunct: Conjunct) -> Aggregate | None:
    """The extreme of a condition, if that is all it reads of its series."""
    if not isinstance(conjunct.condition, Comparison | Between):
        return None
    found = list(references(conjunct.condition))
    extremes = [each for each in found if isinstance(each, Aggregate)]
    if len(extremes) != 1 or extremes[0].function not in _OF_ALL:
        return None
    (extreme,) = extremes
    others = [each for each in found if each is not extreme]
    # A range that ends at `i` may be compared with the event of `i` itself.
    is_at = extreme.part is not Part.ALL
    return extreme if all(_is_beside(each, extreme, is_at=is_at) for each in others) else None


def _is_beside(reference: Reference | Aggregate, extreme: Aggregate, *, is_at: bool) -> bool:
    if reference.component == extreme.component:
        return is_at and reference.part is Part.CURRENT
    return reference.part is Part.EVENT


def event_of(extreme: Aggregate, part: Part) -> Reference:
    """The attribute of an extreme for one event of its series."""
    assert extreme.attribute is not None
    return Reference(
        extreme.type, extreme.component, part, extreme.attribute, extreme.undeclared_by
    )


def _with(condition: Condition, event: Reference) -> Condition:
    """A condition on an event in place of the extreme."""
    return with_values(condition, lambda each: event if isinstance(each, Aggregate) else each)


def _or_null(condition: Condition, event: Reference) -> Condition:
    """The same, or the event has no value: extremes ignore NULL."""
    return Any((_with(condition, event), NullTest(event, negated=False)))
