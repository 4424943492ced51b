"""docs/semantics.md, Numbers: values, their comparison, arithmetic and functions. None is NULL."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from sase.lang import ast
from tests.naive.functions import applied

LEAST_INT64, GREATEST_INT64 = -(2**63), 2**63 - 1
MICROSECOND = 1000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# docs/semantics.md, Windows: units with their usual singulars and short forms, in nanoseconds.
_UNITS = {
    "ns nano nanos nanosecond nanoseconds": 1,
    "us µs μs micro micros microsecond microseconds": MICROSECOND,
    "ms milli millis msec msecs millisecond milliseconds": 10**6,
    "s sec secs second seconds": 10**9,
    "m min mins minute minutes": 60 * 10**9,
    "h hr hrs hour hours": 3600 * 10**9,
    "d day days": 86400 * 10**9,
    "w wk wks week weeks": 7 * 86400 * 10**9,
}
NANOSECONDS = {name: count for names, count in _UNITS.items() for name in names.split()}


@dataclass(frozen=True, order=True)
class Moment:
    """A timestamp: nanoseconds since 1970; `kind` is how Python shall see it, and its zone."""

    nanoseconds: int
    kind: Literal["date", "naive", "aware"] = field(default="naive", compare=False)
    zone: tzinfo = field(default=UTC, compare=False)


@dataclass(frozen=True, order=True)
class Interval:
    """A difference of two timestamps."""

    nanoseconds: int


class Single(float):
    """A float32: as a value it is the float64 that equals it."""


class Written(Decimal):
    """A number with a point in a query, or a parameter: exact until it is beside a float."""


Number: TypeAlias = int | float | Decimal
Value: TypeAlias = bool | int | float | Decimal | str | Moment | Interval | None


# ---------------------------------------------------------------- from and to Python


def read(value: object) -> Value:
    """The value of a column or parameter; NaN, given or computed, is NULL."""
    match value:
        case None | bool() | str():
            return value
        case int() if LEAST_INT64 <= value <= GREATEST_INT64:
            return value
        case float():
            return None if math.isnan(value) else value
        case np.float32():
            return None if np.isnan(value) else Single(value)
        case Decimal() if value.is_finite() and _digits(value) <= 18:
            return value
        case int() | Decimal():
            raise ValueError(f"a bad value: {value} is wider than int64 or 18 digits")
        case date():  # a datetime is a date too
            return _moment(value)
        case timedelta():
            return Interval(value // timedelta(microseconds=1) * MICROSECOND)
        case _:
            raise NotImplementedError(f"values such as {value!r}")


def _digits(value: Decimal) -> int:
    """The precision of the narrowest DECIMAL(p, s) that holds the value."""
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    return max(len(digits) + max(exponent, 0), -exponent)


def _moment(value: date) -> Moment:
    if not isinstance(value, datetime):
        return Moment((value - EPOCH.date()).days * NANOSECONDS["day"], "date")
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    microseconds = (aware - EPOCH) // timedelta(microseconds=1)
    kind: Literal["aware", "naive"] = "aware" if value.tzinfo else "naive"
    return Moment(microseconds * MICROSECOND, kind, value.tzinfo or UTC)


def python(value: Value) -> object:
    """The value as a caller of Python wants to see it."""
    match value:
        case Moment(nanoseconds, kind):
            moment = EPOCH + timedelta(microseconds=_whole(nanoseconds, MICROSECOND))
            return {
                "date": moment.date(),
                "naive": moment.replace(tzinfo=None),
                "aware": moment,
            }[kind]
        case Interval(nanoseconds):
            return timedelta(microseconds=_whole(nanoseconds, MICROSECOND))
        case Single() | Written():
            return float(value)
        case _:
            return value


def _whole(nanoseconds: int, unit: int) -> int:
    count, rest = divmod(nanoseconds, unit)
    if rest:
        raise NotImplementedError(f"{nanoseconds} ns is no whole number of units of {unit} ns")
    return count


# ---------------------------------------------------------------- literals


def literal(node: ast.Expression, parameters: Mapping[str, object]) -> Value:
    """The value of a literal, a negative literal or a parameter."""
    match node:
        case ast.Integer() | ast.String() | ast.Boolean():
            return node.value
        case ast.Float():
            return Written(node.value)
        case ast.Null():
            return None
        case ast.Timestamp(text) | ast.Date(text):
            return _parse_moment(text, isinstance(node, ast.Date))
        case ast.ClockTime(text):
            moment = datetime.fromisoformat(f"1970-01-01T{text}+00:00")
            return Interval((moment - EPOCH) // timedelta(microseconds=1) * MICROSECOND)
        case ast.Interval(amount, unit):
            nanoseconds = exact(amount.value) * unit_in_nanoseconds(unit.text)
            return Interval(_whole(nanoseconds.numerator, nanoseconds.denominator))
        case ast.Percentage(amount):
            return float(amount.value) / 100
        case ast.Parameter(name):
            if name not in parameters:
                raise ValueError(f"the parameter :{name} is not given")
            value = parameters[name]
            return Written(value) if isinstance(value, Decimal) else read(value)
        case ast.Negative(operand):
            return negative(literal(operand, parameters))
        case _:
            raise NotImplementedError(f"{node} where a literal is expected")


def exact(number: Number) -> Fraction:
    """A number as it is written: 0.1 is a tenth, not the nearest binary fraction."""
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


def unit_in_nanoseconds(name: str) -> int:
    """How long a unit of time is."""
    if name.lower() not in NANOSECONDS:
        raise NotImplementedError(f"the unit of time {name!r}")
    return NANOSECONDS[name.lower()]


def _parse_moment(text: str, is_date: bool) -> Moment:
    if re.search(r"[.,]\d{7}", text):
        raise NotImplementedError(f"timestamps finer than microseconds: {text!r}")
    return _moment(date.fromisoformat(text) if is_date else datetime.fromisoformat(text))


# ---------------------------------------------------------------- comparison


def compare(left: Value, right: Value, unit: int | None = None) -> int:
    """-1, 0 or 1 for less, equal, greater; `unit` is that of integer time, in nanoseconds."""
    left, right = _on_raw_time(left, right, unit)
    match left, right:
        case (bool(), bool()) | (str(), str()) | (Moment(), Moment()) | (Interval(), Interval()):
            return (left > right) - (left < right)  # type: ignore[operator]
        case _ if is_number(left) and is_number(right):
            a, b = _beside(left, right), _beside(right, left)
            return (a > b) - (a < b)
        case _:
            raise NotImplementedError(f"comparing {left!r} with {right!r}")


def is_number(value: Value) -> bool:
    """Whether it is an integer, a float or a decimal; a boolean is not."""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _beside(number: Value, other: Value) -> Fraction | float:
    """The number for comparison: one with a point as the nearest float beside a float."""
    if isinstance(number, Written) and isinstance(other, float):
        near = nearest_single(number) if isinstance(other, Single) else float(number)
        return _comparable(near)
    return _comparable(number)


def nearest_single(number: Decimal) -> float:
    """The float32 nearest to a number, of two that are as near the even one."""
    most = np.finfo(np.float32).max
    if abs(Fraction(number)) >= Fraction(float(most)) + 2**103:
        return math.copysign(math.inf, number)
    with np.errstate(over="ignore"):
        near = np.clip(np.float32(float(number)), -most, most)
    around = [
        np.nextafter(near, np.float32(-math.inf)),
        near,
        np.nextafter(near, np.float32(math.inf)),
    ]
    finite = [each for each in around if np.isfinite(each)]
    best = min(
        finite, key=lambda f: (abs(Fraction(float(f)) - Fraction(number)), f.view(np.int32) % 2)
    )
    return float(best)


def _comparable(number: Value) -> Fraction | float:
    """The exact numeric value; Python compares fractions with infinities rightly."""
    assert isinstance(number, int | float | Decimal)
    return number if isinstance(number, float) and math.isinf(number) else Fraction(number)


def _on_raw_time(left: Value, right: Value, unit: int | None) -> tuple[Value, Value]:
    """docs/semantics.md, Expressions: on raw integer time intervals are plain integers."""
    if isinstance(left, Interval) and is_number(right):
        return _plain_integer(left, unit), right
    if isinstance(right, Interval) and is_number(left):
        return left, _plain_integer(right, unit)
    return left, right


def _plain_integer(interval: Interval, unit: int | None) -> int:
    if unit is None:
        raise NotImplementedError("an interval and a number, on time without a time_unit")
    return _whole(interval.nanoseconds, unit)


# ---------------------------------------------------------------- arithmetic


def arithmetic(sign: str, left: Value, right: Value, unit: int | None = None) -> Value:
    """`left sign right`; NULL gives NULL, and a result beyond int64 or NaN is NULL."""
    if left is None or right is None:
        return None
    left, right = _on_raw_time(left, right, unit)
    if isinstance(left, Moment | Interval) or isinstance(right, Moment | Interval):
        return _time_arithmetic(sign, left, right)
    if not is_number(left) or not is_number(right):
        raise NotImplementedError(f"{left!r} {sign} {right!r}")
    if isinstance(left, int) and isinstance(right, int) and sign != "/":
        return _integers(sign, left, right)
    return _floats(sign, float(left), float(right))  # type: ignore[arg-type]


def _integers(sign: str, left: int, right: int) -> int | None:
    if max(abs(left), abs(right)) > 2**63:
        raise NotImplementedError(f"arithmetic on an integer beyond int64: {left} {sign} {right}")
    if sign == "%":
        if right == 0:
            return None
        rest = abs(left) % abs(right)
        return -rest if left < 0 else rest
    return in_int64(_OPERATORS[sign](left, right))


def _floats(sign: str, left: float, right: float) -> float | None:
    if sign in "/%" and right == 0:
        return None
    if sign == "%":
        return None if math.isinf(left) else math.fmod(left, right)
    return not_nan(_OPERATORS[sign](left, right))


_OPERATORS: dict[str, Callable[..., float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def in_int64(number: float) -> int | None:
    """An integer, or NULL when it leaves int64."""
    assert isinstance(number, int)
    return number if LEAST_INT64 <= number <= GREATEST_INT64 else None


def not_nan(number: float) -> float | None:
    """A float, or NULL for NaN."""
    return None if math.isnan(number) else number


def _time_arithmetic(sign: str, left: Value, right: Value) -> Value:
    match left, sign, right:
        case Moment(a), "-", Moment(b):
            return _in_range(Interval(a - b))
        case (Moment(a, kind), "+" | "-", Interval(b)) | (Interval(b), "+", Moment(a, kind)):
            after = "naive" if kind == "date" else kind
            return _in_range(Moment(a - b if sign == "-" else a + b, after))
        case Interval(a), "+" | "-", Interval(b):
            return _in_range(Interval(a - b if sign == "-" else a + b))
        case _:
            raise NotImplementedError(f"{left!r} {sign} {right!r}")


def _in_range(time: Moment | Interval) -> Moment | Interval | None:
    """Python's times are microseconds, and so is the int64 that arithmetic may leave."""
    inside = LEAST_INT64 * MICROSECOND <= time.nanoseconds <= GREATEST_INT64 * MICROSECOND
    return time if inside else None


