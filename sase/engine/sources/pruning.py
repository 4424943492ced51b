"""Row groups and files that a query needs not read, as their statistics prove.

They have no bad row, and no row of them meets the conditions on any single event of the pattern. In
a sequence a bound of the time of one event is also one of the events before or after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple, Self, TypeAlias

from sase.binding import bound
from sase.binding.bound import BoundComponent
from sase.binding.types import Kind
from sase.lang.ast import TURNED
from sase.planning.engine_plan import EnginePlan, Reads
from sase.planning.plan.nodes import SequenceScan
from sase.planning.plan.traversal import conditions_on

# An integer, nanoseconds since 1970, or a text.
Plain: TypeAlias = int | str
_ORDERS = {"<": "<=", "<=": "<=", ">": ">=", ">=": ">="}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class ColumnBounds(NamedTuple):
    """The least and the greatest value of a column in some rows, and whether it may be NULL."""

    least: Plain
    greatest: Plain
    has_nulls: bool = False


class ColumnRange(NamedTuple):
    """A condition on a column: the values from `least` to `greatest`; None has no bound."""

    column: str
    least: Plain | None
    greatest: Plain | None

    def may_hold(self, bounds: Mapping[str, ColumnBounds]) -> bool:
        """Whether a row within the bounds may meet it."""
        found = bounds.get(self.column)
        if found is None:
            return True
        sides = ((found.greatest, self.least), (self.greatest, found.least))
        return all(
            high is None or low is None or type(high) is not type(low) or high >= low  # type: ignore[operator]
            for high, low in sides
        )


class Wanted(NamedTuple):
    """An event of a component: its types, and conditions on it of which all must hold."""

    types: frozenset[str]
    # Of each alternative one range must hold.
    ranges: tuple[tuple[ColumnRange, ...], ...]


@dataclass(frozen=True)
class PruningPredicate:
    """The events that matter, the type column, and the columns that a query names.

    NULL in a column of `roles` makes a row bad.
    """

    components: tuple[Wanted, ...]
    column: str
    named: frozenset[str]
    roles: frozenset[str]

    @classmethod
    def of(cls, plan: Reads) -> PruningPredicate | None:
        """That of a plan; None if each event counts."""
        schema = plan.schema
        if schema.type is None or not isinstance(plan, EnginePlan) or plan.types_wanted is None:
            return None
        if schema.is_imprecise:  # a row is bad if its times are not in order
            return None
        roles = frozenset(name for name in schema.roles if name is not None)
        return cls(tuple(_wanted(plan)), schema.type, plan.named, roles)

    def renamed(self, names: Mapping[str, str]) -> Self:
        """The same for columns of other names."""

        def other(name: str) -> str:
            return names.get(name, name)

        components = tuple(
            Wanted(
                each.types,
                tuple(
                    tuple(one._replace(column=other(one.column)) for one in any_of)
                    for any_of in each.ranges
                ),
            )
            for each in self.components
        )
        column, named = other(self.column), frozenset(map(other, self.named))
        roles = frozenset(map(other, self.roles))
        return replace(self, components=components, column=column, named=named, roles=roles)

    @property
    def columns(self) -> frozenset[str]:
        """The columns of which bounds are useful."""
        ranged = (one.column for c in self.components for any_of in c.ranges for one in any_of)
        return frozenset((self.column, *self.roles, *ranged))

    def may_match(self, bounds: Mapping[str, ColumnBounds]) -> bool:
        """Whether rows within these bounds may have a bad row, or an event that matters."""
        for name in self.roles:
            if name not in bounds or bounds[name].has_nulls:
                return True
        return any(
            any(ColumnRange(self.column, name, name).may_hold(bounds) for name in each.types)
            and all(any(one.may_hold(bounds) for one in any_of) for any_of in each.ranges)
            for each in self.components
        )


def plain(value: object, *, later: timedelta = timedelta()) -> Plain | None:
    """A value of statistics as bounds have it; None for a value of another kind."""
    if isinstance(value, bool):
        return None
    if isinstance(value, datetime):
        moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return (moment - _EPOCH + later) // timedelta(microseconds=1) * 1_000
    if isinstance(value, date):
        return (value - _EPOCH.date()).days * 86_400 * 10**9
    return value if isinstance(value, int | str) else None


# ---------------------------------------------------------------- conditions of a plan


def _wanted(plan: EnginePlan) -> Iterator[Wanted]:
    """Yield the events of each component, in all branches."""
    for own in plan.branches or (plan,):
        ranges = {each.index: list(_ranges(own, each)) for each in own.positives}
        times, shared = _times_in_order(own, ranges), list(_shared(own, ranges))
        for component in (*own.positives, *own.negatives):
            every = list(ranges.get(component.index) or _ranges(own, component))
            # The components of a negative sequence are numbered after all others.
            known = times if component.inside is None else []
            every += [*shared, *((each,) for each in _derived(own.schema.time, component, known))]
            yield Wanted(frozenset(component.types or ()), tuple(every))


def _ranges(plan: EnginePlan, component: BoundComponent) -> Iterator[tuple[ColumnRange, ...]]:
    """Yield the conditions on one event that statistics can decide."""
    if not plan.watches_all:  # else an event counts although it does not meet its conditions
        for condition in conditions_on(plan.operators, component.index):
            yield from _ranges_of(condition)


def _ranges_of(condition: bound.Condition) -> Iterator[tuple[ColumnRange, ...]]:
    match condition:
        case bound.All(operands):
            for each in operands:
                yield from _ranges_of(each)
        case bound.Comparison(operator, bound.Constant() as left, right):
            yield from _compared(TURNED[operator], right, left)
        case bound.Comparison(operator, left, bound.Constant() as right):
            yield from _compared(operator, left, right)
        case bound.Between(
            operand, bound.Constant() as low, bound.Constant() as high, negated=False
        ):
            yield from _compared(">=", operand, low)
            yield from _compared("<=", operand, high)
        case bound.Membership(operand, values, negated=False):
            found = [
                one
                for value in values
                if isinstance(value, bound.Constant)
                for (one,) in _compared("=", operand, value)
            ]
            if len(found) == len(values):
                yield tuple(found)


def _compared(
    operator: str, left: bound.Expression, right: bound.Constant
) -> Iterator[tuple[ColumnRange]]:
    value = right.value
    if not isinstance(left, bound.Reference) or left.undeclared_by != frozenset():
        return
    kind = left.type.kind
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    is_exact = is_integer and kind is right.type.kind and kind in (Kind.INTEGER, Kind.TIMESTAMP)
    if is_exact or (isinstance(value, str) and kind is Kind.STRING and operator == "="):
        assert isinstance(value, int | str)
        way = _ORDERS.get(operator, operator)
        if way in ("=", "<=", ">="):
            least, greatest = (None if way == "<=" else value), (None if way == ">=" else value)
            yield (ColumnRange(left.attribute, least, greatest),)


def _shared(
    plan: EnginePlan, ranges: Mapping[int, list[tuple[ColumnRange, ...]]]
) -> Iterator[tuple[ColumnRange, ...]]:
    """Yield the conditions on attributes on which all events agree, so each event meets them."""
    tests = [each for each in plan.scan.tests if not (each.by_type or each.attributes)]
    agreed = {each.attribute for each in tests if all(each.declared)}
    for component in plan.positives:
        if component.minimum and not component.is_counted:
            for any_of in ranges[component.index]:
                if {one.column for one in any_of} <= agreed:
                    yield any_of


def _times_in_order(
    plan: EnginePlan, ranges: Mapping[int, list[tuple[ColumnRange, ...]]]
) -> list[tuple[int, ColumnRange]]:
    """The bounds of the time of the events of a sequence, with the places of the events."""
    if not isinstance(plan.scan, SequenceScan) or plan.schema.until is not None:
        return []
    return [
        (index, one)
        for index, own in ranges.items()
        for (one, *others) in own
        if not others and one.column == plan.schema.time
    ]


def _derived(
    time: str, component: BoundComponent, known: list[tuple[int, ColumnRange]]
) -> list[ColumnRange]:
    """The bounds that follow from those of events before and after a component."""
    least = [ColumnRange(time, r.least, None) for at, r in known if at < component.index]
    greatest = [ColumnRange(time, None, r.greatest) for at, r in known if at > component.index]
    return [each for each in (*least, *greatest) if each[1:] != (None, None)]
