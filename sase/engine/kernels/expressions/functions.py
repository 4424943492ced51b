"""Functions of numbers and of times, on values; `operations` has the operators."""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np

from sase.engine.kernels.expressions.operations import (
    ABOVE,
    EXACT,
    FLOAT,
    INTEGER,
    LEAVES,
    MULTIPLY,
    NOTHING,
    NULL,
    OVERFLOW,
    POWERS,
    Op,
    Value,
    as_float,
    joined_wholes,
    number,
    order_of_scaled,
    real,
    scale_of,
    simple_float,
)
from sase.engine.kernels.jit.compiler import linked
from sase.engine.kernels.jit.signatures import IntRows

# The logarithm of the greatest float64; e to the power of it does not overflow, a bit more does.
MOST_LOGARITHM = 709.782712893384
# From this many units on a float is its own nearest multiple of the unit.
MOST_UNITS = 2.0**56

MINUTE, HOUR, DAY = 60, 3600, 86400
ADD = int(Op.ADD)
# Days of four centuries, and from the first of March of the year 0 to 1970.
FOUR_CENTURIES, MARCH_OF_YEAR_0 = 146097, 719468
THURSDAY = 3  # the weekday of the first of January 1970, from Monday on


class TimePart(IntEnum):
    """Parts of a time; the last ones have a fixed length."""

    YEAR = 0
    QUARTER = 1
    MONTH = 2
    WEEK = 3
    DAY = 4
    WEEKDAY = 5
    HOUR = 6
    MINUTE = 7
    SECOND = 8
    OF_DAY = 9


LOCAL = -1  # in place of a part: the time that clocks of a zone show


# ---------------------------------------------------------------- numbers


@linked
def of_number(operation: int, value: Value) -> Value:
    """A function of an integer or a float that is not NULL."""
    if Op.SQRT <= operation <= Op.EXP:
        return real(of_real(operation, simple_float(value)))
    if operation == Op.SIGN:
        near = simple_float(value)
        return INTEGER, (near > 0.0) - (near < 0.0)
    if value[0] != FLOAT:
        return value
    near = number(value)
    return real(float(np.floor(near)) if operation == Op.FLOOR else float(np.ceil(near)))


@linked
def of_exact(operation: int, value: Value) -> Value:
    """A function of a value with a scale; a literal may be strictly above its units."""
    if Op.SQRT <= operation <= Op.EXP:
        return real(of_real(operation, as_float(value)))
    units, scale, is_above = value[1], scale_of(value[0]), value[0] >= ABOVE
    if operation == Op.SIGN:
        return INTEGER, (units > 0 or (units == 0 and is_above)) - (units < 0)
    power = POWERS[scale]
    whole = units // power
    if operation == Op.CEIL and (is_above or whole * power != units):
        whole += 1
    return in_units(whole, scale)


@linked
def in_units(whole: int, scale: int) -> Value:
    """An integer as an exact value of a scale."""
    result = joined_wholes(MULTIPLY, whole, POWERS[scale])
    return LEAVES if result[0] == OVERFLOW else (EXACT + scale, result[1])


@linked
def of_real(operation: int, near: float) -> float:
    """The root, the logarithm, or e to the power of a float; NaN means NULL."""
    if operation == Op.EXP:
        return math.inf if near > MOST_LOGARITHM else math.exp(near)
    if operation == Op.LN:
        return math.log(near) if near > 0.0 else math.nan
    return math.sqrt(near) if near >= 0.0 else math.nan


@linked
def power_of(base: float, exponent: float) -> float:
    """A power; NaN, of a division by zero or of no real number, means NULL."""
    is_whole = float(np.floor(exponent)) == exponent
    if (base == 0.0 and exponent < 0.0) or (base < 0.0 and not is_whole):
        return math.nan
    return float(np.float64(base) ** np.float64(exponent))  # Python's own raises on overflow


@linked
def rounded_to(value: Value, digits: int) -> Value:
    """The nearest multiple of 10 to the minus `digits`; of two the one further from zero."""
    if value[0] == FLOAT:
        return real(rounded_real(number(value), digits))
    scale = scale_of(value[0])
    if scale <= digits:
        return value
    power, size = POWERS[scale - digits], abs(value[1])
    whole, rest = size // power, size % power
    is_less = value[0] >= ABOVE and value[1] < 0
    if rest > power // 2 or (rest == power // 2 and not is_less):
        whole += 1
    result = joined_wholes(MULTIPLY, whole if value[1] > 0 else -whole, power)
    return LEAVES if result[0] == OVERFLOW else (EXACT + scale, result[1])


@linked
def rounded_real(near: float, digits: int) -> float:
    """The float64 nearest to the multiple that is nearest to a float."""
    size = abs(near)
    scaled = size * float(POWERS[digits])
    if not scaled < MOST_UNITS:
        return near
    whole = int(scaled)  # a product of floats may be too great or too small by a few units
    while order_of_scaled(whole, digits, size) > 0:
        whole -= 1
    while order_of_scaled(whole + 1, digits, size) <= 0:
        whole += 1
    if order_of_scaled(10 * whole + 5, digits + 1, size) <= 0:
        whole += 1
    return math.copysign(as_float((EXACT + digits, whole)), near)


# ---------------------------------------------------------------- times


