"""Parse text to a syntax tree, or explain why it does not parse."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from lark.exceptions import UnexpectedInput

from sase.base.files import MOST
from sase.base.limits import heed
from sase.errors import QuerySyntaxError
from sase.lang import ast
from sase.lang.builder import build, syntax_error
from sase.lang.tables import parser
from sase.source import Source, Span

# Trees of up to KEPT texts of at most LENGTH characters are cached, as they are immutable: queries
# recur for other inputs, recipes and strategies, and in explanations of scripts.
KEPT, LENGTH = 256, 2_000


def parse_script(text: str, name: str = "query") -> ast.Script:
    """The statements of a script; messages call the text `name`."""
    script: ast.Script = _parse(Source(text, name), "script")
    return script


def is_script(text: str) -> bool:
    """Whether a text that parses has several statements, or uses names of streams."""
    if not any(mark in text.upper() for mark in (";", "FROM", "CREATE")):
        return False
    try:
        first, *others = parse_script(text).statements
    except QuerySyntaxError:
        return False
    return bool(others or first.stream or first.query.sources)


def parse_query(text: str, name: str = "query") -> ast.Query:
    """The query of a text; a script of several statements is refused."""
    source = Source(text, name)
    script: ast.Script = _parse(source, "script")
    first, *others = script.statements
    if others:
        raise syntax_error(
            "several-statements",
            "one query is expected here, and the text continues with another statement",
            others[0].span,
            source,
            "give the statements one by one, or the text to  sase.Script  , which has all of them",
        )
    if first.stream is not None:
        raise syntax_error(
            "several-statements",
            "one query is expected here, and this makes a stream for other statements",
            first.stream.span,
            source,
            "write the query alone, from its EVENT clause on, or give the text to  sase.Script",
        )
    return first.query


def parse_condition(text: str, name: str = "condition") -> ast.Expression:
    """A condition on its own, such as one that defines an event type."""
    condition: ast.Expression = _parse(Source(text, name), "condition")
    return condition


def _parse(source: Source, start: str) -> Any:
    if len(source.text) > MOST:
        words = f"this has {len(source.text):,} characters, and no query is longer than {MOST:,}"
        raise syntax_error("too-long", words, Span(0, 1), source)
    return (_kept if len(source.text) <= LENGTH else _parsed)(source, start)


def _parsed(source: Source, start: str) -> Any:
    steps: Any = parser().parse_interactive(source.text, start=start)
    token = None
    try:
        for token in steps.iter_parse():  # noqa: B007 - the end needs the last token
            heed()
        tree = steps.feed_eof(token)
    except UnexpectedInput as problem:
        problem.interactive_parser = steps
        # Imported on demand: valid queries do not need it.
        from sase.lang.mistakes import explain

        raise explain(problem, source, start) from None
    return build(tree, source)


@lru_cache(KEPT)
def _kept(source: Source, start: str) -> Any:
    return _parsed(source, start)
