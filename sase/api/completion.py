"""Completion from events and schemas, for notebooks, the shell and editors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sase.api.matching import match
from sase.binding import Schema
from sase.binding.schema import OTHERS
from sase.binding.types import ELEMENT, DataType
from sase.binding.values.functions import AGGREGATES, FUNCTIONS
from sase.engine.sources.discovered import Discovered
from sase.lang.completion import WordPlace
from sase.lang.outline import variables_in
from sase.lang.printer import spelled, spelled_field, spelled_type
from sase.lang.units import NANOSECONDS

# Types are those of the first events, and looked up for no longer than this.
EVENTS, TIME = 100_000, "2s"


class KnownNames(NamedTuple):
    """The names of types that events have, and the schemas of their inputs."""

    types: tuple[str, ...] = ()
    schemas: tuple[Schema, ...] = ()

    @classmethod
    def of(cls, *sources: Discovered) -> KnownNames:
        """The types of schemas, or else those among the first events.

        It raises a `SaseError` if these cannot be read in time.
        """
        types = dict.fromkeys(name for each in sources for name in _types(each) if name != OTHERS)
        return cls(tuple(types), tuple(each.schema for each in sources))

    def attributes(self, type_name: str | None, path: tuple[str, ...] = ()) -> dict[str, DataType]:
        """The attributes of a type or of all types, or the fields of the column at a path."""
        own = dict[str, DataType]()
        for schema in self.schemas:
            for each in (*self.types, OTHERS) if type_name is None else (type_name,):
                own |= schema.attributes(each) or {}
        for step in path:
            own = dict(_element(own[step]).parts) if step in own else {}
        return own


def _types(source: Discovered) -> Iterable[str]:
    schema = source.schema
    if schema.type_names is not None or schema.type is None or source.events is None:
        return schema.type_names or ()
    query = f"EVENT ANY x RETURN x.{spelled_field(schema.type)} AS name"
    table = match(query, source, limit=EVENTS, timeout=TIME).to_arrow()
    return [str(name) for name in table["name"].unique().to_pylist() if name not in (None, "")]


def _element(kind: DataType) -> DataType:
    while kind.is_list:
        kind = dict(kind.parts)[ELEMENT]
    return kind


def completions(place: WordPlace, names: KnownNames, text: str) -> Iterator[tuple[str, str]]:
    """The words that a begun one may become, each with its kind."""
    begun, kind = place.begun.strip("`").lower(), place.kind or ""
    spell = spelled_type if kind == "type" else spelled_field if place.path else spelled
    for name in sorted(_names(place, names, text)):
        if name.lower().startswith(begun):
            yield spell(name), kind
    for keyword in place.keywords:
        if keyword.lower().startswith(begun) and place.begun[:1] != "`":
            # A keyword continues in the case in which it was begun.
            yield keyword.lower() if place.begun.islower() else keyword, "keyword"


def _names(place: WordPlace, names: KnownNames, text: str) -> Iterable[str]:
    match place.kind:
        case "type":
            return names.types
        case "unit":
            return NANOSECONDS
        case "value":
            # Other names, such as that of AT TIME ZONE, are for operations without a call.
            return [*variables_in(text), *filter(str.isidentifier, FUNCTIONS), *AGGREGATES]
        case "attribute":
            variable, *steps = place.path or ("",)
            return names.attributes(variables_in(text).get(variable), tuple(steps))
    return ()
