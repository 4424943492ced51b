"""docs/semantics.md, Functions: the functions of numbers and of texts. None is NULL."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

# Enough digits for any float64, none of which has more than 1,100.
WIDE = Context(prec=1500)
DAY = 86400 * 10**9


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


def _trim(text: str) -> str:
    while text and text[0].isspace():
        text = text[1:]
    while text and text[-1].isspace():
        text = text[:-1]
    return text


def _substring(text: str, first: int, count: int | None = None) -> str:
    places = enumerate(text, 1)
    return "".join(c for p, c in places if p >= first and (count is None or p < first + count))


def _replace(text: str, old: str, new: str) -> str | None:
    found = re.sub(re.escape(old), lambda _: new, text)
    return None if len(found) > max(2**20, len(text)) else found


def _split_part(text: str, separator: str, number: int) -> str:
    parts = re.split(re.escape(separator), text)
    return dict(enumerate(parts, 1)).get(number, "")


def _search(text: str, pattern: str) -> re.Match[str] | None:
    """For patterns that mean the same to RE2 and to Python, but for `$`."""
    return re.search(re.sub(r"(?<!\\)\$", r"\\Z", pattern), text, re.ASCII)


def _extract(text: str, pattern: str, group: int = 0) -> str | None:
    found = _search(text, pattern)
    return found and (found[group] or "")


class Time:
    """A time has `nanoseconds` since 1970, and a `kind`."""

    @staticmethod
    def fits(value: Any) -> bool:
        return hasattr(value, "kind")


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def at_zone(time: Any, zone: Any) -> Any:
    """The time that clocks of a zone show, of a name or of a `tzinfo`."""
    if time is None or zone is None:
        return None
    if isinstance(zone, str):
        zone = (
            datetime.fromisoformat(f"2000-01-01T00:00{zone}").tzinfo
            if zone[0] in "+-"
            else ZoneInfo(zone)
        )
    whole, rest = divmod(time.nanoseconds, 1000)
    local = (EPOCH + timedelta(microseconds=whole)).astimezone(zone).replace(tzinfo=UTC)
    shown = (local - EPOCH) // timedelta(microseconds=1) * 1000 + rest
    return replace(time, nanoseconds=shown, kind="naive", zone=UTC)


def _of_local(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of the time that clocks of its zone show."""
    return lambda time: function(time if time.zone is UTC else at_zone(time, time.zone))


def _time_of_day(time: Any) -> Any:
    from tests.naive.values import Interval

    return Interval(time.nanoseconds % DAY)


def _date_trunc_in_zone(part: str, time: Any) -> Any:
    """Of parts of a fixed length by the offset of the time, of others by that of the begin."""
    if time.zone is UTC:
        return _date_trunc(part, time)
    local = at_zone(time, time.zone)
    begin = _date_trunc(part, local)
    if part.lower() in ("hour", "minute", "second"):
        return replace(time, nanoseconds=time.nanoseconds - (local.nanoseconds - begin.nanoseconds))
    naive = (EPOCH + timedelta(microseconds=begin.nanoseconds // 1000)).replace(tzinfo=time.zone)
    return replace(
        time, nanoseconds=(naive.astimezone(UTC) - EPOCH) // timedelta(microseconds=1) * 1000
    )


def _in_unit(time: Any, unit: str) -> np.datetime64:
    return np.datetime64(time.nanoseconds // 1000, "us").astype(f"datetime64[{unit}]")


def _number(time: np.datetime64) -> int:
    return int(time.astype(np.int64))


def _of_day(unit: str, size: int) -> Callable[[Any], int]:
    return lambda time: _number(_in_unit(time, unit)) % size


def _days_from(time: Any, unit: str) -> int:
    return _number(_in_unit(time, "D")) - _number(_in_unit(time, unit).astype("datetime64[D]"))


def _weekday(time: Any) -> int:
    return (_number(_in_unit(time, "D")) + 3) % 7 + 1


def _week(time: Any) -> int:
    """A week is of the year of its Thursday."""
    thursday = replace(time, nanoseconds=time.nanoseconds + (4 - _weekday(time)) * DAY)
    return _days_from(thursday, "Y") // 7 + 1


def _date_trunc(part: str, time: Any) -> Any:
    part = part.lower()
    unit = {"year": "Y", "quarter": "M", "month": "M", "hour": "h", "minute": "m", "second": "s"}
    begin = _in_unit(time, unit.get(part, "D"))
    if part == "quarter":
        begin -= _number(begin) % 3
    if part == "week":
        begin -= _weekday(time) - 1
    return replace(time, nanoseconds=_number(begin.astype("datetime64[us]")) * 1000)


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
    "trim": ((str,), _trim),
    "substring": ((str, int, int), _substring),
    "replace": ((str, str, str), _replace),
    "split_part": ((str, str, int), _split_part),
    "starts_with": ((str, str), lambda text, part: text[: len(part)] == part),
    "ends_with": ((str, str), lambda text, part: text[::-1][: len(part)] == part[::-1]),
    "contains": ((str, str), lambda text, part: text.find(part) >= 0),
    "regexp_matches": ((str, str), lambda text, pattern: _search(text, pattern) is not None),
    "regexp_extract": ((str, str, int), _extract),
    "year": ((Time,), _of_local(lambda time: _number(_in_unit(time, "Y")) + 1970)),
    "quarter": ((Time,), _of_local(lambda time: _number(_in_unit(time, "M")) % 12 // 3 + 1)),
    "month": ((Time,), _of_local(lambda time: _number(_in_unit(time, "M")) % 12 + 1)),
    "week": ((Time,), _of_local(_week)),
    "day": ((Time,), _of_local(lambda time: _days_from(time, "M") + 1)),
    "weekday": ((Time,), _of_local(_weekday)),
    "hour": ((Time,), _of_local(_of_day("h", 24))),
    "minute": ((Time,), _of_local(_of_day("m", 60))),
    "second": ((Time,), _of_local(_of_day("s", 60))),
    "date_trunc": ((str, Time), _date_trunc_in_zone),
    "time_of_day": ((Time,), _of_local(_time_of_day)),
    "sign": ((Number,), lambda number: (number > 0) - (number < 0)),
}


def applied(name: str, arguments: Sequence[Any]) -> Any:
    """The value of a function; NULL if an argument is."""
    if name == "concat":  # which skips NULLs
        return "".join(each for each in arguments if each is not None)
    if name not in FUNCTIONS:
        raise NotImplementedError(f"the function {name} of {len(arguments)} arguments")
    kinds, function = FUNCTIONS[name]
    if any(each is None for each in arguments):
        return None
    for kind, each in zip(kinds, arguments, strict=False):
        fits = Time.fits(each) if kind is Time else isinstance(each, kind)
        if isinstance(each, bool) or not fits:
            raise NotImplementedError(f"{name} of {arguments!r}")
    return function(*arguments)
