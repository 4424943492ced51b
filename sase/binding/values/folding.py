"""Fold arithmetic and comparisons of constants, as in docs/semantics.md, Numbers.

This equals the engine's kernels, with Python's numbers: NULL propagates; overflow of int64,
division by zero and NaN give NULL; integers and floats compare by exact value.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sase.binding.bound import Scalar
from sase.binding.values.functions import FUNCTIONS

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

# They work on numbers, arrays and columns alike.
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def fold_operation(name: str, operands: list[Scalar], *, bounded: bool = True) -> Scalar:
    """The value of an operator or function on constants.

    Times are not `bounded`: here they are nanoseconds, and int64 bounds them only in the unit of a
    column.
    """
    function = FUNCTIONS.get(name)
    if function is not None and function.is_conditional:
        return _normal(function.value(*operands), bounded)
    if function is not None and function.skips_null:
        known = [value for value in operands if value is not None]
        is_null = function.is_choice and not known
        return None if is_null else _normal(function.value(*known), bounded)
    if any(value is None for value in operands):
        return None
    value = _OPERATORS[name] if function is None else function.value
    return _normal(value(*operands), bounded)


def fold_comparison(symbol: str, left: Scalar, right: Scalar) -> bool:
    """Whether a comparison of constants holds; with NULL it is false."""
    if left is None or right is None:
        return False
    return bool(COMPARISONS[symbol](_beside(left, right), _beside(right, left)))


def _beside(value: Any, other: Any) -> Any:
    """The number that a decimal literal means beside a float: the nearest float."""
    if not isinstance(value, Decimal):
        return value
    return float(value) if isinstance(other, float) else Fraction(value)


def _normal(value: Any, bounded: bool) -> Scalar:
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, int) and not isinstance(value, bool) and bounded:
        return value if INT64_MIN <= value <= INT64_MAX else None
    return value  # type: ignore[no-any-return]


def _divided(left: Any, right: Any) -> float | None:
    return None if right == 0 else float(left) / float(right)


def _modulo(left: Any, right: Any) -> Any:
    if right == 0:
        return None
    if isinstance(left, int) and isinstance(right, int):
        rest = abs(left) % abs(right)
        return -rest if left < 0 else rest
    return math.nan if math.isinf(left) else math.fmod(float(left), float(right))


_OPERATORS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divided,
    "%": _modulo,
    "neg": lambda value: value.copy_negate() if isinstance(value, Decimal) else -value,
}
