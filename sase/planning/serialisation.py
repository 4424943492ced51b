"""Plans and statistics as JSON text and back, exact and readable.

    {"format": 2,                                     other formats are refused
     "fingerprint": "4f0c…",                          of all the rest, to detect damage
     "signature": "91d2…",                            of the fingerprint by a key, if there is one
     "plan": {"is": "Transformation", "input": {"is": "Selection", …}},
     "schema": {"is": "Schema", …},
     "options": {}}                                   plain data of the caller

A frozen value is an object with the name of its class. It lacks the fields that equal their
default, and the positions in the text of the query, which are not compared. Reading follows the
annotations of the fields, which state the valid classes, enums and scalars. So a new operator or
condition needs no line here, and no text can create any other object.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import MISSING, Field, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cache
from hashlib import sha256
from reprlib import repr as brief
from types import UnionType
from typing import Any, Literal, NamedTuple, TypeAlias, Union, get_args, get_origin, get_type_hints

from sase.base.signature import signature, verify
from sase.base.texts import did_you_mean
from sase.binding.schema import Schema
from sase.errors import PlanError, SchemaError
from sase.planning.plan.nodes import Operator
from sase.planning.statistics import Statistics

Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"

FORMAT, STATISTICS_FORMAT = 2, 1
_MEMBERS = ("format", "fingerprint", "plan", "schema", "options")
_SIGNATURE = "signature"
# Signed with the content, so that a signature of another kind of document is not valid for a plan.
_SIGNED = "SASE plan "


class StoredPlan(NamedTuple):
    """A plan, the schema of its query, and the options of the caller."""

    root: Operator
    schema: Schema
    options: dict[str, Json]


@contextmanager
def refusing_depth(refused: str = "this is not a plan") -> Iterator[None]:
    """Raise this package's error if a document is nested too deeply."""
    try:
        yield
    except RecursionError as problem:
        raise PlanError(f"{refused}: it is nested too deeply") from problem


def plan_to_json(
    root: Operator, schema: Schema, *, key: bytes | None = None, **options: Json
) -> str:
    """Write a plan as text, equal on every machine; signed with a key if given."""
    parts: dict[str, Json] = {"plan": encoded(root), "schema": encoded(schema), "options": options}
    mark = _digest({"format": FORMAT, **parts})
    head: dict[str, Json] = {"format": FORMAT, "fingerprint": mark}
    if key is not None:
        head[_SIGNATURE] = signature((_SIGNED + mark).encode(), key, PlanError).hex()
    return json.dumps({**head, **parts}, indent=1)


@refusing_depth()
def plan_from_json(text: str, key: bytes | None = None) -> StoredPlan:
    """Read a plan from text, or raise a `PlanError` with the place of the mistake.

    With a key the text must be signed with it. The plan is not checked beyond its types, and may
    not run: see `sase.api.stored_plan`.
    """
    document = _document(text)
    mark = _digest(document)
    if key is not None:
        _check_signature(document.get(_SIGNATURE), mark, key)
    root = decoded(document["plan"], Operator, "plan")
    schema = decoded(document["schema"], Schema, "schema")
    if document["fingerprint"] != mark:
        raise PlanError("this plan was changed after it was written: its fingerprint does not fit")
    return StoredPlan(root, schema, document["options"])


def _check_signature(value: object, mark: str, key: bytes) -> None:
    found = None
    if isinstance(value, str):
        found = bytes.fromhex(value) if _HEX.fullmatch(value) else b""
    verify("plan", (_SIGNED + mark).encode(), found, key, PlanError)


@refusing_depth()
def fingerprint(text: str) -> str:
    """A digest of a plan: equal for texts that differ in layout or order only."""
    return _digest(_document(text))


def _digest(document: dict[str, Json]) -> str:
    marks = ("fingerprint", _SIGNATURE)
    content = {name: part for name, part in document.items() if name not in marks}
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return sha256(canonical.encode("ascii")).hexdigest()


def _document(text: str) -> dict[str, Any]:
    """The members of a plan's text of this format."""
    if not isinstance(text, str):
        raise PlanError(f"a plan is a text, and this is of type {type(text).__name__}")
    document = _object(text, "this is not a plan", "a plan is")
    if document["format"] != FORMAT:
        found = brief(document["format"])
        raise PlanError(f"this plan has format {found}, not {FORMAT}: compile its query again")
    if document.keys() - {_SIGNATURE} != set(_MEMBERS) or not isinstance(document["options"], dict):
        found = brief([*document])
        raise PlanError(f"a plan has {', '.join(_MEMBERS)}, an object; this has {found}")
    return document


def _object(text: str, refused: str, it_is: str) -> dict[str, Any]:
    """The members of a text that states its format; raise a PlanError for other texts."""
    try:
        document = json.loads(text)
    except ValueError as problem:
        raise PlanError(f"{refused}: it is not valid JSON: {problem}") from problem
    if not isinstance(document, dict) or "format" not in document:
        raise PlanError(f"{refused}: {it_is} a JSON object that states its `format`")
    return document


def statistics_to_json(statistics: Statistics) -> str:
    """The text of statistics: {"format": 1, "statistics": {"is": "Statistics", …}}."""
    return json.dumps({"format": STATISTICS_FORMAT, "statistics": encoded(statistics)}, indent=1)


