"""Statements of a script that are skipped, because the events lack names that they use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sase.binding.binder import bind
from sase.binding.schema import Schema
from sase.binding.script import NamedQuery, StatementGraph
from sase.binding.streams import NamedStream
from sase.binding.types import UNKNOWN
from sase.errors import BindingError


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
