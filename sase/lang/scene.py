"""The parser's state at a syntax error: the place, the token there, and the tokens accepted."""

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

# What an error message does by parsing again, it does not do with a longer text than this.
LONGEST_STUDIED = 20_000
SHOWN_PHRASES = 4
PAIRS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Scene:
    """Where the parser stopped: the place, what stands there, and what could stand there."""

    source: Source
    entry: str
    span: Span
    accepted: Set[str]

    @classmethod
    def of(cls, problem: UnexpectedInput, source: Source, entry: str) -> Scene:
        """The scene of what the parser raised."""
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
        """What stands at the place, as a message calls it."""
        if not self.found:
            return "the end of the query" if self.entry == "script" else "the end of the condition"
        return f"`{self.found}`" if self.found.isprintable() else repr(self.found)

    def error(self, code: str, message: str, *hints: str, span: Span | None = None) -> Diagnostic:
        """A diagnostic at the place, or at another."""
        return Diagnostic(code, message, span or self.span, self.source, hints)


def stopped_at(problem: UnexpectedInput, text: str) -> int:
    """The offset at which the parser gave up; at the end, that of the last thing there is."""
    if isinstance(problem, UnexpectedToken) and problem.token.type != "$END":
        return problem.token.start_pos or 0
    if isinstance(problem, UnexpectedCharacters):
        return int(problem.pos_in_stream or 0)
    return len(text.rstrip())


def _accepted(problem: UnexpectedInput, source: Source, entry: str) -> Set[str]:
    """The terminals that could stand where the parser stopped."""
    if len(source.text) > LONGEST_STUDIED:
        state: Any = problem.interactive_parser
    else:
        # The parser itself has closed what the wrong token could close before it gave up.
        before = source.text[: stopped_at(problem, source.text)]
        state = parser().parse_interactive(before, start=entry)
        state.exhaust_lexer()
    return frozenset(state.accepts())


def word_at(text: str, start: int) -> Span:
    """The word at an offset, or the run of signs that reads as one."""
    found = re.compile(r"\w+|=[<>]|[=!<>]{1,3}|&+|\|+|->|\S").match(text, start)
    return Span(*found.span()) if found else Span(start, start)


def tokens(text: str) -> list[Token]:
    """The tokens of a text as far as they can be told without a parser."""
    tokens: list[Token] = []
    # The text may stop in the middle of something: what came before it is what is wanted.
    with suppress(UnexpectedInput):
        tokens.extend(parser().lex(text, dont_ignore=True))
    return [token for token in tokens if token.type not in ("COMMENT", "WHITESPACE")]


def token_span(token: Token) -> Span:
    """The place of a token."""
    return Span(token.start_pos or 0, token.end_pos or 0)


def open_bracket(tokens: list[Token]) -> Token | None:
    """The innermost bracket that the tokens leave open."""
    still_open: list[Token] = []
    for token in tokens:
        if token in PAIRS:
            still_open.append(token)
        elif token in PAIRS.values() and still_open:
            still_open.pop()
    return still_open[-1] if still_open else None


def in_pattern(scene: Scene) -> bool:
    """Whether the place is in the EVENT clause, behind something that could be a component."""
    return scene.accepted <= {"COMMA", "RPAR"} or bool({"QMARK", "_WHERE"} & scene.accepted)


def unexpected(scene: Scene) -> Diagnostic:
    """The diagnostic that says what stands at the place and what could."""
    message = f"{scene.shown} is not expected here"
    if not scene.found:
        message = f"{scene.shown} comes too soon"
    phrases = expected(scene.accepted)[:SHOWN_PHRASES]
    hints = [f"expected {'; or '.join(phrases)}"] if phrases else []
    return scene.error("unexpected", message, *hints)
