"""The ways in which a record of a `.case` file is run: what each expectation is compared with.

A route takes a record and gives the lines that came out. MATCHES and RETURNS hold every route by
which results are found; the others have one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sase.binding import Schema, bind
from sase.binding.schema_file import schema_from
from sase.binding.script import create_stream_refused
from sase.errors import Diagnostic, QueryError
from sase.lang import ast
from sase.lang.layout import format_text
from sase.lang.parser import parse_condition, parse_query, parse_script
from sase.lang.printer import to_text
from sase.source import Source
from tests import naive
from tests.casefile import Case
from tests.casevalues import Event, format_value, kind_of
from tests.outline import outline

Route = Callable[[Case], list[str]]
NONE = ["none"]


# ---------------------------------------------------------------- results


def naive_matches(case: Case) -> list[str]:
    """The matches that the naive matcher finds."""
    labels = [event.label for event in case.events]
    lists = [_is_list(part) for part in positive_components(case.query)]
    return [_match_line(match, lists, labels) for match in _naive(case)] or NONE


def naive_returns(case: Case) -> list[str]:
    """The values of RETURN that the naive matcher gives."""
    return [_value_line(match.values) for match in _naive(case)] or NONE


def _naive(case: Case) -> list[Any]:
    typed_by_conditions = case.family("type")
    one_type = case.options.get("type") == "-"
    output: Any = case.options.get("output", "all")
    return naive.match(
        parse_query(case.query),
        rows(case),
        time=case.options.get("time", "ts"),
        type=None if typed_by_conditions or one_type else case.options.get("type", "type"),
        seq=case.options.get("seq"),
        types=typed_by_conditions or declared_types(case),
        time_unit=case.options.get("time_unit"),
        params=case.params or None,
        output=output,
    )


def rows(case: Case) -> list[dict[str, Any]]:
    """The stream as rows of one table: a column that an event does not give is NULL."""
    names = dict.fromkeys(name for event in case.events for name, _ in event.values)
    empty = dict.fromkeys(names)
    return [{**_type_column(case, event), **empty, **dict(event.values)} for event in case.events]


def _type_column(case: Case, event: Event) -> dict[str, str | None]:
    column = case.options.get("type", "type")
    return {} if case.family("type") or column == "-" else {column: event.type}


def declared_types(case: Case) -> dict[str, list[str]] | None:
    """Each type and the attributes that it declares; None for one wide table."""
    declared = case.schema or {"*": {}}
    return None if "*" in declared else {name: list(kinds) for name, kinds in declared.items()}


def positive_components(query: str) -> list[ast.Component]:
    """The components of a query that bind events."""
    pattern = parse_query(query).pattern
    parts = pattern.parts if isinstance(pattern, ast.Sequence) else (pattern,)
    return [part for part in parts if isinstance(part, ast.Component) and not part.negated]


def _is_list(component: ast.Component) -> bool:
    return component.quantifier is not None and component.quantifier.symbol != "?"


def _match_line(match: Any, lists: list[bool], labels: list[str]) -> str:
    bound = [
        f"{name}={_bound([labels[row] for row in events], is_list)}"
        for name, events, is_list in zip(match.names, match.events, lists, strict=True)
    ]
    return " ".join([f"@{format_value(match.detected_at)}", *bound])


def _bound(labels: list[str], is_list: bool) -> str:
    return f"[{' '.join(labels)}]" if is_list else "".join(labels) or "-"


def _value_line(values: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={format_value(value)}" for name, value in values.items())


# ---------------------------------------------------------------- texts and diagnostics


def tree(case: Case) -> list[str]:
    """The outline of the syntax tree."""
    return outline(_parse(case)).split("\n")


def formatted(case: Case) -> list[str]:
    """The text that the formatter gives."""
    condition = case.options.get("entry") == "condition"
    text = to_text(_parse(case)) if condition else format_text(case.query)
    return text.rstrip("\n").split("\n")


def _parse(case: Case) -> ast.Node:
    if case.options.get("entry") == "condition":
        return parse_condition(case.query, "query")
    return parse_script(case.query, "query")


def errors(case: Case) -> list[str]:
    """The errors of parsing, or else of binding."""
    return _texts(case, "error")


def warnings(case: Case) -> list[str]:
    """The warnings of binding."""
    return _texts(case, "warning")


def _texts(case: Case, severity: str) -> list[str]:
    found = [str(each) for each in _diagnostics(case) if each.severity == severity]
    return "\n\n".join(found).split("\n") if found else NONE


def _diagnostics(case: Case) -> list[Diagnostic]:
    """All that is wrong with a query: the one place that knows how binding is called."""
    source, found = Source(case.query, "query"), list[Diagnostic]()
    try:
        parsed = _parse(case)
        statements = parsed.statements if isinstance(parsed, ast.Script) else ()
        for statement in statements:
            if statement.stream is not None:
                found.append(create_stream_refused(statement.stream, source))
            bound = bind(
                statement.query,
                schema(case),
                source=source,
                parameters=case.params or None,
                flat=case.options.get("flat") == "yes",
            )
            found += bound.warnings
    except QueryError as error:
        found += error.diagnostics
    return found


def schema(case: Case) -> Schema:
    """The schema of a record, or else the columns of its stream; without either all is open."""
    data: dict[str, Any] = {
        name: case.options[name]
        for name in ("time", "type", "seq", "time_unit")
        if name in case.options and case.options[name] != "-"
    }
    declared = case.schema or {"*": _columns(case)}
    if case.family("type"):
        data["definitions"] = case.family("type")
    if "*" not in declared:
        data["types"] = declared
    elif declared["*"] or case.events:
        data["columns"] = declared["*"]
    return schema_from(data)


def _columns(case: Case) -> dict[str, str]:
    """The kinds of the columns that a stream shows."""
    values = [dict(event.values) for event in case.events]
    names = dict.fromkeys(name for row in values for name in row)
    return {name: kind_of([row.get(name) for row in values]) for name in names}


MATCHES: dict[str, Route] = {"naive matcher": naive_matches}
RETURNS: dict[str, Route] = {"naive matcher": naive_returns}
ROUTES: dict[str, dict[str, Route]] = {
    "matches": MATCHES,
    "returns": RETURNS,
    "error": {"binding": errors},
    "warning": {"binding": warnings},
    "tree": {"parser": tree},
    "format": {"printer": formatted},
}
