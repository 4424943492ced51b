"""Events and values as `.case` files write them.

A value is an integer `3`, a float `2.5`, `1e6`, `nan`, `inf`, `-inf`, a string `'it''s'`, `true`,
`false`, `null`, a timestamp `2020-01-01T00:00:00Z` (or without the zone), or a date `2020-01-01`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

Value = int | float | str | bool | datetime | date | None

_WORDS: dict[str, Value] = {
    "true": True, "false": False, "null": None,
    "nan": math.nan, "inf": math.inf, "-inf": -math.inf,
}  # fmt: skip
_STRING = r"'(?:[^']|'')*'"
_INTEGER = re.compile(r"[+-]?[0-9]+")
_FLOAT = re.compile(r"[+-]?[0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:.]+Z?)?")
_PAIR = re.compile(rf"\s+(?P<name>[^\s=']+)=(?P<value>{_STRING}|[^\s']+)")
_HEAD = re.compile(r"(?P<label>[\w.]+)\s+(?P<type>\S+)")


@dataclass(frozen=True)
class Event:
    """A line of a stream; `type` is None for an event that has none."""

    label: str
    type: str | None
    values: tuple[tuple[str, Value], ...]


def parse_event(line: str) -> Event:
    """An event from its line; a ValueError names the mistake."""
    head = _HEAD.match(line)
    if head is None:
        raise ValueError(f"not an event: {line!r}")
    values, place = [], head.end()
    while place < len(line):
        pair = _PAIR.match(line, place)
        if pair is None:
            raise ValueError(f"not `column=value`: {line[place:].strip()!r}")
        values.append((pair["name"], parse_value(pair["value"])))
        place = pair.end()
    names = [name for name, _ in values]
    if len(set(names)) < len(names):
        raise ValueError(f"a column stands twice: {line!r}")
    return Event(head["label"], None if head["type"] == "-" else head["type"], tuple(values))


_SECONDS = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?)s")


def parse_value(text: str) -> Value:
    """A value from its text."""
    if text in _WORDS:
        return _WORDS[text]
    if re.fullmatch(_STRING, text):
        return text[1:-1].replace("''", "'")
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if found := _SECONDS.fullmatch(text):
        return timedelta(seconds=float(found[1]))
    if found := _DATE.fullmatch(text):
        return datetime.fromisoformat(text) if found[1] else date.fromisoformat(text)
    raise ValueError(f"not a value: {text!r}")


def parse_parameter(text: str) -> Value | list[Value]:
    """A value, or a list of them."""
    if not text.startswith("["):
        return parse_value(text)
    return [parse_value(each.strip()) for each in text[1:-1].split(",") if each.strip()]


def format_value(value: object) -> str:
    """The text of a value, which `parse_value` reads back; an interval is `300.0s`."""
    match value:
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case str():
            return "'" + value.replace("'", "''") + "'"
        case datetime():
            utc = value.tzinfo is not None
            text = (value.astimezone(UTC) if utc else value).replace(tzinfo=None).isoformat()
            return text + "Z" * utc
        case date():
            return value.isoformat()
        case timedelta():
            return f"{value.total_seconds()!r}s"
        case list() | tuple():
            return "[" + " ".join(map(format_value, value)) + "]"
        case _:
            return repr(value)


def kind_of(values: list[Value]) -> str:
    """The kind of a column that holds these values."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float}:
        return "float" if float in kinds else "integer"
    names: dict[type, str] = {bool: "boolean", str: "string", datetime: "timestamp", date: "date"}
    if len(kinds) == 1 and kinds <= names.keys():
        return names[kinds.pop()]
    raise ValueError(f"a column of several kinds: {values!r}")
