"""Tags and bits of types and literals in programs."""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from sase.binding.bound import Constant, Expression, Placeholder, Scalar
from sase.binding.literals import units_of
from sase.binding.types import TIMES, DataType, Kind
from sase.engine.expressions.layout import LoweringError
from sase.engine.expressions.strings import Interner
from sase.engine.kernels.expressions.operations import (
    ABOVE,
    BELOW,
    EXACT,
    FLOAT,
    INTEGER,
    LEAST,
    LITERAL,
    MOST,
    NOTHING,
    NULL,
    Value,
)

# Decimal digits of a second by resolution; days are converted to seconds.
RESOLUTIONS = {"d": 0, "s": 0, "ms": 3, "us": 6, "ns": 9}
NANOSECOND = 9


def tag_of(data_type: DataType) -> int:
    """The tag of a column's cells."""
    if data_type.kind in TIMES and data_type.resolution is not None:
        return EXACT + RESOLUTIONS[data_type.resolution]
    if data_type.kind is Kind.DECIMAL:
        return EXACT + (data_type.scale or 0)
    return FLOAT if data_type.kind is Kind.FLOAT else INTEGER


def is_time(*expressions: Expression) -> bool:
    """Whether arithmetic on these values is that of times."""
    return any(expression.type.kind in TIMES for expression in expressions)


def is_text(*expressions: Expression) -> bool:
    """Whether these values are compared as texts."""
    return any(expression.type.kind is Kind.STRING for expression in expressions)


def literal(expression: Constant | Placeholder) -> Scalar:
    """The value of a literal."""
    if isinstance(expression, Placeholder):
        raise LoweringError(f"the parameter :{expression.name} has no value")
    return expression.value


def constant(expression: Constant, interner: Interner) -> Value:
    """The tag and bits of a literal."""
    match expression.value:
        case None:
            return NOTHING
        case bool(truth):
            return INTEGER, int(truth)
        case int(count) if expression.type.kind in TIMES:
            return _time(count)
        case int(whole):
            return INTEGER, whole
        case float(real):
            return (FLOAT, int(np.float64(real).view(np.int64))) if real == real else (NULL, 0)
        case Decimal() as number:
            units, scale, side = units_of(number)
            return (LITERAL, ABOVE, BELOW)[side] + scale, units
        case str(text):
            return INTEGER, interner.code(text)


def _time(nanoseconds: int) -> Value:
    """A time in the coarsest exact unit, or the finest that fits int64."""
    scale = next(s for s in range(NANOSECOND + 1) if nanoseconds % 10 ** (NANOSECOND - s) == 0)
    while not LEAST <= nanoseconds // 10 ** (NANOSECOND - scale) <= MOST:
        scale -= 1
        if scale < 0:
            raise LoweringError(f"{nanoseconds} nanoseconds are beyond every time")
    units, rest = divmod(nanoseconds, 10 ** (NANOSECOND - scale))
    # The cut-off digits must not make it equal to a time in a coarser unit.
    return EXACT + scale, units + (rest > 0 and units % 10 == 0)
