"""Statements of a script that are skipped, because the events lack names that they use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NoReturn, TypeVar

from sase.binding.binder import bind
from sase.binding.schema import Schema
from sase.binding.script import NamedQuery, StatementGraph
from sase.binding.streams import NamedStream
from sase.binding.types import UNKNOWN
from sase.errors import BindingError, StatementError

V = TypeVar("V")


class ByStatement(dict[str, V]):
    """What there is of each statement by its name; to look up one that is set aside says why."""

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
