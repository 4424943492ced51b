"""Format values, durations and windows, as in a query or for a reader."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sase.binding import Schema
from sase.binding.bound import BoundWindow, WindowKind
from sase.binding.types import DataType, Kind
from sase.binding.values.text import in_units, quoted
from sase.engine.expressions.layout import NANOSECOND
from sase.lang.units import NANOSECONDS

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def format_value(value: Any, data_type: DataType) -> str:
    """Format a Python value of a type; times are nanoseconds, decimals fractions."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return str(value).upper()
    if data_type.kind is Kind.INTERVAL:
        return f"-{format_time(-value)}" if value < 0 else format_time(value)
    if data_type.kind is Kind.TIMESTAMP:
        return _timestamp(value)
    if isinstance(value, Fraction):
        number = Decimal(value.numerator) / Decimal(value.denominator)
        scale = data_type.scale
        return str(number if scale is None else number.quantize(Decimal(1).scaleb(-scale)))
    return str(value)


def _timestamp(nanoseconds: int) -> str:
    number = Decimal(nanoseconds).scaleb(-NANOSECOND)
    try:
        moment = EPOCH + timedelta(microseconds=int(number * 1_000_000))
    except OverflowError:
        return f"{number} s"
    return moment.isoformat(" ").replace("+00:00", "")


def format_span(number: int, window: BoundWindow, schema: Schema) -> str:
    """Format a length in the units of a window."""
    if window.kind is not WindowKind.TIME:
        return "1 event" if number == 1 else f"{number:,} events"
    if schema.nanoseconds is None:
        return f"{number:,}"
    return format_time(number * schema.nanoseconds)


def format_time(nanoseconds: int) -> str:
    """Format a duration in the largest unit that fits, and the next smaller one."""
    units = list(reversed(NANOSECONDS.items()))
    for (unit, size), (smaller, rest) in zip(units, units[1:], strict=False):
        if nanoseconds >= size:
            whole, left = divmod(nanoseconds, size)
            more = left // rest
            tail = f" {in_units(more, smaller)}" if more else ""
            return in_units(whole, unit) + tail
    return in_units(nanoseconds, "nanoseconds")
