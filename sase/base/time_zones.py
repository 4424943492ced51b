"""Time zones as the instants at which their offset from UTC changes."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from typing import NamedTuple

_FIXED = re.compile(r"([+-])([0-9]{2}):?([0-5][0-9])")
_UTC = ("UTC", "Etc/UTC", "Z", "+00:00", "-00:00", "GMT", "Etc/GMT")
# Names that mean another zone on another machine.
_OF_HOST = ("localtime", "posixrules")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The years in which changes are searched. Every offset stays for more days than the step.
_FIRST, _LAST, _STEP = datetime(1840, 1, 1, tzinfo=UTC), datetime(2400, 1, 1, tzinfo=UTC), 4
LEAST = -(2**63)


class Change(NamedTuple):
    """The second since 1970 from which an offset applies, and the offset in seconds."""

    second: int
    offset: int


def is_utc(zone: str) -> bool:
    """Whether times of a zone are those of UTC."""
    return zone in _UTC


def is_known(zone: str) -> bool:
    """Whether there is a time zone of this name, or it is an offset such as +01:00."""
    return _zone(zone) is not None


def names() -> set[str]:
    """The names of time zones."""
    from zoneinfo import available_timezones

    return available_timezones()


@cache
def changes(zone: str) -> tuple[Change, ...]:
    """The changes of a zone's offset in ascending order; the first has no begin."""
    own = _zone(zone)
    assert own is not None, "binding has checked it"
    found = [Change(LEAST, _offset(own, _FIRST))]
    before = _FIRST
    while before < _LAST:
        after = before + timedelta(_STEP)
        if _offset(own, after) != found[-1].offset:
            found.append(_change(own, before, after))
        before = after
    return tuple(found)


def offset_at(zone: str, second: int) -> int:
    """The offset of a zone at a second since 1970."""
    return next(each.offset for each in reversed(changes(zone)) if each.second <= second)


def instant_of(zone: str, local: int) -> int:
    """The second since 1970 at which clocks of a zone show a second.

    If they show it twice it is the first; if they skip it, it is where they would be without the
    change.
    """
    every = changes(zone)
    ends = zip(every[1:], every, strict=False)
    place = sum(after.second + before.offset <= local for after, before in ends)
    instant = local - every[place].offset
    return instant if instant >= every[place].second else local - every[place - 1].offset


@cache
def _zone(name: str) -> tzinfo | None:
    from zoneinfo import ZoneInfo

    if name in _UTC:
        return UTC
    if fixed := _FIXED.fullmatch(name):
        sign, hours, minutes = fixed.groups()
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        is_near = offset < timedelta(days=1)
        return timezone(-offset if sign == "-" else offset) if is_near else None
    if name in _OF_HOST:
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # no such zone, no name of a file, a folder
        return None


def _offset(zone: tzinfo, moment: datetime) -> int:
    offset = moment.astimezone(zone).utcoffset()
    assert offset is not None
    return round(offset.total_seconds())


def _change(zone: tzinfo, before: datetime, after: datetime) -> Change:
    """The one change between two moments, by bisection."""
    offset = _offset(zone, before)
    while after - before > timedelta(seconds=1):
        middle = before + (after - before) // 2
        middle = middle.replace(microsecond=0)
        if _offset(zone, middle) == offset:
            before = middle
        else:
            after = middle
    return Change((after - _EPOCH) // timedelta(seconds=1), _offset(zone, after))
