"""The table of functions and aggregates: the arguments each takes, and the type it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sase.binding.types import FLOAT, INTEGER, STRING, DataType, Kind, merged


@dataclass(frozen=True)
class Function:
    """A function of values: which arguments it takes, and what it gives for them."""

    form: str
    accepts: Callable[[DataType], bool]
    result: Callable[[list[DataType]], DataType]
    most: int | None = 1


def _is_string(data_type: DataType) -> bool:
    return data_type.compares_with(STRING)


def _is_number(data_type: DataType) -> bool:
    return data_type.is_number


def _has_size(data_type: DataType) -> bool:
    return data_type.is_number or data_type.kind is Kind.INTERVAL


def computed(data_type: DataType) -> DataType:
    """The type of what is computed: arithmetic on decimals is on floats."""
    return FLOAT if data_type.kind is Kind.DECIMAL else data_type


def _is_whatever(_: DataType) -> bool:
    return True


def _is_any(data_type: DataType) -> bool:
    return data_type.kind is not Kind.OTHER


FUNCTIONS = {
    "abs": Function("abs(x.a), of a number", _has_size, lambda types: computed(types[0])),
    "lower": Function("lower(x.a), of a text", _is_string, lambda _: STRING),
    "upper": Function("upper(x.a), of a text", _is_string, lambda _: STRING),
    "length": Function("length(x.a), of a text", _is_string, lambda _: INTEGER),
    "coalesce": Function("coalesce(x.a, x.b, …), all of one kind", _is_any, merged, most=None),
    "least": Function("least(x.a, y.a, …), all of one kind", _is_any, merged, most=None),
    "greatest": Function("greatest(x.a, y.a, …), all of one kind", _is_any, merged, most=None),
}


def _same(data_type: DataType) -> DataType:
    return data_type


@dataclass(frozen=True)
class AggregateFunction:
    """A function over a range of a series: of what values, and what it gives."""

    accepts: Callable[[DataType], bool]
    result: Callable[[DataType], DataType]


AGGREGATES = {
    "avg": AggregateFunction(_is_number, lambda _: FLOAT),
    "sum": AggregateFunction(_is_number, computed),
    "min": AggregateFunction(_is_any, _same),
    "max": AggregateFunction(_is_any, _same),
    "count": AggregateFunction(_is_whatever, lambda _: INTEGER),
    "first": AggregateFunction(_is_whatever, _same),
    "last": AggregateFunction(_is_whatever, _same),
    "stddev": AggregateFunction(_is_number, lambda _: FLOAT),
}
