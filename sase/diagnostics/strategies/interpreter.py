"""The truth of conditions on one match that is at hand, event by event: for explanations only."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any as AnyValue

import numpy as np

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
from sase.diagnostics.why_not.candidates import Attributes, of_types
from sase.engine.columns import Events
from sase.engine.expressions.constants import NANOSECOND, literal
from sase.engine.expressions.strings import like
from sase.engine.kernels.expressions.operations import EXACT

Series = tuple[int, ...]


@dataclass(frozen=True)
class Bound:
    """The positions that each component, by its index, has bound, and the `i` of each series."""

    series: Mapping[int, Series]
    at: Mapping[int, int] = field(default_factory=dict)

    def selected(self, reference: Reference | Aggregate) -> Series:
        """The events that a reference means (docs/semantics.md, References to series)."""
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


class Values:
    """The attributes of events as Python's numbers and texts, and what conditions say of them."""

    def __init__(self, query: BoundQuery, events: Events, schema: Schema) -> None:
        self.query, self.events, self.schema = query, events, schema
        self.attributes = Attributes(events, schema, query.components)
        self._read: dict[tuple[int, str, Kind], dict[int, AnyValue]] = {}

    def truth(self, condition: Condition, bound: Bound) -> bool:
        """Whether a condition holds (docs/semantics.md, Truth and NULL)."""
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

    def _atom(self, condition: Condition, bound: Bound) -> bool:
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

    def value(self, expression: Expression, bound: Bound) -> AnyValue:
        """The value of an expression; None is NULL."""
        match expression:
            case Constant() | Placeholder():
                return literal(expression)
            case Reference(component=component, attribute=attribute, type=kind):
                selected = bound.selected(expression)
                return self.of(component, attribute, kind.kind)[selected[0]] if selected else None
            case Aggregate():
                return self._aggregate(expression, bound)
            case Operation(name=name, operands=operands, type=kind):
                values = [self.value(each, bound) for each in operands]
                # Arithmetic on decimals is that of float64.
                values = [float(v) if isinstance(v, Fraction) else v for v in values]
                return fold_operation(name, values, bounded=kind.kind not in TIMES)

    def _aggregate(self, aggregate: Aggregate, bound: Bound) -> AnyValue:
        selected, name = bound.selected(aggregate), aggregate.function
        if aggregate.attribute is None:
            return len(selected)
        column = self.of(aggregate.component, aggregate.attribute, aggregate.type.kind)
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

    def of(self, component: int, attribute: str, kind: Kind) -> dict[int, AnyValue]:
        """An attribute of the events that a component admits, by position."""
        key = (component, attribute, kind)
        if key not in self._read:
            admitted = self.query.components[component].types
            types = self.events.type_names if admitted is None else admitted
            declaring = [name for name in types if self.declares(name, attribute)]
            places = of_types(self.events, declaring)
            values = dict.fromkeys(range(len(self.events))) | self._values(places, attribute, kind)
            self._read[key] = values
        return self._read[key]

    def _values(
        self, places: np.typing.NDArray[np.int64], attribute: str, kind: Kind
    ) -> dict[int, AnyValue]:
        if not len(places):
            return {}
        column = self.attributes.encoded(attribute, places)
        if column is not None:
            texts = column.dictionary.to_pylist()
            found = [None if code < 0 else texts[code] for code in column.values.tolist()]
            return dict(zip(places.tolist(), found, strict=True))
        lane = self.attributes.lane(attribute, places)
        tags = np.broadcast_to(np.asarray(lane.tag), len(places)).tolist()
        valid = [True] * len(places) if lane.valid is None else lane.valid.tolist()
        cells = zip(lane.values.tolist(), tags, valid, strict=True)
        read = [self._python(bits, tag, kind) if known else None for bits, tag, known in cells]
        return dict(zip(places.tolist(), read, strict=True))

    def _python(self, bits: AnyValue, tag: int, kind: Kind) -> AnyValue:
        if tag >= EXACT:
            digits = tag - EXACT
            exact = Fraction(bits, 10**digits)
            return int(exact * 10**NANOSECOND) if kind in TIMES else exact
        if kind is Kind.STRING:
            return self.attributes.text_of(bits)
        return bool(bits) if kind is Kind.BOOLEAN else bits

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

    def _is_undeclared(self, reference: Reference | Aggregate, bound: Bound) -> bool:
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
