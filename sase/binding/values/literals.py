"""Convert literals and parameters to typed constants."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set, Sized
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from math import copysign, floor, inf, isinf, nextafter
from numbers import Integral
from struct import pack, unpack
from typing import TypeAlias

from sase.base.interface import parameter
from sase.base.texts import did_you_mean
from sase.binding.bound import Constant, Expression, Placeholder, Scalar
from sase.binding.names.scope import Scope, unknown
from sase.binding.types import (
    BOOLEAN,
    FLOAT,
    INTEGER,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    UNKNOWN,
    WILD,
    DataType,
    Kind,
    merged,
)
from sase.binding.values.folding import INT64_MAX
from sase.lang import ast
from sase.lang.printer import to_text
from sase.lang.units import NANOSECONDS, UNITS, unknown_unit

# Digits that decide the nearest float.
MOST_PLACES = 800
# The most digits of a decimal after the point.
MOST_SCALE = 18
# No integer or decimal is greater.
GREATEST_FLOAT = 2.0**63

_TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(\.\d{1,9})?\s*(Z|[+-]\d\d:?\d\d)?)?",
    re.IGNORECASE,
)


_CLOCK = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(\.[0-9]{1,9})?)?")


def bind_literal(node: ast.Expression, scope: Scope) -> Constant | Placeholder | None:
    """The constant of a literal, or None for other nodes."""
    span = node.span
    match node:
        case ast.Integer(value=value):
            return _integer(node, value, scope)
        case ast.Float(value=number):
            return Constant(*_decimal(number), span=span)
        case ast.Percentage(amount=amount):
            return Constant(FLOAT, float(amount.value) / 100, span=span)
        case ast.String(value=text):
            _warn_of_name(node, text, scope)
            return Constant(STRING, text, span=span)
        case ast.Boolean(value=truth):
            return Constant(BOOLEAN, truth, span=span)
        case ast.Null():
            return Constant(NULL, None, span=span)
        case ast.Timestamp(text=text) | ast.Date(text=text):
            return _timestamp(node, text, scope)
        case ast.ClockTime():
            return _clock_time(node, scope)
        case ast.Interval():
            return _interval(node, scope)
        case ast.Parameter():
            return _parameter(node, scope)
    return None


def _warn_of_name(node: ast.String, text: str, scope: Scope) -> None:
    """Warn of a text in double quotes that is also the name of an attribute."""
    if scope.problems.source.text[node.span[0] : node.span[0] + 1] not in ('"', "“", "„"):
        return
    component = next((c for c in scope.inner_components if scope.declares(c, text)), None)
    if component is None:
        return
    name = f"`{text.replace('`', '``')}`"
    if component.named and len(scope.inner_components) > 1:
        name = f"{component.variable}.{name}"
    scope.problems.warning(
        "text-or-attribute",
        "this is a text, and also the name of an attribute",
        node.span,
        f"the attribute is written  {name} , a text in single quotes:  {to_text(node)}",
    )


def _integer(node: ast.Integer, value: int, scope: Scope) -> Constant | Placeholder:
    # One more than the largest: a minus may precede it.
    if value <= INT64_MAX + 1:
        return Constant(INTEGER, value, span=node.span)
    return scope.refuse(
        "integer-out-of-range",
        f"{value} is beyond the integers of 64 bits",
        node.span,
        f"integers go from {-INT64_MAX - 1} to {INT64_MAX}; as a float write  {float(value)!r}",
    )


def _timestamp(node: ast.Timestamp | ast.Date, text: str, scope: Scope) -> Constant | Placeholder:
    found = _TIMESTAMP.fullmatch(text.strip())
    word = "DATE" if isinstance(node, ast.Date) else "TIMESTAMP"
    from datetime import UTC, datetime, timedelta

    if found and not (word == "DATE" and found[2]):
        day, clock, fraction, zone = found.groups()
        zoned = None if word == "DATE" else zone is not None
        zone = "+00:00" if not zone or zone in "Zz" else zone
        try:
            moment = datetime.fromisoformat(f"{day}T{clock or '00:00'}{zone}")
        except ValueError:
            pass  # an invalid date, such as the 30th of February, is reported below
        else:
            seconds = (moment - datetime.fromtimestamp(0, UTC)) // timedelta(seconds=1)
            nanoseconds = int((fraction or ".0")[1:].ljust(9, "0"))
            data_type = replace(TIMESTAMP, zoned=zoned)
            return Constant(data_type, seconds * 10**9 + nanoseconds, span=node.span)
    return scope.refuse(
        "bad-timestamp",
        f"{text!r} is not a {'date' if word == 'DATE' else 'point in time'}",
        node.span,
        "write  DATE '2026-01-31'"
        if word == "DATE"
        else "write  TIMESTAMP '2026-01-31 23:59:59.5' , with a zone  '2026-01-31T23:59:59+01:00'",
    )


def _interval(node: ast.Interval, scope: Scope) -> Constant | Placeholder:
    unit = UNITS.get(node.unit.text)
    if unit is None:
        scope.problems.add(unknown_unit(node.unit.text, node.unit.span, scope.problems.source))
        return unknown(node)
    nanoseconds = exact(node.amount) * NANOSECONDS[unit]
    if abs(nanoseconds) > INT64_MAX * 10**9:
        return scope.refuse(
            "integer-out-of-range",
            "this interval is longer than all of time",
            node.span,
            f"times go up to {INT64_MAX} seconds",
        )
    return Constant(INTERVAL, round(nanoseconds), span=node.span)


def _clock_time(node: ast.ClockTime, scope: Scope) -> Constant | Placeholder:
    """The time since midnight."""
    found = _CLOCK.fullmatch(node.text.strip())
    parts = ("24", "0", None) if found is None else found.group(1, 2, 3)
    hours, minutes, seconds = (int(each or 0) for each in parts)
    if found is None or hours > 23 or max(minutes, seconds) > 59:
        return scope.refuse(
            "bad-timestamp",
            f"{node.text!r} is not a time of the day",
            node.span,
            "write  TIME '08:30'  or  TIME '23:59:59.5'",
        )
    fraction = int((found[4] or ".0")[1:].ljust(9, "0"))
    nanoseconds = (hours * 3600 + minutes * 60 + seconds) * 10**9 + fraction
    return Constant(INTERVAL, nanoseconds, span=node.span)


def exact(amount: ast.Integer | ast.Float) -> Fraction:
    """The exact value of a number as written."""
    return as_written(amount.value)


def as_written(number: int | float | Decimal) -> Fraction:
    """The exact value of a finite number's shortest text: 0.1 is a tenth."""
    if isinstance(number, int):
        return Fraction(number)
    return Fraction(repr(min(max(float(number), -1e300), 1e300)))


