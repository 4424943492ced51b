"""docs/semantics.md, Functions: the functions of numbers and of texts. None is NULL."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal
from typing import Any

# Enough digits for any float64, none of which has more than 1,100.
WIDE = Context(prec=1500)


def _to_multiple(rounding: str) -> Callable[..., Any]:
    """Round to a number of digits after the point, by the exact decimal value of the number."""

    def rounded(number: Any, digits: int = 0) -> Any:
        if isinstance(number, int) or not Decimal(number).is_finite():
            return number
        unit = Decimal(1).scaleb(-digits)
        found = Decimal(number).quantize(unit, rounding, WIDE)
        return math.copysign(float(found), number) if isinstance(number, float) else found

    return rounded


def _sqrt(number: Any) -> float | None:
    return None if number < 0 else math.sqrt(number)


def _ln(number: Any) -> float | None:
    return math.log(float(number)) if number > 0 else None


def _exp(number: Any) -> float:
    return _or_infinite(math.exp, float(number))


def _power(base: Any, exponent: Any) -> float | None:
    base, exponent = float(base), float(exponent)
    divides_by_zero = base == 0 and exponent < 0
    if divides_by_zero or (base < 0 and math.isfinite(exponent) and exponent % 1):
        return None
    try:
        return float(base**exponent)
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 else math.inf


def _or_infinite(function: Callable[[float], float], number: float) -> float:
    try:
        return function(number)
    except OverflowError:
        return math.inf


# By name: the types of the arguments, and the value of arguments that are not NULL.
Number = (int, float, Decimal)
FUNCTIONS: Mapping[str, tuple[tuple[Any, ...], Callable[..., Any]]] = {
    "round": ((Number, int), _to_multiple(ROUND_HALF_UP)),
    "floor": ((Number,), _to_multiple(ROUND_FLOOR)),
    "ceil": ((Number,), _to_multiple(ROUND_CEILING)),
    "sqrt": ((Number,), _sqrt),
    "power": ((Number, Number), _power),
    "ln": ((Number,), _ln),
    "exp": ((Number,), _exp),
    "sign": ((Number,), lambda number: (number > 0) - (number < 0)),
}


def applied(name: str, arguments: Sequence[Any]) -> Any:
    """The value of a function; NULL if an argument is."""
    if name not in FUNCTIONS:
        raise NotImplementedError(f"the function {name} of {len(arguments)} arguments")
    kinds, function = FUNCTIONS[name]
    if any(each is None for each in arguments):
        return None
    for kind, each in zip(kinds, arguments, strict=False):
        if isinstance(each, bool) or not isinstance(each, kind):
            raise NotImplementedError(f"{name} of {arguments!r}")
    return function(*arguments)
