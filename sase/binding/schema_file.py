"""A schema written down as TOML or JSON.

time = "ts"                    # these five are optional; shown are the defaults
# time = ["lo", "hi"]          # the earliest and the latest time, where it is imprecise
type = "type"
# longest = "15 seconds"       # and how long an interval may be, in raw units or with a unit
# seq = "seq"  and  time_unit = "ms"  for an integer time column

[types.SHELF-READING]          # a table for each type, with its attributes
tag_id = "integer"

[columns]                      # or one table for all: every type has every column
user.id = "integer"            # a field of a nested column, and a list:
tags = ["string"]
[definitions]                  # types by condition:  Exit = "reader LIKE 'X%'"
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeGuard

from sase.base.files import read_text
from sase.base.texts import did_you_mean
from sase.binding.lateness import with_longest
from sase.binding.schema import Attributes, EventType, Schema
from sase.binding.types import ELEMENT, DataType, Kind
from sase.errors import BindingError, PlanError, SchemaError

_TOP_LEVEL = ("time", "type", "seq", "time_unit", "longest", "types", "columns", "definitions")
_KINDS = {k.value: k for k in Kind if k not in (Kind.NULL, Kind.UNKNOWN, Kind.OTHER)}
_FORM = re.compile(r"([a-z]+)(?:\((s|ms|us|ns)\))?")


def read_schema(path: Path, *, time_unit: str | None = None) -> Schema:
    """Read a schema from a JSON file (by suffix) or a TOML file; `time_unit` overrides it."""
    data = plain_data(path)
    try:
        given = {"time_unit": time_unit} if time_unit else {}
        return schema_from({**_table(data, "a schema"), **given})
    except SchemaError as problem:
        raise SchemaError(f"{path}: {problem}") from None


def plain_data(path: Path) -> Any:
    """Read the plain data of a JSON or TOML file."""
    try:
        text = read_text(path)
        return json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except OSError as problem:
        raise SchemaError(f"{path} cannot be read: {problem.strerror}") from problem
    except UnicodeDecodeError as problem:
        raise SchemaError(f"{path} cannot be read: {problem}") from problem
    except (ValueError, RecursionError) as problem:  # both decode errors are a ValueError
        raise SchemaError(f"{path}: this is not valid: {problem}") from problem


def schema_from(data: object) -> Schema:
    """Build the schema that plain data describes."""
    top = _table(data, "a schema")
    for key in top:
        if key not in _TOP_LEVEL:
            _refuse(f"`{key}` is no part of a schema", key, _TOP_LEVEL)
    time = top.get("time", "ts")
    earliest, until = time if _are_two(time) else (time, None)
    if not isinstance(earliest, str):
        raise SchemaError(f"`time` must be a text, or a list of two, and is {time!r}")
    for key in ("type", "seq", "time_unit"):
        if not isinstance(top.get(key, ""), str):
            raise SchemaError(f"`{key}` must be a text, and is {top[key]!r}")
    columns = top.get("columns")
    definitions = _table(top.get("definitions", {}), "definitions")
    schema = Schema(
        types=_types(top["types"]) if "types" in top else None,
        columns=None if columns is None else _attributes(columns, "columns"),
        time=earliest,
        type=None if definitions else top.get("type", "type"),
        seq=top.get("seq"),
        time_unit=top.get("time_unit"),
        definitions=tuple((name, str(text)) for name, text in definitions.items()),
        until=until,
    )
    try:
        return with_longest(schema, top.get("longest"))
    except (PlanError, BindingError) as problem:
        raise SchemaError(str(problem)) from None


def _are_two(time: object) -> TypeGuard[list[str]]:
    return isinstance(time, list) and len(time) == 2 and all(isinstance(t, str) for t in time)


def _types(data: object) -> tuple[EventType, ...]:
    if isinstance(data, list):  # names only: the columns are those of the one table
        return tuple(EventType(str(name)) for name in data)
    named = _table(data, "types").items()
    return tuple(EventType(name, _attributes(table, f"types.{name}")) for name, table in named)


def _attributes(data: object, where: str) -> Attributes:
    return tuple(
        (name, _type(kind, f"{where}.{name}")) for name, kind in _table(data, where).items()
    )


def _type(data: object, where: str) -> DataType:
    """The type of a column, of its fields if it has some, or of the elements of a list."""
    if isinstance(data, dict):
        return DataType(Kind.OTHER, parts=_attributes(data, where))
    if isinstance(data, list) and len(data) == 1:
        return DataType(Kind.OTHER, parts=((ELEMENT, _type(data[0], where)),))
    return parse_type(str(data), where)


def parse_type(text: str, where: str) -> DataType:
    """The data type with a name, such as `integer`, `timestamp(ms)` or `date`."""
    if text.lower() == "date":
        return DataType(Kind.TIMESTAMP, "d")
    if text.lower() == "float32":
        return DataType(Kind.FLOAT, width=32)
    found = _FORM.fullmatch(text.lower())
    timed = ("timestamp", "interval")
    if found is None or found[1] not in _KINDS or (found[2] and found[1] not in timed):
        _refuse(f"{where}: `{text}` is not a type", text, [*_KINDS, "float32", "date"])
    return DataType(_KINDS[found[1]], found[2])


def _table(data: object, where: str) -> Mapping[str, Any]:
    if not isinstance(data, dict):
        raise SchemaError(f"{where} must be a table, and is {data!r}")
    return data


def _refuse(message: str, word: str, known: Iterable[str]) -> NoReturn:
    names = list(known)
    hint = did_you_mean(word, names) or (f"there are {', '.join(names)}",)
    raise SchemaError(f"{message}; {hint[0]}")
