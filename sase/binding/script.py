"""Check every statement of a script, and report all that is wrong."""

from __future__ import annotations

from sase.binding.binder import bind
from sase.binding.schema import OPEN, Schema
from sase.errors import BindingError, Diagnostic
from sase.lang import ast
from sase.lang.parser import parse_script
from sase.source import Source


def check_script(text: str, schema: Schema = OPEN, *, name: str = "query") -> list[Diagnostic]:
    """The errors and warnings of a text's statements, in order; a text must parse for that."""
    source = Source(text, name)
    found: list[Diagnostic] = []
    for statement in parse_script(text, name).statements:
        found += _check_statement(statement, schema, source)
    return found


def _check_statement(statement: ast.Statement, schema: Schema, source: Source) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    if statement.stream is not None:
        found.append(create_stream_refused(statement.stream, source))
    try:
        found += bind(statement.query, schema, source=source).warnings
    except BindingError as problem:
        found += problem.diagnostics
    return found


def create_stream_refused(stream: ast.Name, source: Source) -> Diagnostic:
    """The error for CREATE STREAM, which parses and is for later."""
    return Diagnostic(
        "not-supported-yet",
        "CREATE STREAM is not supported yet",
        stream.span,
        source,
        ("write the query alone, from its FROM or EVENT clause on",),
    )
