"""By how much: what windows measure, the distance of values from a condition, and both as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sase.binding import BoundQuery, Schema
from sase.binding.bound import (
    Between,
    BoundWindow,
    Comparison,
    Condition,
    Constant,
    Expression,
    Membership,
    WindowKind,
)
from sase.binding.types import NUMBERS, TIMES
from sase.diagnostics.why_not.candidates import Attributes
from sase.engine.kernels.expressions.operations import EXACT, FLOAT, INTEGER
from sase.lang.units import NANOSECONDS

Numbers = NDArray[np.int64]
Reals = NDArray[np.float64]


def measured(window: BoundWindow, query: BoundQuery, attributes: Attributes) -> Numbers:
    """What a window measures of every event."""
    events = attributes.events
    if window.kind is WindowKind.TIME:
        return events.ts
    places = np.arange(len(events))
    if window.kind is WindowKind.EVENTS:
        return places
    codes = attributes.codes(query.equivalences)
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=codes[order[:1]] - 1))
    lengths = np.diff(starts, append=len(order))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = places - np.repeat(starts, lengths)
    return ranks


def span_text(number: int, window: BoundWindow, schema: Schema) -> str:
    """A length in the units of a window, as a person says it."""
    if window.kind is not WindowKind.TIME:
        return "1 event" if number == 1 else f"{number:,} events"
    if schema.nanoseconds is None:
        return f"{number:,}"
    return time_text(number * schema.nanoseconds)


def time_text(nanoseconds: int) -> str:
    """A time in the largest unit of which there is one, and the next."""
    units = list(reversed(NANOSECONDS.items()))
    for (unit, size), (smaller, rest) in zip(units, units[1:], strict=False):
        if nanoseconds >= size:
            whole, left = divmod(nanoseconds, size)
            more = left // rest
            tail = f" {_counted(more, smaller)}" if more else ""
            return _counted(whole, unit) + tail
    return _counted(nanoseconds, "nanoseconds")


def _counted(number: int, unit: str) -> str:
    return f"{number} {unit.removesuffix('s') if number == 1 else unit}"


# ---------------------------------------------------------------- values


def compared(condition: Condition) -> tuple[Expression, ...]:
    """The values whose distance tells how far a condition is from holding; none if none does."""
    match condition:
        case Comparison(left=left, right=right):
            found: tuple[Expression, ...] = (left, right)
        case Between(operand=operand, low=low, high=high, negated=False):
            found = (operand, low, high)
        case Membership(operand=operand, values=values, negated=False):
            found = (operand, *values)
        case _:
            return ()
    return found if all(_is_measured(each) for each in found) else ()


def _is_measured(value: Expression) -> bool:
    is_text = isinstance(value, Constant) and isinstance(value.value, str | bool | None)
    return not is_text and value.type.kind in NUMBERS | TIMES


def distance(condition: Condition, values: list[Numbers]) -> Reals:
    """How far the values that `compared` named are apart; NaN where one is NULL."""
    first, *others = (reals(each) for each in values)
    match condition:
        case Between():
            low, high = others
            return np.maximum(np.maximum(low - first, first - high), 0.0)
        case _:
            gaps = [np.abs(first - each) for each in others]
            return np.min(gaps, axis=0) if gaps else np.full(len(first), np.nan)


def gap(condition: Condition, values: Sequence[Any]) -> Any:
    """The same distance of values of Python, of which none is NULL."""
    first, *others = values
    if isinstance(condition, Between):
        low, high = others
        return max(low - first, first - high, 0)
    return min(abs(first - each) for each in others)


def scale(values: list[Numbers]) -> Reals:
    """What a distance is large or small beside."""
    found: Reals = np.max([np.abs(reals(each)) for each in values], axis=0)
    return found


def reals(values: Numbers) -> Reals:
    """Tags and bits as floats, times in seconds; NaN for NULL."""
    tags, bits = values[:, 0], values[:, 1]
    found = np.full(len(tags), np.nan)
    found[tags == INTEGER] = bits[tags == INTEGER]
    found[tags == FLOAT] = np.ascontiguousarray(bits[tags == FLOAT]).view(np.float64)
    is_exact = tags >= EXACT
    found[is_exact] = bits[is_exact] / 10.0 ** (tags[is_exact] - EXACT)
    return found
