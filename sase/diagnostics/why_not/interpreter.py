"""Evaluate conditions on one match with their operands, and the distance from satisfying them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from itertools import product
from operator import add
from typing import Any, TypeAlias

import numpy as np

from sase.binding import BoundQuery, Schema, bound
from sase.binding.bound import Part
from sase.binding.conditions.parts import ranged_over, references
from sase.binding.types import NUMBERS, TIMES, Kind
from sase.binding.values.aggregates import find
from sase.binding.values.folding import INT64_MAX, INT64_MIN, fold_comparison, fold_operation
from sase.binding.values.functions import is_exact
from sase.cached_property import cached_property
from sase.diagnostics.attributes import Attributes, of_types
from sase.engine.columns import Events
from sase.engine.columns.arrays import Floats, Numbers
from sase.engine.expressions.layout import literal
from sase.engine.expressions.strings import like
from sase.engine.kernels.expressions.operations import EXACT, FLOAT, INTEGER, SCALES
from sase.engine.operators.contract import size_of

# ---------------------------------------------------------------- distance

UNKNOWN = float("nan")


def compared(condition: bound.Condition) -> tuple[bound.Expression, ...]:
    """The values that define a condition's distance; none if it has no distance."""
    match condition:
        case bound.Comparison(left=left, right=right):
            found: tuple[bound.Expression, ...] = (left, right)
        case bound.Between(operand=operand, low=low, high=high, negated=False):
            found = (operand, low, high)
        case bound.Membership(operand=operand, values=values, negated=False):
            found = (operand, *values)
        case _:
            return ()
    # IN (NULL) has no value to measure from.
    return found if len(found) > 1 and all(_is_measured(each) for each in found) else ()


def _is_measured(value: bound.Expression) -> bool:
    is_text = isinstance(value, bound.Constant) and isinstance(value.value, str | bool | None)
    return not is_text and value.type.kind in NUMBERS | TIMES


def distance(condition: bound.Condition, values: Sequence[Any]) -> Any:
    """The distance of the values that `compared` returns, none of them NULL."""
    first, *others = (Fraction(v) if isinstance(v, Decimal) else v for v in values)
    if isinstance(condition, bound.Between):
        low, high = others
        return max(low - first, first - high, 0)
    return min(abs(first - each) for each in others)


def distances(condition: bound.Condition, columns: Sequence[Floats]) -> Floats:
    """The distances of columns of values; NaN for NULL."""
    first, *others = columns
    if isinstance(condition, bound.Between):
        low, high = others
        return np.maximum(np.maximum(low - first, first - high), 0.0)
    least: Floats = np.min([np.abs(first - each) for each in others], axis=0)
    return least


def as_floats(values: Numbers) -> Floats:
    """Convert tags and bits of a column to floats, times to seconds, NULL to NaN."""
    tags, bits = values[:, 0], values[:, 1]
    found = np.full(len(tags), np.nan)
    found[tags == INTEGER] = bits[tags == INTEGER]
    found[tags == FLOAT] = np.ascontiguousarray(bits[tags == FLOAT]).view(np.float64)
    is_exact = tags >= EXACT
    found[is_exact] = bits[is_exact] / 10.0 ** ((tags[is_exact] - EXACT) % SCALES)
    return found


def time_scale(query: BoundQuery, schema: Schema) -> float:
    """The window in nanoseconds, as the scale of time distances; NaN without one."""
    window, unit = query.window, schema.nanoseconds
    if window is None or window.kind is not bound.WindowKind.TIME or unit is None:
        return UNKNOWN
    return float(size_of(window) * unit)


# ---------------------------------------------------------------- interpreter

# Unlike in compiled programs, the value of each operand is available. It shares no code with the
# kernels, except for reading attributes, so it also checks them.

Series = tuple[int, ...]
Reference: TypeAlias = bound.Reference | bound.Aggregate


@dataclass(frozen=True)
class MatchBinding:
    """The positions that each component, by index, has bound, and the `i` of each series.

    With imprecise time a match has a `confidence`.
    """

    series: Mapping[int, Series]
    at: Mapping[int, int] = field(default_factory=dict)
    confidence: float | None = None

    def selected(self, reference: Reference) -> Series:
        """Return the events that a reference means (docs/semantics.md, References to series)."""
        bound, i = self.series.get(reference.component, ()), self.at.get(reference.component)
        match reference.part:
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
        }[reference.part]


class Interpreter:
    """Evaluates the conditions and expressions of a query on bound events."""

    def __init__(self, query: BoundQuery, events: Events, schema: Schema) -> None:
        self.query, self.events, self.schema = query, events, schema
        self.attributes = Attributes(events, schema, query.components)
        self._columns: dict[tuple[int, str, Kind], list[Any]] = {}

    def cases(
        self, condition: bound.Condition, series: Mapping[int, Series]
    ) -> Iterator[MatchBinding]:
        """Yield the bindings that a condition ranges over."""
        ranges = {
            index: range(but_first, len(series.get(index, ())))
            for index, but_first in ranged_over(references(condition)).items()
        }
        for chosen in product(*ranges.values()):
            yield MatchBinding(series, dict(zip(ranges, chosen, strict=True)))

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
            case bound.ConditionValue(condition=condition):
                return self.truth(condition, binding)
            case bound.Operation(name=name, operands=operands, type=kind):
                values = [self.value(each, binding) for each in operands]
                if not is_exact(name):  # arithmetic on decimals is in float64
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
            case "sum":
                return _sum(known)
            case "avg":
                total = _sum(known)
                average = math.nan if total is None else float(total) / len(known)
                return None if math.isnan(average) else average
            case "stddev":
                return _stddev([float(each) for each in known])
        raise NotImplementedError(f"the value of the aggregate `{name}` over given values")

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