def _parameter(node: ast.Parameter, scope: Scope) -> Constant | Placeholder:
    given = scope.parameters
    if given is None:
        return Placeholder(UNKNOWN, node.name, span=node.span)
    if node.name not in given:
        return scope.refuse(
            "missing-parameter",
            f"no value is given for the parameter `:{node.name}`",
            node.span,
            *did_you_mean(node.name, given),
            f"give it with  {parameter(node.name)}",
        )
    found = constant(given[node.name])
    if several_values(given[node.name]) is not None:
        return scope.refuse(
            "bad-parameter",
            f"the parameter `:{node.name}` is a list, and one value is needed here",
            node.span,
            f"a list follows IN:  x.a IN :{node.name}",
        )
    if found is None:
        kind, shown = type(given[node.name]).__name__, repr(given[node.name])[:40]
        return scope.refuse(
            "bad-parameter",
            f"the parameter `:{node.name}` is no literal of the language: a {kind}, {shown}",
            node.span,
            _VALID,
        )
    return Constant(found[0], found[1], span=node.span)


_VALID = (
    "values are bool, int of 64 bits, float, Decimal, str, None, datetime, date, timedelta; after"
    " IN also a list of them"
)


def several_values(value: object) -> list[object] | None:
    """The values of a parameter that is a list; those of a set in an order of their own."""
    if isinstance(value, str | bytes | bytearray | Mapping) or not isinstance(value, Sized):
        return None
    if callable(plain := getattr(value, "tolist", None)):  # of NumPy, pandas and Arrow
        value = plain()
    if isinstance(value, Set):
        return sorted(value, key=repr)
    return list(value) if isinstance(value, Iterable) else None


