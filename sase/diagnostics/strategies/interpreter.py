"""Evaluate conditions on one match in Python, event by event: for explanations only.

The engine evaluates compiled programs in bulk and answers yes or no. Here each operand of a
condition has a value that can be shown and subtracted. It is an independent check of the kernels:
the meaning is that of docs/semantics.md, the arithmetic that of constant folding, and no code of
the kernels is called but to read attributes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any as AnyValue

from sase.binding import BoundQuery, Schema
from sase.binding.bound import (
    Aggregate,
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
    Part,
    Placeholder,
    Reference,
    Truth,
)
from sase.binding.folding import INT64_MAX, INT64_MIN, fold_comparison, fold_operation
from sase.binding.parts import references
from sase.binding.types import TIMES, Kind
from sase.diagnostics.attributes import Attributes, of_types
from sase.engine.columns import Events
from sase.engine.expressions.constants import literal
from sase.engine.expressions.strings import like

Series = tuple[int, ...]
NO_SERIES: Mapping[int, int] = {}


@dataclass(frozen=True)
class MatchBinding:
    """The positions that each component, by its index, has bound, and the `i` of each series."""

    series: Mapping[int, Series]
    at: Mapping[int, int] = field(default_factory=dict)

    def selected(self, reference: Reference | Aggregate) -> Series:
        """Return the events that a reference means (docs/semantics.md, References to series)."""
        series = self.series.get(reference.component, ())
        match reference.part:
            case Part.EVENT | Part.ALL:
                return series
            case Part.FIRST:
                return series[:1]
            case Part.LAST:
                return series[-1:]
        i = self.at[reference.component]
        return {
            Part.CURRENT: series[i : i + 1],
            Part.PREVIOUS: series[max(i - 1, 0) : i],
            Part.BEFORE_CURRENT: series[:i],
            Part.UP_TO_CURRENT: series[: i + 1],
        }[reference.part]


class Interpreter:
    """Evaluates the conditions and expressions of a query on bound events."""

    def __init__(self, query: BoundQuery, events: Events, schema: Schema) -> None:
        self.query, self.events, self.schema = query, events, schema
        self.attributes = Attributes(events, schema, query.components)
        self._columns: dict[tuple[int, str, Kind], list[AnyValue]] = {}

    def holds(
        self,
        condition: Condition,
        series: Mapping[int, Series],
        newest: Mapping[int, int] = NO_SERIES,
    ) -> bool:
        """Evaluate a condition for every event of the series that it ranges over."""
        cases = self.cases(condition, series, newest)
        return all(self.truth(condition, each) for each in cases)

    def cases(
        self,
        condition: Condition,
        series: Mapping[int, Series],
        newest: Mapping[int, int] = NO_SERIES,
    ) -> Iterator[MatchBinding]:
        """Yield what a condition speaks of: each event of some series, or each but the first.

        Of the components in `newest` it speaks of that event.
        """
        parts: dict[int, list[Part]] = {}
        for each in references(condition):
            parts.setdefault(each.component, []).append(each.part)
        ranges = {
            index: range(any(each.is_earlier for each in of), len(series.get(index, ())))
            for index, of in parts.items()
            if index not in newest and any(each.rank == Part.CURRENT.rank for each in of)
        }
        for chosen in product(*ranges.values()):
            yield MatchBinding(series, {**newest, **dict(zip(ranges, chosen, strict=True))})

    def truth(self, condition: Condition, bound: MatchBinding) -> bool:
        """Evaluate a condition (docs/semantics.md, Truth and NULL)."""
        match condition:
            case Truth(value=value):
                return value
            case All(operands=operands):
                return all(self.truth(each, bound) for each in operands)
            case Any(operands=operands):
                return any(self.truth(each, bound) for each in operands)
        if any(self._is_undeclared(each, bound) for each in references(condition)):
            return True
        return self._atom(condition, bound)

    def _atom(self, condition: Condition, bound: MatchBinding) -> bool:
        match condition:
            case Comparison(operator=operator, left=left, right=right):
                return fold_comparison(operator, self.value(left, bound), self.value(right, bound))
            case Membership(operand=operand, values=listed, negated=negated):
                value = self.value(operand, bound)
                found = any(fold_comparison("=", value, literal(each)) for each in listed)
                return value is not None and found != negated
            case Between(operand=operand, low=low, high=high, negated=negated):
                value, least, most = (self.value(each, bound) for each in (operand, low, high))
                if value is None or least is None or most is None:
                    return False
                inside = fold_comparison("<=", least, value) and fold_comparison("<=", value, most)
                return inside != negated
            case Like(operand=operand, pattern=pattern, negated=negated):
                value, form = self.value(operand, bound), literal(pattern)
                if value is None or form is None:
                    return False
                return (like(str(form)).fullmatch(value) is not None) != negated
            case NullTest(operand=operand, negated=negated):
                return (self.value(operand, bound) is None) != negated
        raise AssertionError(f"no atomic condition: {condition}")

    # ------------------------------------------------------------ values

    def value(self, expression: Expression, bound: MatchBinding) -> AnyValue:
        """Evaluate an expression; None is NULL."""
        match expression:
            case Constant() | Placeholder():
                return literal(expression)
            case Reference(component=component, attribute=attribute, type=kind):
                selected = bound.selected(expression)
                column = self.column(component, attribute, kind.kind)
                return column[selected[0]] if selected else None
            case Aggregate():
                return self._aggregate(expression, bound)
            case Operation(name=name, operands=operands, type=kind):
                values = [self.value(each, bound) for each in operands]
                # Arithmetic on decimals is that of float64.
                values = [float(v) if isinstance(v, Fraction) else v for v in values]
                return fold_operation(name, values, bounded=kind.kind not in TIMES)

    def _aggregate(self, aggregate: Aggregate, bound: MatchBinding) -> AnyValue:
        selected, name = bound.selected(aggregate), aggregate.function
        if aggregate.attribute is None:
            return len(selected)
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

    def column(self, component: int, attribute: str, kind: Kind) -> list[AnyValue]:
        """Read an attribute of the events that a component admits, by position; else None."""
        key = (component, attribute, kind)
        if key not in self._columns:
            admitted = self.query.components[component].types
            types = self.events.type_names if admitted is None else admitted
            declaring = [name for name in types if self.declares(name, attribute)]
            places = of_types(self.events, declaring)
            found: list[AnyValue] = [None] * len(self.events)
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

    def declares(self, type_name: str | None, attribute: str) -> bool:
        """Whether events of a type have an attribute."""
        declared = self.schema.attributes(type_name or "")
        return declared is None or attribute in declared

    def _is_undeclared(self, reference: Reference | Aggregate, bound: MatchBinding) -> bool:
        attribute = reference.attribute
        if attribute is None or reference.undeclared_by == frozenset():
            return False
        selected = bound.selected(reference)
        return any(not self.declares(self.type_names[each], attribute) for each in selected)


def _sum(values: Sequence[AnyValue]) -> int | float | None:
    """Integers exactly, all else in float64 in the order of the events."""
    if not values:
        return None
    if all(isinstance(each, int) for each in values):
        exact = sum(values)
        return exact if INT64_MIN <= exact <= INT64_MAX else None
    total = float(values[0])
    for each in values[1:]:
        total += float(each)
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
