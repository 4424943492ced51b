"""docs/semantics.md, Events: their order, time and types."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from typing import Literal, TypeAlias

from sase.lang import ast
from sase.lang.parser import parse_condition
from tests.naive.conditions import conjuncts, is_true
from tests.naive.expressions import Event, Scope
from tests.naive.values import (
    GREATEST_INT64,
    LEAST_INT64,
    MICROSECOND,
    NANOSECONDS,
    Moment,
    python,
    read,
    unit_in_nanoseconds,
)

Types: TypeAlias = Mapping[str, Sequence[str] | str | None] | Sequence[str] | None
Row: TypeAlias = Mapping[str, object]


@dataclass(frozen=True)
class Clock:
    """Time is an int64 count of units; `unit` is one in nanoseconds, if that is known."""

    kind: Literal["integer", "float", "date", "naive", "aware"]
    unit: int | None

    def count(self, value: object) -> int:
        """The timestamp of a row in units."""
        match value:
            case bool() | None:
                raise ValueError(f"bad input: the timestamp {value!r}")
            case int() if self.kind == "integer" and LEAST_INT64 <= value <= GREATEST_INT64:
                return value
            case int() | float() if self.kind == "float" and math.isfinite(value):
                return round(Fraction(value) * 10**6)  # half-even
            case date() if self.unit:
                moment = read(value)
                assert isinstance(moment, Moment)
                return moment.nanoseconds // self.unit
            case _:
                raise ValueError(f"bad input: the timestamp {value!r} in a column of {self.kind}")

    def value(self, count: int) -> object:
        """A timestamp as the caller wrote his; the count itself where Python has no such date."""
        if self.kind in ("integer", "float"):
            return count
        assert self.unit
        try:
            return python(Moment(count * self.unit, self.kind))  # type: ignore[arg-type]
        except OverflowError:
            return count

    @property
    def raw_unit(self) -> int | None:
        """The unit if timestamps are plain integers: then intervals are, too."""
        return self.unit if self.kind in ("integer", "float") else None


def clock(values: Sequence[object], time_unit: str | None) -> Clock:
    """The finest resolution among the timestamps; integers do not mix with dates."""
    if any(isinstance(value, float) for value in values):
        return Clock("float", MICROSECOND)
    dates = [value for value in values if isinstance(value, date)]
    if not dates:
        return Clock("integer", unit_in_nanoseconds(time_unit) if time_unit else None)
    moments = [value for value in dates if isinstance(value, datetime)]
    if not moments:
        return Clock("date", NANOSECONDS["day"])
    return Clock("aware" if any(value.tzinfo for value in moments) else "naive", MICROSECOND)


@dataclass(frozen=True)
class Stream:
    """The events, stably sorted by the order key."""

    events: tuple[Event, ...]
    clock: Clock


def read_stream(
    rows: Sequence[Row],
    time: str | tuple[str, str],
    type: str | None,
    seq: str | None,
    types: Types,
    time_unit: str | None,
) -> Stream:
    """The events of a table: sorted by (ts) or (ts, seq), and each given its position.

    As `seq` "#row" is the number of the row. With two columns of time: by (lo, hi, row).
    """
    both = time if isinstance(time, tuple) else (time,)
    ticking = clock([row.get(name) for row in rows for name in both], time_unit)
    if isinstance(time, tuple):
        events = [_interval(number, row, time, seq, ticking) for number, row in enumerate(rows)]
    else:
        events = [_event(number, row, time, seq, ticking) for number, row in enumerate(rows)]
    keys = [*both, None if seq == "#row" else seq]
    typed = _typed(events, type, types, keys, ticking)
    ordered = sorted(typed, key=lambda event: event.key)
    numbered = (replace(event, position=position) for position, event in enumerate(ordered))
    return Stream(tuple(numbered), ticking)


def _event(number: int, row: Row, time: str, seq: str | None, ticking: Clock) -> Event:
    count = ticking.count(row.get(time))
    values = {**row, time: count} if ticking.kind == "float" else row
    if seq is None:
        return Event(number, -1, count, (count,), None, values, frozenset())
    if seq == "#row":
        return Event(number, -1, count, (count, number), None, values, frozenset())
    if row.get(seq) is None:
        raise ValueError(f"bad input: row {number} has no {seq}")
    return Event(number, -1, count, (count, row[seq]), None, values, frozenset())


def _interval(
    number: int, row: Row, time: tuple[str, str], seq: str | None, ticking: Clock
) -> Event:
    if seq is not None:
        raise ValueError("imprecise time and seq")
    earliest, latest = (ticking.count(row.get(name)) for name in time)
    if earliest > latest:
        raise ValueError(f"bad input: row {number} ends before it begins")
    counts = dict(zip(time, (earliest, latest), strict=True))
    values = {**row, **counts} if ticking.kind == "float" else row
    key = (earliest, latest, number)
    return Event(number, -1, earliest, key, None, values, frozenset(), until=latest)


def _typed(
    events: Sequence[Event],
    type: str | None,
    types: Types,
    keys: Sequence[str | None],
    ticking: Clock,
) -> list[Event]:
    """The type is a column, or conditions define it, or the whole input has one."""
    columns = frozenset(name for event in events for name in event.values)
    by_name = dict(types) if isinstance(types, Mapping) else dict.fromkeys(types or ())
    if any(isinstance(value, str) for value in by_name.values()):
        unit = ticking.raw_unit
        wide = [replace(event, declared=columns) for event in events]
        return [replace(event, type=_defined(event, by_name, unit)) for event in wide]
    if type is None and len(by_name) != 1:
        raise ValueError("without a column of types, types names the one type")
    always = frozenset(name for name in (*keys, type) if name)
    one_table = all(attributes is None for attributes in by_name.values())
    found = []
    for event in events:
        name = next(iter(by_name)) if type is None else event.values.get(type)
        if not isinstance(name, str):
            raise ValueError(f"bad input: the {type} of row {event.row} is {name!r}")
        declared = columns if one_table else always | set(by_name.get(name) or ())
        found.append(replace(event, type=name, declared=declared))
    return found


def _defined(
    event: Event, types: Mapping[str, Sequence[str] | str | None], unit: int | None
) -> str | None:
    """Conditions in order, the first true one wins; none: no type."""
    row = ast.Component(ast.TypeTest(ast.Name("row")))
    scope = Scope((row,), {}, unit, {0: (event,)})
    for name, text in types.items():
        if not isinstance(text, str):
            raise NotImplementedError("types by condition and types by attributes together")
        if all(is_true(part, scope) for part in conjuncts(parse_condition(text))):
            return name
    return None


def window_length(amount: Fraction, unit: str | None, ticking: Clock, inclusive: bool) -> int:
    """docs/semantics.md, Windows: whole units of the column, rounded up; down for INCLUSIVE."""
    if unit is not None:
        if ticking.unit is None:
            raise ValueError("a window with a unit on integer time needs time_unit")
        amount = amount * unit_in_nanoseconds(unit) / ticking.unit
    return amount.__floor__() if inclusive else amount.__ceil__()