def negative(value: Value) -> Value:
    """Unary minus."""
    match value:
        case None:
            return None
        case Interval(nanoseconds):
            return _in_range(Interval(-nanoseconds))
        case bool() | str() | Moment():
            raise NotImplementedError(f"- {value!r}")
        case int():
            return in_int64(-value)
        case Written():
            return Written(value.copy_negate())
        case Single():
            return Single(-value)
        case float() | Decimal():  # arithmetic on decimals is float64
            return -float(value)


# ---------------------------------------------------------------- functions


def function(name: str, arguments: Sequence[Value], unit: int | None = None) -> Value:
    """The functions of docs/semantics.md, Expressions."""
    if name == "coalesce":
        return next((value for value in arguments if value is not None), None)
    if name in ("least", "greatest"):
        return extreme(arguments, -1 if name == "least" else 1, unit)
    if name not in ("abs", "lower", "upper", "length"):
        return applied(name, arguments)  # type: ignore[no-any-return]
    (value,) = arguments
    if value is None:
        return None
    if name == "abs":
        return _absolute(value)
    if not isinstance(value, str):
        raise NotImplementedError(f"{name} of {value!r}")
    return {"lower": str.lower, "upper": str.upper, "length": len}[name](value)  # type: ignore


def extreme(values: Sequence[Value], side: int, unit: int | None = None) -> Value:
    """The least (side -1) or greatest (1) value, the first of equal ones; NULLs are skipped."""
    best: Value = None
    for value in values:
        if value is not None and (best is None or compare(value, best, unit) == side):
            best = value
    return best


def _absolute(value: Value) -> Value:
    if isinstance(value, Interval):
        return negative(value) if value.nanoseconds < 0 else value
    if not is_number(value):
        raise NotImplementedError(f"abs of {value!r}")
    if isinstance(value, Single):
        return Single(abs(value))
    return in_int64(abs(value)) if isinstance(value, int) else abs(float(value))  # type: ignore


def like(text: str, pattern: str) -> bool:
    """`%` and `_` are wild, a backslash takes the next character as it is.

    `reached[i]`: the tokens so far match the first i characters.
    """
    tokens = re.findall(r"\\?.", pattern, re.DOTALL)
    if "\\" in tokens:
        raise NotImplementedError("a LIKE pattern that ends in a single backslash")
    reached = [True] + [False] * len(text)
    for token in tokens:
        if token == "%":
            reached = [any(reached[: end + 1]) for end in range(len(reached))]
        else:
            fits = [token == "_" or token[-1] == character for character in text]
            reached = [False, *(a and b for a, b in zip(reached, fits, strict=False))]
    return reached[-1]
