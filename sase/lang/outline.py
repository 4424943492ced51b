"""The statements of an unfinished script, with the places of its names, and the cuts between them.

Only tokens are read, so a text with a mistake has an outline, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lark import Token

from sase.lang.scene import CLAUSES, token_span, tokens
from sase.source import Span

_NAMES = ("NAME", "QUOTED_NAME")
_TYPES = (*_NAMES, "HYPHENATED_NAME")
_COUNTS, _QUANTIFIERS = re.compile(r"\{[\d,\s]*\}"), ("PLUS", "STAR", "QMARK")


@dataclass(frozen=True)
class PlacedName:
    """A name in a text; of a variable also its type, None if it may have several."""

    name: str
    span: Span
    type: str | None = None


@dataclass(frozen=True)
class StatementOutline:
    """A statement: its place, the stream that it makes, the streams that it reads, its variables.

    A statement without a stream has a name by its number.
    """

    name: str
    span: Span
    stream: PlacedName | None
    sources: tuple[PlacedName, ...]
    variables: tuple[PlacedName, ...]


def outline(text: str) -> list[StatementOutline]:
    """The statements of a text, as far as it has tokens."""
    # The bounds of a quantifier would separate a type from its variable.
    found = tokens(_COUNTS.sub(lambda counts: " " * len(counts[0]), text))
    return [
        _outline(f"query_{number}", part)
        for number, part in enumerate(_between_semicolons(found), start=1)
    ]


def variables_in(text: str) -> dict[str, str | None]:
    """The variables of the patterns in a text, each with its type; None if it may have several."""
    return {each.name: each.type for one in outline(text) for each in one.variables}


def plain(name: str) -> str:
    """A name without its backquotes."""
    if not name.startswith("`"):
        return name
    return name.removeprefix("`").removesuffix("`").replace("``", "`")


def _between_semicolons(found: Sequence[Token]) -> Iterator[list[Token]]:
    part = list[Token]()
    for token in found:
        if token.type != "SEMICOLON":
            part.append(token)
        elif part:
            yield part
            part = []
    if part:
        yield part


def _outline(name: str, part: list[Token]) -> StatementOutline:
    span = Span(token_span(part[0]).start, token_span(part[-1]).end)
    is_stream = part[0].type == "_CREATE" and len(part) > 2 and part[2].type in _NAMES
    stream = _placed(part[2]) if is_stream else None
    clause, before = "", Token("", "")
    sources, variables = list[PlacedName](), list[PlacedName]()
    for token in part:
        word = token.type.lstrip("_")
        # Attributes may have the names of clauses, which come in order.
        if word in CLAUSES[1 + CLAUSES.index(clause) if clause else 0 :] and before.type != "DOT":
            clause = word
        if token.type in _NAMES and clause == "FROM":
            sources.append(_placed(token))
        is_variable = token.type in _NAMES and before.type in (*_TYPES, "RPAR", "_ANY")
        if is_variable and clause == "EVENT":
            type_name = plain(before) if before.type in _TYPES else None
            variables.append(_placed(token, type_name))
        if token.type not in _QUANTIFIERS:
            before = token
    return StatementOutline(
        stream.name if stream else name, span, stream, tuple(sources), tuple(variables)
    )


def _placed(token: Token, type_name: str | None = None) -> PlacedName:
    return PlacedName(plain(token), token_span(token), type_name)


# ---------------------------------------------------------------- cuts

# Comments and quoted texts, in which a semicolon ends nothing; one that is not closed has no end.
_QUOTES = (("'", "'"), ('"', '"'), ("`", "`"), ("‘", "’"), ("“", "”"))
_SKIPPED = r"--[^\n]*|/\*(?:(?!\*/).)*(?:\*/|\Z)" + "".join(
    rf"|{opening}[^{closing}]*(?:{closing}|\Z)" for opening, closing in _QUOTES
)
_MARKS = re.compile(rf"{_SKIPPED}|;", re.DOTALL)
_BLANK = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*", re.DOTALL)


def first_statement(text: str) -> tuple[str, str] | None:
    """The text before the first semicolon and the text after it; None without one."""
    for found in _MARKS.finditer(text):
        if found[0] == ";":
            return text[: found.start()], text[found.end() :]
    return None


def without_blanks(text: str) -> str:
    """A text from its first word on, without the blanks and whole comments before it."""
    found = _BLANK.match(text)
    return text[found.end() :] if found else text
