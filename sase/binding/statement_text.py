"""Add statements to the text of a script, or remove one."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sase.binding.script import NamedQuery, StatementGraph
from sase.lang import ast
from sase.lang.parser import parse_script
from sase.lang.printer import to_text

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
