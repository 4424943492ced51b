"""The distance of values from satisfying a condition: exact for one match, floats for many."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from sase.binding import BoundQuery, Schema, bound
from sase.binding.types import NUMBERS, TIMES
from sase.engine.columns.arrays import Floats, Numbers
from sase.engine.kernels.expressions.operations import EXACT, FLOAT, INTEGER, SCALES
from sase.engine.operators.contract import size_of

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
