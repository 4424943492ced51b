"""Types that only the events decide, because the query was compiled without them.

If a schema states types, binding checks them. Otherwise the columns of the events decide, as soon
as there are some; nothing is compared before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import replace
from itertools import combinations

from sase.base.time_zones import is_utc
from sase.binding import bound
from sase.binding.types import (
    FLOAT,
    INTEGER,
    INTERVAL,
    NULL,
    STRING,
    TIMES,
    UNKNOWN,
    DataType,
    Kind,
    merged,
)
from sase.binding.values.aggregates import UserAggregate
from sase.binding.values.functions import (
    AGGREGATES,
    FUNCTIONS,
    IN_ZONE,
    chooses,
    is_of_clock,
    shown,
    signed,
)
from sase.binding.values.literals import alike, is_of_width, is_written
from sase.binding.values.text import value_text
from sase.binding.values.values import arithmetic
from sase.cached_property import cached_property
from sase.planning.plan.nodes import (
    Operator,
    Transformation,
    components_of,
    require,
    variables_of,
)
from sase.planning.plan.traversal import within

Definitions = tuple[tuple[str, bound.Condition], ...]
# The types of columns, by name, or by type if each type has a table.
Known = Mapping[tuple[str | None, str], DataType]

NONE: Mapping[str, UserAggregate] = {}

# Kinds that need other comparisons than numbers do; for arithmetic these are the `TIMES`.
TEXTS = frozenset((Kind.STRING,))

# Aggregates that are floats for every attribute.
OF_NUMBERS = {name for name, each in AGGREGATES.items() if each.result(INTEGER) == FLOAT}


def _times_read(value: bound.Expression) -> Iterator[bound.Reference | bound.Aggregate]:
    """The attributes that a time is made of, without those that the query gives a zone."""
    match value:
        case bound.Reference() | bound.Aggregate():
            yield value
        case bound.Operation(name=name, operands=operands) if name != IN_ZONE:
            for each in operands:
                yield from _times_read(each)


class LateTypes:
    """The values of a query with types that only the events decide."""

    def __init__(
        self,
        operators: Operator,
        definitions: Definitions = (),
        aggregates: Mapping[str, UserAggregate] = NONE,
        branches: tuple[LateTypes, ...] = (),
    ) -> None:
        self._parts, self._aggregates = (operators, definitions), aggregates
        self._branches = branches
        self._returned = require(operators, Transformation).columns

    @cached_property
    def is_any(self) -> bool:
        """Whether some value has an unknown type."""
        values = (bound.Reference, bound.Aggregate, bound.EquivalenceTest)
        return (
            any(branch.is_any for branch in self._branches)
            or any(
                each.type == UNKNOWN
                or isinstance(each, bound.Aggregate)
                and (each.function in OF_NUMBERS or each.function in self._aggregates)
                for each in within(self._parts)
                if isinstance(each, values)
            )
            or any(
                isinstance(each, bound.Operation) and is_of_clock(each.name)
                for each in within(self._parts)
            )
        )

    def disagreement(self, known: Known) -> str | None:
        """A value that cannot be compared or computed in these events, as text; None if all can."""
        of_branches = (each.disagreement(known) for each in self._branches)
        wrong = next((each for each in of_branches if each is not None), None)
        return wrong or next(_Values(*self._parts, known, self._aggregates).wrong(), None)

    def columns(self, known: Known) -> tuple[bound.Column, ...] | None:
        """The columns of RETURN with the types that the events give them."""
        values = _Values(*self._parts, known, self._aggregates)
        if self._returned is None:
            return None
        return tuple(replace(each, value=values.typed(each.value)) for each in self._returned)


class _Values:
    """The values of a query, typed by the events."""

    def __init__(
        self,
        operators: Operator,
        definitions: Definitions,
        known: Known,
        aggregates: Mapping[str, UserAggregate],
    ) -> None:
        self._each = list(within((operators, definitions)))
        self._known, self._aggregates = known, aggregates
        self._components = components_of(operators)
        self._names = variables_of(operators)

    def wrong(self) -> Iterator[str]:
        """Yield the disagreements of values and conditions."""
        for each in reversed(self._each):  # parts before the values that contain them
            yield from self._too_narrow(each)
            match each:
                case bound.Comparison(left=left, right=right, operator=operator):
                    yield from self._incomparable([left, right])
                    if operator not in ("=", "!="):
                        yield from self._too_late(operator, [left, right], TEXTS)
                case bound.Membership(operand=operand, values=values):
                    yield from self._incomparable([operand, *values])
                case bound.Between(operand=operand, low=low, high=high):
                    yield from self._incomparable([operand, low, high])
                    yield from self._too_late("BETWEEN", [operand, low, high], TEXTS)
                case bound.Like(operand=operand) if not self._type(operand).compares_with(STRING):
                    yield f"LIKE is for texts, and {self._described(operand)}"
                case bound.Operation():
                    yield from self._uncomputed(each)
                case bound.Aggregate() if self._has_no_value(each):
                    continue
                case bound.Aggregate(function=function, attribute=str()):
                    if not self._is_taken(each):
                        yield f"{function} does not take {self._operand_type(each).described()}"
                    if function in ("min", "max"):
                        yield from self._too_late(function, [each], TEXTS)
                case bound.EquivalenceTest():
                    yield from self._differing(each)
                case bound.Reference():
                    yield from self._mixed(each)

    def _compared_type(self, value: bound.Expression) -> DataType:
        """The type of a value, if it may have one."""
        match value:
            case bound.Operation():
                return self._result(value, self._compared_type)
            case bound.Reference() | bound.Aggregate() if value.type == UNKNOWN:
                return NULL if self._has_no_value(value) else self._type(value)
        return self._type(value)

    def _has_no_value(self, value: bound.Reference | bound.Aggregate) -> bool:
        """Whether no type of its component declares the attribute, according to a schema."""
        component = self._component(value)
        if component is None or component.types is None or value.undeclared_by is None:
            return False
        return set(component.types) <= value.undeclared_by

    def typed(self, value: bound.Expression) -> bound.Expression:
        """A value with its type, and with typed operands."""
        if isinstance(value, bound.Operation):
            operands = tuple(map(self.typed, value.operands))
            if not any(map(is_written, operands)):
                return replace(value, type=self._type(value), operands=operands)
            operands = alike(operands, FUNCTIONS[value.name].values_of(operands))
            data_type = FUNCTIONS[value.name].result([each.type for each in operands])
            return replace(value, type=data_type, operands=operands)
        return replace(value, type=self._type(value))

    def _mixed(self, reference: bound.Reference) -> Iterator[str]:
        """Report an attribute that has several kinds in the types of a component."""
        found = self._candidates(self._component(reference), reference.attribute)
        for one, other in combinations(found, 2):
            if not one.compares_with(other):
                name = value_text(reference, self._names)
                both = f"{one.described()} in one type and {other.described()} in another"
                yield f"`{name}` is {both}"

    def _incomparable(self, values: list[bound.Expression]) -> Iterator[str]:
        """Report compared values of different kinds."""
        first, *others = values
        for other in others:
            if not self._compared_type(first).compares_with(self._compared_type(other)):
                both = f"{self._described(first)} and {self._described(other)}"
                yield f"{both}: they cannot be compared"

    def _uncomputed(self, operation: bound.Operation) -> Iterator[str]:
        types = [self._compared_type(operand) for operand in operation.operands]
        function = FUNCTIONS.get(operation.name)
        if function is not None:
            is_possible = function.wrong(types) is None
            if function.is_choice:
                chosen = function.values_of(types)
                is_possible &= all(a.compares_with(b) for a, b in combinations(chosen, 2))
        elif len(types) == 1:
            is_possible = types[0].is_number or types[0].compares_with(INTERVAL)
        else:
            is_possible = arithmetic(operation.name, *types) is not None
        word = "-" if operation.name == "neg" else shown(operation.name)
        if not is_possible:
            operands = (
                operation.operands if function is None else function.values_of(operation.operands)
            )
            described = " and ".join(map(self._described, operands))
            yield f"{described}: `{word}` does not take that"
        if is_of_clock(operation.name):
            yield from self._zoned(operation)
        kinds = TEXTS if chooses(operation.name) else TIMES
        if function is None or function.operation in ("ABSOLUTE", "LEAST", "GREATEST"):
            yield from self._too_late(word, list(operation.operands), kinds)

    def _zoned(self, operation: bound.Operation) -> Iterator[str]:
        """Report times of which a function must know the zone, or that have none."""
        name = shown(operation.name)
        for each in _times_read(operation.operands[-1]):
            own = self._candidates(self._component(each), each.attribute or "")
            text, zone = value_text(each, self._names), each.type.zone
            found = merged(self._candidates(None, each.attribute or "")).zone
            compiled = f", and the query was compiled for {zone}"
            is_naive = any(candidate.zoned is False for candidate in own)
            if is_naive and (zone is None and name == IN_ZONE or not is_utc(zone or "UTC")):
                which = f": `{name}` does not take that" if zone is None else compiled
                yield f"`{text}` has no time zone{which}"
            elif found is not None and (name != IN_ZONE or zone) and found != (zone or "UTC"):
                which = f", which `{name}` must know" if zone is None else compiled
                yield f"`{text}` has the time zone {found}{which}"

    def _too_late(
        self, word: str, values: list[bound.Expression], kinds: Set[Kind]
    ) -> Iterator[str]:
        """Report values of kinds that need other operations than those compiled."""
        found = next((value for value in values if self._compared_type(value).kind in kinds), None)
        if found is not None and not any(value.type.kind in kinds for value in values):
            yield f"{self._described(found)}, which `{word}` must know"

    def _too_narrow(self, each: object) -> Iterator[str]:
        """Report narrow floats beside numbers with a point, which depend on the width."""
        match each:
            case bound.Comparison(left=left, right=right):
                values: tuple[bound.Expression, ...] = (left, right)
            case bound.Membership(operand=operand, values=listed):
                values = (operand, *listed)
            case bound.Between(operand=operand, low=low, high=high):
                values = (operand, low, high)
            case bound.Operation(name=name, operands=operands) if chooses(name):
                values = tuple(FUNCTIONS[name].values_of(operands))
            case _:
                return
        for value in values:
            width = self._compared_type(value).width
            if width is not None and not all(is_of_width(each, width) for each in values):
                yield f"{self._described(value)}, which a number with a point must know"

    def _differing(self, test: bound.EquivalenceTest) -> Iterator[str]:
        """Report the types of an attribute in an equivalence test that cannot be compared."""
        found: list[tuple[str, DataType]] = []
        for component in self._components.values():
            attribute = test.attribute_of(component.index)
            if attribute is not None:
                name = f"`{component.variable}.{attribute}`"
                found += [(name, each) for each in self._candidates(component, attribute)]
        if test.value is not None:
            for name, data_type in found:
                if data_type.width and not is_of_width(test.value, data_type.width):
                    is_float = f"{name} is {data_type.described()}"
                    yield f"{is_float}, which a number with a point must know"
            found.append((f"`{value_text(test.value, {})}`", test.value.type))
        for (one, first), (other, second) in combinations(found, 2):
            if not first.compares_with(second):
                both = f"{one} is {first.described()} and {other} is {second.described()}"
                yield f"{both}: they cannot be compared"

    def _described(self, value: bound.Expression) -> str:
        return f"`{value_text(value, self._names)}` is {self._type(value).described()}"

    def _type(self, value: bound.Expression) -> DataType:
        if isinstance(value, bound.Operation):
            return self._result(value, self._type)
        if value.type != UNKNOWN or isinstance(
            value,
            bound.Constant
            | bound.Placeholder
            | bound.ConditionValue
            | bound.MatchConfidence
            | bound.EventValues,
        ):
            return value.type
        if isinstance(value, bound.Reference):
            return self._attribute_type(self._component(value), value.attribute)
        return AGGREGATES[value.function].result(self._operand_type(value))

    def _result(
        self, value: bound.Operation, type_of: Callable[[bound.Expression], DataType]
    ) -> DataType:
        """The type of an operation; for some operands it is known without the events."""
        types = [type_of(operand) for operand in value.operands]
        if types == [operand.type for operand in value.operands]:
            return value.type
        if value.name in FUNCTIONS:
            return FUNCTIONS[value.name].result(types)
        if len(types) == 1:
            return signed(types[0])
        return arithmetic(value.name, *types) or UNKNOWN

    def _is_taken(self, aggregate: bound.Aggregate) -> bool:
        """Whether an aggregate accepts the values of its attribute."""
        user = self._aggregates.get(aggregate.function)
        if user is not None:
            return user.accepts(aggregate.place, self._operand_type(aggregate))
        return AGGREGATES[aggregate.function].accepts(self._operand_type(aggregate))

    def _operand_type(self, aggregate: bound.Aggregate) -> DataType:
        """The type of the attribute of an aggregate."""
        return self._attribute_type(self._component(aggregate), aggregate.attribute or "")

    def _component(self, value: bound.Reference | bound.Aggregate) -> bound.BoundComponent | None:
        """The component that a value is of; in a repeated group the component inside."""
        component = self._components.get(value.component)
        if component is None or component.group is None or value.inner is None:
            return component
        return component.group.variables[value.inner.variable]

    def _attribute_type(self, component: bound.BoundComponent | None, attribute: str) -> DataType:
        """The type of an attribute of a component's events; without a component, of all events."""
        return merged(self._candidates(component, attribute))

    def _candidates(self, component: bound.BoundComponent | None, attribute: str) -> list[DataType]:
        names = None if component is None else component.types
        return [
            data_type
            for (type_name, name), data_type in self._known.items()
            if name == attribute and (type_name is None or names is None or type_name in names)
        ]