@linked
def time_part(value: Value, part: int) -> Value:
    """A part of a time, as an integer; the time of the day as an interval."""
    if part == TimePart.OF_DAY:
        return value[0], value[1] % (DAY * POWERS[scale_of(value[0])])
    seconds = value[1] // POWERS[scale_of(value[0])]
    if part >= TimePart.HOUR:
        second = seconds % DAY
        if part == TimePart.HOUR:
            return INTEGER, second // HOUR
        return INTEGER, second // MINUTE % MINUTE if part == TimePart.MINUTE else second % MINUTE
    days = seconds // DAY
    weekday = (days + THURSDAY) % 7
    if part == TimePart.WEEKDAY:
        return INTEGER, weekday + 1
    if part == TimePart.WEEK:  # a week is of the year that has its Thursday
        thursday = days - weekday + THURSDAY
        return INTEGER, (thursday - first_day(year_and_month(thursday)[0], 1)) // 7 + 1
    year, month = year_and_month(days)
    if part == TimePart.YEAR:
        return INTEGER, year
    if part == TimePart.DAY:
        return INTEGER, days - first_day(year, month) + 1
    return INTEGER, month if part == TimePart.MONTH else (month + 2) // 3


@linked
def truncated_time(value: Value, part: int) -> Value:
    """The begin of a part of a time."""
    scale = scale_of(value[0])
    seconds = value[1] // POWERS[scale]
    if part >= TimePart.HOUR:
        seconds -= seconds % (
            1 if part == TimePart.SECOND else MINUTE if part == TimePart.MINUTE else HOUR
        )
        return in_units(seconds, scale)
    days = seconds // DAY
    if part == TimePart.WEEK:
        days -= (days + THURSDAY) % 7
    elif part <= TimePart.MONTH:
        year, month = year_and_month(days)
        if part == TimePart.YEAR:
            month = 1
        elif part == TimePart.QUARTER:
            month -= (month - 1) % 3
        days = first_day(year, month)
    return in_units(days * DAY, scale)


@linked
def in_zone(value: Value, part: int, code: IntRows, start: int, stop: int) -> Value:
    """The time that clocks of a zone show, or the begin of a part of it.

    The rows of `code` have the second and the offset of each change.
    """
    if value[0] < EXACT:
        return NOTHING
    scale = scale_of(value[0])
    second, unit = value[1] // POWERS[scale], POWERS[scale]
    offset = code[changes_until(code, start + 1, stop, second, is_local=False), 1]
    local = joined_wholes(ADD, value[1], offset * unit)
    if local[0] == OVERFLOW:
        return LEAVES
    if part == LOCAL:
        return value[0], local[1]
    begin = truncated_time((value[0], local[1]), part)
    if begin[0] == OVERFLOW:
        return LEAVES
    if part >= TimePart.HOUR:
        moved = joined_wholes(ADD, begin[1], -offset * unit)
        return LEAVES if moved[0] == OVERFLOW else (value[0], moved[1])
    wanted = begin[1] // unit
    place = changes_until(code, start + 1, stop, wanted, is_local=True)
    instant = wanted - code[place, 1]
    if place > start and instant < code[place, 0]:  # clocks skip it
        instant = wanted - code[place - 1, 1]
    return in_units(instant, scale)


@linked
def changes_until(code: IntRows, start: int, stop: int, second: int, is_local: bool) -> int:
    """The row of the last change up to a second, or up to one that clocks show before it."""
    while start < stop:
        middle = (start + stop) // 2
        if code[middle, 0] + (code[middle - 1, 1] if is_local else 0) <= second:
            start = middle + 1
        else:
            stop = middle
    return start - 1


@linked
def year_and_month(days: int) -> tuple[int, int]:
    """The year and the month of a day, counted from 1970; years begin in March, centuries too."""
    days += MARCH_OF_YEAR_0
    era, day = days // FOUR_CENTURIES, days % FOUR_CENTURIES
    year = (day - day // 1460 + day // 36524 - day // 146096) // 365
    month = (5 * (day - (365 * year + year // 4 - year // 100)) + 2) // 153
    month += 3 if month < 10 else -9
    return 400 * era + year + (month <= 2), month


@linked
def first_day(year: int, month: int) -> int:
    """The first day of a month, counted from 1970."""
    year -= month <= 2
    month += -3 if month > 2 else 9
    era, rest = year // 400, year % 400
    days = 365 * rest + rest // 4 - rest // 100 + (153 * month + 2) // 5
    return FOUR_CENTURIES * era + days - MARCH_OF_YEAR_0


# ---------------------------------------------------------------- all of them


@linked
def applied_to_two(operation: int, left: Value, right: Value) -> Value:
    """A function of two values."""
    if left[0] == NULL or right[0] == NULL:
        return NOTHING
    if operation == Op.POWER:
        return real(power_of(as_float(left), as_float(right)))
    if operation == Op.ROUND:
        return rounded_to(left, right[1])
    if operation == Op.TIME_PART:
        return time_part(left, right[1])
    return truncated_time(left, right[1])


@linked
def applied(operation: int, value: Value) -> Value:
    """A function of a value."""
    if value[0] < EXACT:
        return NOTHING if value[0] == NULL else of_number(operation, value)
    return of_exact(operation, value)
