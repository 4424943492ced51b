"""Find the time and type columns of files if the caller does not name them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from sase.base.interface import option
from sase.base.texts import did_you_mean
from sase.errors import SchemaError

TIME_NAMES = ("ts", "timestamp", "time", "datetime", "date", "event_time", "time:timestamp")
# A time or a number, which is hardly a name.
_VALUE = re.compile(r"\d{4}-\d\d-\d\d.*|[+-]?\d+(\.\d+)?")
TYPE_NAMES = ("type", "event_type", "event", "activity", "action", "concept:name")


class Names(NamedTuple):
    """The time and type columns, and notes to the user on how they were found."""

    time: str
    type: str | None
    notes: tuple[str, ...] = ()


def names_found(
    columns: Sequence[str],
    time: str | None,
    type: str | None,
    *,
    typed: bool = False,
    until: str | None = None,
    moments: Sequence[str] = (),
) -> Names:
    """Return the named columns, or columns with usual names.

    `typed` means that types come from elsewhere. With imprecise time `until` is the latest time's
    column. `moments` are the columns that hold times, for a message.
    """
    found_time, found_type = time, type
    notes = []
    for role, name in (("time", time), ("time", until), ("type", type)):
        if name is not None and name not in columns:
            hints = did_you_mean(name, columns) or (f"there are {', '.join(columns)}",)
            raise SchemaError(f"there is no {role} column `{name}`: {hints[0]}")
    if time is None:
        found_time = usual_time(columns)
        if found_time is None:
            known = ", ".join(columns)
            if any(map(_VALUE.fullmatch, columns)):
                raise SchemaError(
                    f"the first line should have the names of the columns, and has {known}: put a"
                    " line before it, as in  (echo time,type,…; cat FILE) | sase run --events -"
                )
            raise SchemaError(
                f"no column has a usual name for the time of events, such as {TIME_NAMES[0]} or"
                f" {TIME_NAMES[1]}: "
                + (
                    f"`{moments[0]}` holds times: say  {option('time', moments[0])}"
                    if moments
                    else f"say which of {known} it is with  {option('time')}"
                )
            )
        if found_time != TIME_NAMES[0]:
            notes.append(f"the time of events is taken from the column `{found_time}`")
    if type is None and not typed:
        found_type = _usual(columns, TYPE_NAMES)
        if found_type not in (None, TYPE_NAMES[0]):
            notes.append(f"the type of events is taken from the column `{found_type}`")
    assert found_time is not None
    return Names(found_time, found_type, tuple(notes))


def may_be_times(columns: Sequence[str], time: str | None = None) -> list[str]:
    """Return the columns that may hold the time: `time`, and those with usual names."""
    return [name for name in columns if name == time or name.lower() in TIME_NAMES]


def moments_in(schema: pa.Schema) -> list[str]:
    """Return the columns that hold times."""
    return [field.name for field in schema if pa.types.is_timestamp(field.type)]


def usual_time(columns: Sequence[str]) -> str | None:
    """Return the column with a usual name for the time, or None."""
    return _usual(columns, TIME_NAMES)


def usual_type(columns: Sequence[str]) -> str | None:
    """Return the column with a usual name for the type, or None."""
    return _usual(columns, TYPE_NAMES)


def _usual(columns: Sequence[str], usual: Sequence[str]) -> str | None:
    by_folded = {name.lower(): name for name in reversed(columns)}
    return next((by_folded[name] for name in usual if name in by_folded), None)
