"""Evaluate conditions on one match in Python, event by event, for explanations only.

Unlike in compiled programs, the value of each operand is available. It shares no code with the
kernels, except for reading attributes, so it also checks them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from itertools import product
from operator import add
from typing import Any, NamedTuple, TypeAlias

from sase.binding import BoundQuery, Schema, bound
from sase.binding.aggregates import find
from sase.binding.bound import Part
from sase.binding.folding import INT64_MAX, INT64_MIN, fold_comparison, fold_operation
from sase.binding.parts import references
from sase.binding.types import TIMES, Kind
from sase.cached_property import cached_property
from sase.diagnostics.attributes import Attributes, of_types
from sase.engine.columns import Events
from sase.engine.expressions.constants import literal
from sase.engine.expressions.strings import like

Series = tuple[int, ...]
Reference: TypeAlias = bound.Reference | bound.Aggregate
NO_SERIES: Mapping[int, int] = {}


class Iteration(NamedTuple):
    """An iteration of a repeated group: its branch, and the positions of each variable."""

    branch: int
    series: tuple[Series, ...]


@dataclass(frozen=True)
class MatchBinding:
    """The positions that each component, by index, has bound, and the `i` of each series.

    A repeated group binds iterations; the `i` of a series inside it has two numbers as key. With
    imprecise time a match has a `confidence`.
    """

    series: Mapping[int, Any]
    at: Mapping[Any, int] = field(default_factory=dict)
    confidence: float | None = None

    def selected(self, reference: Reference) -> Series:
        """Return the events that a reference means (docs/semantics.md, References to series)."""
        component, inner = reference.component, reference.inner
        bound = self.series.get(component, ())
        found: Series = _part(bound, reference.part, self.at.get(component))
        if inner is None:
            return found
        at = self.at.get((component, inner.variable))
        parts = (_part(each.series[inner.variable], inner.part, at) for each in found)  # type: ignore[attr-defined]
        return tuple(position for part in parts for position in part)


def _part(bound: tuple[Any, ...], part: Part, i: int | None) -> tuple[Any, ...]:
    """The events or iterations that a part selects, given the current `i`, if any."""
    match part:
        case Part.EVENT | Part.ALL:
            return bound
        case Part.FIRST:
            return bound[:1]
        case Part.LAST:
            return bound[-1:]
    assert i is not None, "a part that is at hand"
    return {
        Part.CURRENT: bound[i : i + 1],
        Part.PREVIOUS: bound[max(i - 1, 0) : i],
        Part.BEFORE_CURRENT: bound[:i],
        Part.UP_TO_CURRENT: bound[: i + 1],
    }[part]


class Interpreter:
    """Evaluates the conditions and expressions of a query on bound events."""

    def __init__(self, query: BoundQuery, events: Events, schema: Schema) -> None:
        self.query, self.events, self.schema = query, events, schema
        self.attributes = Attributes(events, schema, query.components)
        self._columns: dict[tuple[int, str, Kind], list[Any]] = {}

    def cases(
        self,
        condition: bound.Condition,
        series: Mapping[int, Series],
        newest: Mapping[int, int] = NO_SERIES,
    ) -> Iterator[MatchBinding]:
        """Yield the bindings that a condition ranges over; a component in `newest` is fixed."""
        parts: dict[int, list[bound.Part]] = {}
        for each in references(condition):
            parts.setdefault(each.component, []).append(each.part)
        ranges = {
            index: range(any(each.is_earlier for each in of), len(series.get(index, ())))
            for index, of in parts.items()
            if index not in newest and any(each.rank == bound.Part.CURRENT.rank for each in of)
        }
        for chosen in product(*ranges.values()):
            yield MatchBinding(series, {**newest, **dict(zip(ranges, chosen, strict=True))})

    def quantified(
        self, quantified: Iterable[bound.Quantified], series: Mapping[int, Any], at: dict[Any, int]
    ) -> Iterator[MatchBinding]:
        """Yield the bindings that a condition ranges over, iterations before series inside."""
        every = sorted(quantified, key=lambda each: each.inner is not None)
        if not every:
            yield MatchBinding(series, at)
            return
        first, *rest = every
        items = series.get(first.component, ())
        key: Any = first.component
        if first.inner is not None:
            items = items[at[first.component]].series[first.inner]
            key = (first.component, first.inner)
        for number in range(first.but_first, len(items)):
            if first.branches is None or items[number].branch in first.branches:
                yield from self.quantified(rest, series, {**at, key: number})

    def truth(self, condition: bound.Condition, binding: MatchBinding) -> bool:
        """Evaluate a condition (docs/semantics.md, Truth and NULL)."""
        match condition:
            case bound.Truth(value=value):
                return value
            case bound.All(operands=operands):
                return all(self.truth(each, binding) for each in operands)
            case bound.Any(operands=operands):
                return any(self.truth(each, binding) for each in operands)
        if any(self._is_undeclared(each, binding) for each in references(condition)):
            return True
        return self._atom(condition, binding)

    def _atom(self, condition: bound.Condition, binding: MatchBinding) -> bool:
        match condition:
            case bound.Comparison(operator=operator, left=left, right=right):
                values = (self.value(each, binding) for each in (left, right))
                return fold_comparison(operator, *values)
            case bound.Membership(operand=operand, values=listed, negated=negated):
                value = self.value(operand, binding)
                found = any(fold_comparison("=", value, literal(each)) for each in listed)
                return value is not None and found != negated
            case bound.Between(operand=operand, low=low, high=high, negated=negated):
                value, least, most = (self.value(each, binding) for each in (operand, low, high))
                if value is None or least is None or most is None:
                    return False
                inside = fold_comparison("<=", least, value) and fold_comparison("<=", value, most)
                return inside != negated
            case bound.Like(operand=operand, pattern=pattern, negated=negated):
                value, form = self.value(operand, binding), literal(pattern)
                if value is None or form is None:
                    return False
                return (like(str(form)).fullmatch(value) is not None) != negated
            case bound.NullTest(operand=operand, negated=negated):
                return (self.value(operand, binding) is None) != negated
        raise AssertionError(f"no atomic condition: {condition}")

    # ------------------------------------------------------------ values

    def value(self, expression: bound.Expression, binding: MatchBinding) -> Any:
        """Evaluate an expression; None is NULL."""
        match expression:
            case bound.Constant() | bound.Placeholder():
                return literal(expression)
            case bound.MatchConfidence():
                return binding.confidence
            case bound.Reference(component=component, attribute=attribute, type=kind):
                selected = binding.selected(expression)
                column = self.column(component, attribute, kind.kind)
                return column[selected[0]] if selected else None
            case bound.Aggregate():
                return self._aggregate(expression, binding)
            case bound.Operation(name=name, operands=operands, type=kind):
                values = [self.value(each, binding) for each in operands]
                # Arithmetic on decimals is in float64.
                values = [float(v) if isinstance(v, Fraction) else v for v in values]
                return fold_operation(name, values, bounded=kind.kind not in TIMES)

    def _aggregate(self, aggregate: bound.Aggregate, binding: MatchBinding) -> Any:
        selected, name = binding.selected(aggregate), aggregate.function
        if aggregate.attribute is None:
            return len(selected)
        user = find(name)
        if user is not None:
            every = zip((aggregate, *aggregate.others), user.over, strict=True)
            columns = [self.column(a.component, a.attribute or "", t.kind) for a, t in every]
            return user.of([[column[each] for column in columns] for each in selected])
        column = self.column(aggregate.component, aggregate.attribute, aggregate.type.kind)
        values = [column[each] for each in selected]
        if name in ("first", "last"):
            return values[0 if name == "first" else -1] if values else None
        known = [each for each in values if each is not None]
        match name:
            case "count":
                return len(known)
            case "min" | "max":
                return (min if name == "min" else max)(known, default=None)
            case "stddev":
                return _stddev([float(each) for each in known])
        total = _sum(known)
        if name == "sum" or total is None:
            return total
        average = float(total) / len(known)
        return None if math.isnan(average) else average

    def column(self, component: int, attribute: str, kind: Kind) -> list[Any]:
        """Read an attribute by position for the events that a component admits; None for others."""
        key = (component, attribute, kind)
        if key not in self._columns:
            admitted = self.query.components[component].types
            types = self.events.type_names if admitted is None else admitted
            declaring = [name for name in types if self.schema.declares(name, attribute)]
            places = of_types(self.events, declaring)
            found: list[Any] = [None] * len(self.events)
            values = self.attributes.values(attribute, places, kind)
            for place, value in zip(places.tolist(), values, strict=True):
                found[place] = value
            self._columns[key] = found
        return self._columns[key]

    # ------------------------------------------------------------ types

    @cached_property
    def type_names(self) -> list[str | None]:
        """The type of the event at each position."""
        names = [*self.events.type_names, None]
        return [names[code] for code in self.events.types.tolist()]

    def _is_undeclared(self, reference: Reference, binding: MatchBinding) -> bool:
        attribute = reference.attribute
        if attribute is None or reference.undeclared_by == frozenset():
            return False
        selected = binding.selected(reference)
        types = (self.type_names[each] for each in selected)
        return not all(self.schema.declares(name, attribute) for name in types)


def _sum(values: Sequence[Any]) -> int | float | None:
    """Sum integers exactly, all else in float64 in the order of events."""
    if not values:
        return None
    if all(isinstance(each, int) for each in values):
        exact = sum(values)
        return exact if INT64_MIN <= exact <= INT64_MAX else None
    total = reduce(add, map(float, values))
    return None if math.isnan(total) else total


def _stddev(values: Sequence[float]) -> float | None:
    """The sample standard deviation, by Welford's recurrence."""
    mean = squares = 0.0
    for count, each in enumerate(values, start=1):
        delta = each - mean
        mean += delta / count
        squares += delta * (each - mean)
    if len(values) < 2 or math.isnan(squares):
        return None
    return math.sqrt(squares / (len(values) - 1))
