"""The values of functions, of constants and of distinct texts."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

from sase.base.time_zones import instant_of, offset_at

# ---------------------------------------------------------------- numbers

MOST_DIGITS = 15


def rounded(number: Any, digits: int = 0) -> Any:
    """The nearest multiple of 10 to the minus `digits`; of two the one further from zero."""
    if isinstance(number, int) or (isinstance(number, float) and math.isinf(number)):
        return number
    units = math.floor(abs(Fraction(number)) * 10**digits + Fraction(1, 2))
    size = Fraction(units, 10**digits)
    if isinstance(number, float):
        return math.copysign(float(size), number)
    return size if number > 0 else -size


def whole_number(down: bool) -> Callable[[Any], Any]:
    """A function that rounds a number down, or up."""

    def whole(number: Any) -> Any:
        if isinstance(number, int) or (isinstance(number, float) and math.isinf(number)):
            return number
        found = math.floor(number) if down else math.ceil(number)
        if isinstance(number, float):
            return math.copysign(float(found), number)
        return Fraction(found)

    return whole


def root(number: Any) -> float | None:
    """The square root; NULL of a negative number."""
    return math.sqrt(number) if number >= 0 else None


def logarithm(number: Any) -> float | None:
    """The natural logarithm; NULL of zero and of a negative number."""
    return math.log(float(number)) if number > 0 else None


def exponential(number: Any) -> float:
    """The number e to the power of a number."""
    try:
        return math.exp(number)
    except OverflowError:
        return math.inf


def power(base: Any, exponent: Any) -> float | None:
    """A power; NULL where that divides by zero or is no real number."""
    base, exponent = float(base), float(exponent)
    is_whole = math.isinf(exponent) or exponent.is_integer()
    if (base == 0 and exponent < 0) or (base < 0 and not is_whole):
        return None
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 else math.inf


# ---------------------------------------------------------------- texts


def substring(text: str, first: int, count: int | None = None) -> str:
    """Some characters, from the first one on, which is 1."""
    return text[first - 1 :] if count is None else text[first - 1 : first - 1 + count]


# The most characters of a text that `replace` makes; it could double a text again and again.
LONGEST_TEXT = 2**20


def replaced(text: str, old: str, new: str) -> str | None:
    """The text with a part replaced everywhere; NULL if it gets too long."""
    count = text.count(old) if old else 0
    is_long = len(text) + count * (len(new) - len(old)) > max(LONGEST_TEXT, len(text))
    return None if is_long else text.replace(old, new, count)


def split_part(text: str, separator: str, number: int) -> str:
    """A part between separators, from 1; empty if there are fewer."""
    parts = text.split(separator, number)
    return parts[number - 1] if number <= len(parts) else ""


# ---------------------------------------------------------------- times

# By part, in the order of the kernel's constants: its description for `year(x.ts)`, and its value.
PARTS: dict[str, tuple[str, Callable[[date, int], int]]] = {
    "year": ("the year", lambda day, _: day.year),
    "quarter": ("the quarter, from 1", lambda day, _: (day.month + 2) // 3),
    "month": ("the month, from 1", lambda day, _: day.month),
    "week": ("the week of ISO 8601, from 1", lambda day, _: day.isocalendar().week),
    "day": ("the day of the month", lambda day, _: day.day),
    "weekday": ("the day of the week, 1 for Monday", lambda day, _: day.isoweekday()),
    "hour": ("the hour", lambda _, second: second // 3600),
    "minute": ("the minute", lambda _, second: second // 60 % 60),
    "second": ("the whole second of the minute", lambda _, second: second % 60),
}
_SECOND, _DAY = 10**9, 86400 * 10**9
_FOUR_CENTURIES = 146097  # days, of which the calendar repeats itself


def _calendar_day(nanoseconds: int) -> tuple[date, int, int]:
    """A day of the years from 1970 to 2369, the centuries by four before it, and the rest."""
    days, rest = divmod(nanoseconds, _DAY)
    shift, days = divmod(days, _FOUR_CENTURIES)
    return date(1970, 1, 1) + timedelta(days), shift, rest


def part_of_time(name: str) -> Callable[[int], int]:
    """A function that returns a part of a time."""

    def part(nanoseconds: int) -> int:
        day, shift, rest = _calendar_day(nanoseconds)
        return PARTS[name][1](day, rest // _SECOND) + 400 * shift * (name == "year")

    return part


def time_of_day(nanoseconds: int) -> int:
    """The time since midnight."""
    return nanoseconds % _DAY


def local_time(zone: str, nanoseconds: int) -> int:
    """The time that clocks of a zone show."""
    return nanoseconds + offset_at(zone, nanoseconds // _SECOND) * _SECOND


def truncated_in_zone(part: str, zone: str, nanoseconds: int) -> int:
    """The begin of a part of a time in a zone."""
    begin = truncated_time(part, local_time(zone, nanoseconds))
    if part.lower() in ("hour", "minute", "second"):
        return begin - offset_at(zone, nanoseconds // _SECOND) * _SECOND
    return instant_of(zone, begin // _SECOND) * _SECOND


def truncated_time(part: str, nanoseconds: int) -> int:
    """The begin of a part of a time."""
    day, shift, rest = _calendar_day(nanoseconds)
    match part.lower():
        case "hour" | "minute" | "second":
            size = {"hour": 3600, "minute": 60, "second": 1}[part.lower()] * _SECOND
            return nanoseconds - rest % size
        case "week":
            day -= timedelta(day.isoweekday() - 1)
        case "day":
            pass
        case _:
            month = {"year": 1, "quarter": day.month - (day.month - 1) % 3}
            day = day.replace(month=month.get(part.lower(), day.month), day=1)
    return ((day - date(1970, 1, 1)).days + shift * _FOUR_CENTURIES) * _DAY