def statistics_from_json(text: str) -> Statistics:
    """Read statistics from text, or raise a `PlanError` with the place of the mistake."""
    refused = "these are no statistics"
    with refusing_depth(refused):
        document = _object(text, refused, "they are")
        if document["format"] != STATISTICS_FORMAT:
            found = brief(document["format"])
            raise PlanError(
                f"these statistics have format {found}, not {STATISTICS_FORMAT}: measure them again"
            )
        if document.keys() != {"format", "statistics"}:
            found = brief([*document])
            raise PlanError(f"a file of statistics has format, statistics; this has {found}")
        statistics: Statistics = decoded(document["statistics"], Statistics, "statistics")
        return statistics


def encoded(value: object) -> Json:
    """A value of a plan as plain data."""
    match value:
        case Enum():
            return value.name
        case None | bool() | int() | str():
            return value
        case float():  # JSON has no number for infinity
            return value if math.isfinite(value) else {"is": "float", "value": str(value)}
        case Fraction():
            return str(value)
        case Decimal():
            return {"is": "Decimal", "value": str(value)}
        case tuple():
            return list(map(encoded, value))
        case frozenset():
            return sorted(map(encoded, value), key=str)
    kind: Any = type(value)
    data: dict[str, Json] = {"is": kind.__name__}
    for name, (field, _) in _stored(kind).items():
        if (member := getattr(value, name)) != field.default:
            data[name] = encoded(member)
    return data


@cache
def _stored(kind: type[Any]) -> dict[str, tuple[Field[Any], Any]]:
    """The fields by name with their types, except derived ones and most of those not compared."""
    hints = get_type_hints(kind)
    stored = [
        field
        for field in fields(kind)
        if field.init and (field.compare or field.metadata.get("is_stored"))
    ]
    return {each.name: (each, hints[each.name]) for each in stored}


_FRACTION = re.compile(r"-?[0-9]{1,1000}(/[1-9][0-9]{0,999})?")
_is_decimal = re.compile(r"-?[0-9]{1,1000}(\.[0-9]{1,1000})?(E[+-][0-9]{1,4})?").fullmatch
_HEX = re.compile(r"(?:[0-9a-f]{2})+")
_IN_JSON = {"NoneType": "null", "str": "text", "tuple": "list", "frozenset": "list"}


def decoded(data: Json, hint: Any, place: str) -> Any:
    """Decode plain data of an annotated type; `place` is for messages."""
    alternatives = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    kinds = {(get_origin(kind) or kind).__name__: kind for kind in alternatives}
    words = {word: value for kind in alternatives for word, value in _words(kind).items()}
    match data:
        case {"is": "float", "value": "inf" | "-inf" | "nan" as text} if "float" in kinds:
            return float(text)
        case {"is": "Decimal", "value": str(text)} if "Decimal" in kinds and _is_decimal(text):
            return Decimal(text)
        case dict() if is_dataclass(kinds.get(str(data.get("is")))):
            return _instance(data, kinds[str(data["is"])], place)
        case list() if "tuple" in kinds:
            return tuple(map(decoded, data, *_items(data, kinds["tuple"], place)))
        case list() if "frozenset" in kinds:
            return frozenset(map(decoded, data, *_items(data, kinds["frozenset"], place)))
        case str() if data in words:
            return words[data]
        case str() if "Fraction" in kinds and _FRACTION.fullmatch(data):
            return Fraction(data)
        case _ if type(data) in alternatives:
            return data
    found = brief(data["is"] if isinstance(data, dict) and "is" in data else data)
    known = ", ".join(words or [_IN_JSON.get(name, name) for name in kinds])
    raise PlanError(f"{place}: this is {found}, and may be: {known}")


def _words(kind: Any) -> dict[str, Any]:
    """The texts of the values of a type: the names of an enum, or literals."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return dict(kind.__members__)
    return {word: word for word in get_args(kind)} if get_origin(kind) is Literal else {}


def _items(data: list[Json], kind: Any, place: str) -> tuple[list[Any], list[str]]:
    """The types of the items of a list, and their places."""
    hints = list(get_args(kind))
    if hints[1:] in ([], [Ellipsis]):
        hints = hints[:1] * len(data)
    if len(hints) != len(data):
        raise PlanError(f"{place}: these are {len(data)} items, and must be {len(hints)}")
    return hints, [f"{place}[{number}]" for number in range(len(data))]


def _instance(data: dict[str, Json], kind: Any, place: str) -> Any:
    stored = _stored(kind)
    for name in data:
        if name not in stored and name != "is":
            hint = did_you_mean(name, stored) or (f"it has {', '.join(stored)}",)
            raise PlanError(f"{place}: {kind.__name__} has no field {brief(name)}; {hint[0]}")
    values = {}
    for name, (field, hint) in stored.items():
        if name in data:
            values[name] = decoded(data[name], hint, f"{place}.{name}")
        elif field.default is MISSING:
            raise PlanError(f"{place}: {kind.__name__} lacks its field `{name}`")
    try:
        return kind(**values)
    except (SchemaError, ValueError) as problem:  # for example an unknown unit of time
        raise PlanError(f"{place}: no {kind.__name__} is like this: {problem}") from problem