def listed_parameter(node: ast.Parameter, scope: Scope) -> list[Expression] | None:
    """The values of a parameter that is a list; None for others."""
    given = several_values((scope.parameters or {}).get(node.name))
    if given is None:
        return None
    known = [constant(each) for each in given]
    if None in known:
        wrong = next(each for each, found in zip(given, known, strict=True) if found is None)
        refused = scope.refuse(
            "bad-parameter",
            f"the list `:{node.name}` has {repr(wrong)[:40]}, which is no literal of the language",
            node.span,
            _VALID,
        )
        return [refused]
    return [Constant(*found, span=node.span) for found in known if found is not None]


def _decimal(number: Decimal) -> tuple[DataType, Scalar]:
    """An exact number as a constant; infinities are floats, NaN is NULL."""
    if not number.is_finite():
        return FLOAT, None if number.is_nan() else float(number)
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    if not number:
        exponent = -min(max(-exponent, 0), MOST_SCALE)
        number = Decimal((sign, (0,), exponent))
    elif abs(number.adjusted()) > MOST_PLACES:
        exponent = MOST_PLACES if number.adjusted() > 0 else -MOST_PLACES
        number = Decimal((sign, (1,), exponent))
    elif len(digits) > MOST_PLACES:  # the last one says that there is more
        exponent += len(digits) - MOST_PLACES - 1
        number = Decimal((sign, (*digits[:MOST_PLACES], int(any(digits[MOST_PLACES:]))), exponent))
    return _decimal_type(min(max(-exponent, 0), MOST_SCALE)), number


@cache
def _decimal_type(scale: int) -> DataType:
    return DataType(Kind.DECIMAL, scale=scale)


def is_of_width(value: Expression, width: int) -> bool:
    """Whether a float of a width equals the literal."""
    number = value.value if isinstance(value, Constant) else None
    return not isinstance(number, Decimal) or nearest_float(number, width) == number


def is_written(value: Expression) -> bool:
    """Whether a value is a literal with a decimal point, still exact."""
    return isinstance(value, Constant) and isinstance(value.value, Decimal)


def beside(value: Expression, other: DataType) -> Expression:
    """A value for comparison with a type: converts an exact literal with a decimal point.

    Beside floats it becomes the nearest float of their width; beside exact or unknown types it
    stays exact. If a float has the same place in the order of the type's values, that float is
    taken.
    """
    if not (isinstance(value, Constant) and isinstance(value.value, Decimal)):
        return value
    number, near = value.value, float(value.value)
    if other.kind not in (*WILD, Kind.DECIMAL, Kind.INTEGER) and other.scale is None:
        data_type = other if other.kind is Kind.FLOAT else FLOAT
        return Constant(data_type, nearest_float(number, data_type.width), span=value.span)
    if other.kind is Kind.INTEGER and abs(near) < GREATEST_FLOAT:
        is_as_good = near == number or (not near.is_integer() and floor(near) == floor(number))
    elif other.kind is Kind.DECIMAL:
        is_as_good = abs(near) > GREATEST_FLOAT
    else:
        # An unknown type may be a float of fewer bits.
        is_for_all = other.scale is not None or nearest_float(number, 16) == near
        is_as_good = (near == number and is_for_all) or not _has_units(number)
    return Constant(FLOAT, near, span=value.span) if is_as_good else value


