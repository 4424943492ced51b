"""Skip statements of a script; add statements to its text, and remove them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NoReturn, TypeVar

from sase.binding.binder import bind
from sase.binding.schema import Schema
from sase.binding.script.script import NamedQuery, StatementGraph
from sase.binding.script.streams import NamedStream
from sase.binding.types import UNKNOWN
from sase.errors import BindingError, StatementError
from sase.lang import ast
from sase.lang.parser import parse_script
from sase.lang.printer import to_text

# ---------------------------------------------------------------- set aside

V = TypeVar("V")


class ByStatement(dict[str, V]):
    """Values by statement name; looking up a statement that is set aside raises the reason."""

    def __init__(self, found: Iterable[tuple[str, V]], reasons: Mapping[str, str]) -> None:
        super().__init__(found)
        self._reasons = reasons

    def __missing__(self, name: str) -> NoReturn:
        if name in self._reasons:
            raise StatementError(f"{name} is set aside: {self._reasons[name]}")
        raise KeyError(name)


def fits_other_events(
    query: NamedQuery,
    graph: StatementGraph,
    streams: Mapping[str | None, NamedStream],
    params: Mapping[str, object] | None,
) -> bool:
    """Whether a statement would be valid for events with other types and attributes.

    The script defines the attributes of its own streams, but not their types.
    """
    made = {each.name for each in graph.statements if each.is_stream}
    if made.issuperset(query.sources):
        bare = _untyped(graph.schema_read(query, streams))
    else:
        schema = streams[query.sources[0]].schema
        bare = replace(schema, types=None, columns=None, has_others=False, clock=schema.time_type)
    try:
        bind(query.tree, bare, source=graph.source, parameters=params or {})
    except BindingError:
        return False
    return True


def _untyped(schema: Schema) -> Schema:
    types = tuple(
        each
        if each.attributes is None
        else replace(each, attributes=tuple((name, UNKNOWN) for name, _ in each.attributes))
        for each in schema.types or ()
    )
    return replace(schema, types=types)


def without_source(query: NamedQuery, name: str | None, graph: StatementGraph) -> BindingError:
    """The error of a statement that reads a skipped one."""
    return graph.error("set-aside", f"this reads `{name}`, which is set aside", query)


def reason_of(problem: BindingError) -> str:
    """The errors of a statement, on one line."""
    return "; ".join(each.sentence for each in problem.diagnostics if each.severity == "error")


# ---------------------------------------------------------------- statement text

NUMBERED = re.compile(r"query_([0-9]+)")
# On its own line: a statement may end with a comment.
BETWEEN = "\n;\n"


def numbered(graph: StatementGraph) -> int:
    """The greatest number of a statement, by its name or its place."""
    names = (NUMBERED.fullmatch(each.name) for each in graph.statements)
    return max((int(found[1]) for found in names if found), default=0)


def with_statements(graph: StatementGraph, text: str, used: int) -> str:
    """The text of a script with more statements; numbers up to `used` are not reused."""
    first, used = len(graph.statements), max(used, numbered(graph))
    added = []
    for number, statement in enumerate(parse_script(text, "script").statements, start=1):
        own = text[slice(*statement.span)]
        name = f"query_{max(used, first) + number}"
        is_numbered_so = name == f"query_{first + number}"
        if statement.stream is None and not is_numbered_so:
            own = f"CREATE STREAM {name} AS {own}"
        added.append(own)
    return BETWEEN.join([*_texts(graph.statements), *added])


def without_statement(graph: StatementGraph, name: str) -> str:
    """The text of a script without one statement; the others keep their names."""
    return BETWEEN.join(_texts(each for each in graph.statements if each.name != name))


def _texts(queries: Iterable[NamedQuery]) -> list[str]:
    return [_text(each, number) for number, each in enumerate(queries, start=1)]


def _text(query: NamedQuery, number: int) -> str:
    """The text of a statement; it gets an explicit name unless its number implies that."""
    head = ""
    if query.is_stream or query.name != f"query_{number}":
        head = f"CREATE STREAM {to_text(ast.Name(query.name))} AS "
    named = [to_text(ast.Name(each)) for each in query.sources if each is not None]
    sources = f"FROM {', '.join(named)} " if named else ""
    return f"{head}{sources}{query.written}"
