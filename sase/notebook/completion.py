"""Completion in cells of `%%sase`: keywords, types, variables, attributes, functions and units."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from IPython.core.completer import SimpleCompletion, context_matcher
from IPython.core.error import UsageError

from sase.api.matching import match
from sase.binding import OPEN, Schema
from sase.binding.schema import OTHERS
from sase.binding.types import ELEMENT, DataType
from sase.binding.values.functions import AGGREGATES, FUNCTIONS
from sase.engine.sources.discovered import Discovered
from sase.errors import SaseError
from sase.lang.completion import WordPlace, variables_in
from sase.lang.printer import spelled, spelled_field, spelled_type
from sase.lang.units import NANOSECONDS
from sase.notebook.magics import Magic, is_path

MAGIC, IDENTIFIER = "%%sase", "sase"
# Types are those of the first events, and looked up for no longer than this.
EVENTS, TIME = 100_000, "2s"


class KnownNames(NamedTuple):
    """The names of types that events have, and their schema."""

    types: tuple[str, ...] = ()
    schema: Schema = OPEN

    @classmethod
    def of(cls, source: Discovered) -> KnownNames:
        """The types of a schema, or else those among the first events."""
        schema, types = source.schema, source.schema.type_names
        if types is None and schema.type is not None:
            query = f"EVENT ANY x RETURN x.{spelled_field(schema.type)} AS name"
            table = match(query, source, limit=EVENTS, timeout=TIME).to_arrow()
            types = tuple(filter(None, table["name"].unique().to_pylist()))
        return cls(tuple(name for name in types or () if name != OTHERS), schema)

    def attributes(self, type_name: str | None, path: tuple[str, ...]) -> Iterable[str]:
        """The attributes of a type or of all types, or the fields of the column at a path."""
        types = (*self.types, OTHERS) if type_name is None else (type_name,)
        own = dict[str, DataType]()
        for each in types:
            own |= self.schema.attributes(each) or {}
        for step in path:
            own = dict(_element(own[step]).parts) if step in own else {}
        return own


def _element(kind: DataType) -> DataType:
    while kind.is_list:
        kind = dict(kind.parts)[ELEMENT]
    return kind


def register_completion(shell: Any, magic: Magic) -> None:
    """Add the completion to a shell, in place of an earlier one."""
    kept = dict[tuple[str, int], KnownNames]()

    def matcher(context: Any) -> dict[str, Any]:
        line, *lines = context.full_text.split("\n")
        if not line.startswith(MAGIC) or context.cursor_line == 0:
            return {"completions": [], "suppress": False}
        # Names may differ after each cell that runs.
        key = (line, shell.execution_count)
        if key not in kept:
            kept.clear()
            kept[key] = known_names(shell, magic, line.removeprefix(MAGIC))
        before = [*lines[: context.cursor_line - 1], context.text_until_cursor]
        place = WordPlace.after("\n".join(before))
        words = completions(place, kept[key], "\n".join(lines))
        found = [SimpleCompletion(word, type=kind) for word, kind in words]
        # Words of Python have no meaning in a query.
        return {"completions": found, "suppress": True, "matched_fragment": place.begun}

    matchers = shell.Completer.custom_matchers
    others = [each for each in matchers if getattr(each, "matcher_identifier", "") != IDENTIFIER]
    matchers[:] = [*others, context_matcher(identifier=IDENTIFIER, priority=100)(matcher)]


def known_names(shell: Any, magic: Magic, line: str) -> KnownNames:
    """The names that the events of a line have; none if the line is unfinished or wrong."""
    try:
        given = magic.arguments(line)
        texts, variables = [given["events"], *filter(None, [given.get("types")])], shell.user_ns
        # An expression may have effects, and is only evaluated when the cell runs.
        # A reader can be read once, by the cell itself.
        is_reader = hasattr(variables.get(texts[0]), "read_next_batch")
        known = all(each in variables or is_path(each, variables) for each in texts)
        if known and not is_reader:
            return KnownNames.of(magic.source(given))
    except (UsageError, SaseError):
        pass
    return KnownNames()


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
            return [*variables_in(text), *FUNCTIONS, *AGGREGATES]
        case "attribute":
            variable, *steps = place.path or ("",)
            return names.attributes(variables_in(text).get(variable), tuple(steps))
    return ()