def alike(
    operands: tuple[Expression, ...], among: Sequence[Expression] | None = None
) -> tuple[Expression, ...]:
    """Convert literals among operands of which one is chosen, each as beside the others.

    Operands that are not `among` the chosen ones are conditions, which stay.
    """
    others = merged(each.type for each in among or operands if not is_written(each))
    if others == UNKNOWN:
        return tuple(each if _is_exact(each) else beside(each, others) for each in operands)
    return tuple(beside(each, others) for each in operands)


def units_of(number: Decimal) -> tuple[int, int, int]:
    """The most units of 10 to the minus scale that fit int64, the scale, and a side.

    The side is 0 if the units are exactly the number, 1 if the number is above, -1 below. No
    integer or decimal of 18 digits lies between.
    """
    exact = Fraction(number)
    scale = next((s for s in range(MOST_SCALE) if (exact * 10**s).denominator == 1), MOST_SCALE)
    while scale and abs(exact) * 10**scale > INT64_MAX:
        scale -= 1
    units = exact * 10**scale
    whole = min(max(floor(units), -INT64_MAX - 1), INT64_MAX)
    return whole, scale, (units > whole) - (units < whole)


def _is_exact(value: Expression) -> bool:
    return (
        isinstance(value, Constant) and isinstance(value.value, Decimal) and _has_units(value.value)
    )


def _has_units(number: Decimal) -> bool:
    """Whether the number and its units have the same nearest float."""
    units, scale, side = units_of(number)
    return side == 0 or float(Fraction(units, 10**scale)) == float(number)


def nearest_float(number: Decimal, width: int | None) -> float:
    """The float of a width (None means 64 bits) that is nearest to a number."""
    near = float(number)
    if width is None or isinf(near):
        return near
    if near != number and unpack("<q", pack("<d", near))[0] % 2 == 0:
        # Rounding twice: choose the odd neighbour, which is never a midpoint of narrower floats.
        near = nextafter(near, inf if number > near else -inf)
    form = _FORMS[width]
    try:
        return float(unpack(form, pack(form, near))[0])
    except OverflowError:
        return copysign(inf, near)


_FORMS = {16: "<e", 32: "<f"}


def constant(value: object) -> tuple[DataType, Scalar] | None:
    """The type and constant of a Python value, None if it has none."""
    from datetime import UTC, date, datetime, timedelta

    match value:
        case None:
            return NULL, None
        case bool():
            return BOOLEAN, value
        case int() if -INT64_MAX - 1 <= value <= INT64_MAX:
            return INTEGER, value
        case float():
            return FLOAT, None if value != value else value
        case Decimal():
            return _decimal(value)
        case str():
            return STRING, value
        case datetime():
            aware = value if value.tzinfo else value.replace(tzinfo=UTC)
            since = aware - datetime.fromtimestamp(0, UTC)
            zoned = replace(TIMESTAMP, zoned=value.tzinfo is not None)
            return zoned, since // timedelta(microseconds=1) * 1000
        case date():
            days = value.toordinal() - date(1970, 1, 1).toordinal()
            return TIMESTAMP, days * NANOSECONDS["days"]
        case Integral() if type(value).__module__ == "numpy":
            return constant(int(value))
        case timedelta():
            return INTERVAL, value // timedelta(microseconds=1) * 1000
    return None


# A value of a parameter, or a list of them.
Given: TypeAlias = Constant | tuple[Constant, ...]


def constants(given: Mapping[str, object]) -> tuple[tuple[str, Given], ...]:
    """The parameters' values as constants by name, without values that are no literals."""
    found = ((name, _constants(value)) for name, value in sorted(given.items()))
    return tuple((name, known) for name, known in found if known is not None)


def _constants(value: object) -> Given | None:
    if (given := several_values(value)) is not None:
        several = [each for each in map(constant, given) if each is not None]
        return tuple(Constant(*each) for each in several) if len(several) == len(given) else None
    found = constant(value)
    return None if found is None else Constant(*found)
