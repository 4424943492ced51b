"""The parser's state at a syntax error: the place, its token, and the accepted tokens."""

from __future__ import annotations

import re
from collections.abc import Set
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from lark import Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from sase.cached_property import cached_property
from sase.errors import Diagnostic
from sase.lang.expectations import expected
from sase.lang.tables import parser
from sase.source import Source, Span

# Longer texts are not parsed again for a better message.
LONGEST_STUDIED = 20_000
SHOWN_PHRASES = 4
PAIRS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Scene:
    """The place where the parser stopped, and the terminals accepted there."""

    source: Source
    entry: str
    span: Span
    accepted: Set[str]

    @classmethod
    def of(cls, problem: UnexpectedInput, source: Source, entry: str) -> Scene:
        """Make the scene of a parser's exception."""
        place = stopped_at(problem, source.text)
        return cls(source, entry, word_at(source.text, place), _accepted(problem, source, entry))

    @property
    def found(self) -> str:
        """The text at the place; empty at the end."""
        return self.source.text[self.span.start : self.span.end]

    @cached_property
    def before(self) -> list[Token]:
        """The tokens before the place."""
        return tokens(self.source.text[: self.span.start])

    @cached_property
    def shown(self) -> str:
        """The text at the place, for messages."""
        if not self.found:
            return "the end of the query" if self.entry == "script" else "the end of the condition"
        return f"`{self.found}`" if self.found.isprintable() else repr(self.found)

    def error(self, code: str, message: str, *hints: str, span: Span | None = None) -> Diagnostic:
        """A diagnostic at the place, or at another one."""
        return Diagnostic(code, message, span or self.span, self.source, hints)


def stopped_at(problem: UnexpectedInput, text: str) -> int:
    """The offset where the parser stopped; at the end of the text, that of its last character."""
    if isinstance(problem, UnexpectedToken) and problem.token.type != "$END":
        return problem.token.start_pos or 0
    if isinstance(problem, UnexpectedCharacters):
        return int(problem.pos_in_stream or 0)
    return len(text.rstrip())


def _accepted(problem: UnexpectedInput, source: Source, entry: str) -> Set[str]:
    """The terminals accepted where the parser stopped."""
    if len(source.text) > LONGEST_STUDIED:
        state: Any = problem.interactive_parser
    else:
        # Parse again up to the error: the parser may have reduced rules before it failed.
        before = source.text[: stopped_at(problem, source.text)]
        state = parser().parse_interactive(before, start=entry)
        state.exhaust_lexer()
    return frozenset(state.accepts())


def word_at(text: str, start: int) -> Span:
    """The word at an offset, or a run of signs."""
    found = re.compile(r"\w+|=[<>]|[=!<>]{1,3}|&+|\|+|->|\S").match(text, start)
    return Span(*found.span()) if found else Span(start, start)


def tokens(text: str) -> list[Token]:
    """The tokens of a text, as far as the lexer alone can recognize them."""
    tokens: list[Token] = []
    # The text may be incomplete; the tokens before are enough.
    with suppress(UnexpectedInput):
        tokens.extend(parser().lex(text, dont_ignore=True))
    return [token for token in tokens if token.type not in ("COMMENT", "WHITESPACE")]


def token_span(token: Token) -> Span:
    """The place of a token."""
    return Span(token.start_pos or 0, token.end_pos or 0)


def open_bracket(tokens: list[Token]) -> Token | None:
    """The innermost bracket that is still open."""
    still_open: list[Token] = []
    for token in tokens:
        if token in PAIRS:
            still_open.append(token)
        elif token in PAIRS.values() and still_open:
            still_open.pop()
    return still_open[-1] if still_open else None


def in_pattern(scene: Scene) -> bool:
    """Whether the place is in the EVENT clause, after a possible component."""
    return scene.accepted <= {"COMMA", "RPAR"} or bool({"QMARK", "_WHERE"} & scene.accepted)


def unexpected(scene: Scene) -> Diagnostic:
    """The diagnostic with the text at the place, and what is expected."""
    message = f"{scene.shown} is not expected here"
    if not scene.found:
        message = f"{scene.shown} comes too soon"
    phrases = expected(scene.accepted)[:SHOWN_PHRASES]
    hints = [f"expected {'; or '.join(phrases)}"] if phrases else []
    return scene.error("unexpected", message, *hints)
