"""The parser's state at a syntax error: the place, its token, and the terminals that may follow."""

from __future__ import annotations

import re
from collections.abc import Set
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any

from lark import Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from sase.cached_property import cached_property
from sase.errors import Diagnostic
from sase.lang.ast import StrategyName
from sase.lang.tables import parser
from sase.source import Source, Span

# ---------------------------------------------------------------- expectations

# In the order of a query.
CLAUSES = ("FROM", "EVENT", "WHERE", "WITHIN", "WITH", "HAVING", "RETURN", "LIMIT")
STRATEGY_WORDS = tuple(strategy.value for strategy in StrategyName)
# The keywords of each terminal, as users write them.
KEYWORDS: dict[str, tuple[str, ...]] = {
    "_CREATE": ("CREATE",), "_STREAM": ("STREAM",), "_AS": ("AS",), "_FROM": ("FROM",),
    "_EVENT": ("EVENT", "PATTERN"), "SEQ": ("SEQ",), "SET": ("SET",), "_ANY": ("ANY",),
    "_WHERE": ("WHERE",), "_WITHIN": ("WITHIN",), "_EVENTS": ("EVENTS",), "PER": ("PER",),
    "_PARTITION": ("PARTITION",), "INCLUSIVE": ("INCLUSIVE",), "_WITH": ("WITH",),
    "_CONFIDENCE": ("CONFIDENCE",), "_HAVING": ("HAVING",), "_RETURN": ("RETURN",),
    "_LIMIT": ("LIMIT",), "STRATEGY": STRATEGY_WORDS, "_AND": ("AND",), "_OR": ("OR",),
    "NOT": ("NOT",), "_IN": ("IN",), "_BETWEEN": ("BETWEEN",), "_LIKE": ("LIKE",),
    "_ILIKE": ("ILIKE",), "_IS": ("IS",),
    "_NULL": ("NULL",), "_TRUE": ("TRUE",), "_FALSE": ("FALSE",), "TIMESTAMP": ("TIMESTAMP",),
    "_WHEN": ("WHEN",), "_THEN": ("THEN",), "_ELSE": ("ELSE",), "_END": ("END",),
    "_ZONE": ("ZONE",), "DATE": ("DATE",), "TIME": ("TIME",), "INTERVAL": ("INTERVAL",),
}  # fmt: skip
SIGNS = {
    "LPAR": "`(`", "RPAR": "`)`", "LSQB": "`[`", "RSQB": "`]`", "LBRACE": "`{`", "RBRACE": "`}`",
    "COMMA": "a comma", "SEMICOLON": "`;`", "COLON": "`:`", "DOT": "`.`", "EQUALS": "`=`",
    "AT_LEAST": "`>=`", "MORE_THAN": "`>`", "MINUS": "`-`", "INTEGER": "a whole number",
    "FLOAT": "a number", "STRING": "a quoted text", "__ANON_0": "`..`",
    "$END": "the end of the query",
}  # fmt: skip

_NAMES = {"NAME", "QUOTED_NAME", "TIMESTAMP", "DATE", "TIME", "INTERVAL"}
_TYPE_NAMES = {"NAME", "HYPHENATED_NAME", "QUOTED_NAME", "SEQ", "SET"}
_CONSTANTS = {
    "INTEGER", "FLOAT", "STRING", "PERCENTAGE", "COLON", "MINUS", "_TRUE", "_FALSE", "_NULL",
}  # fmt: skip
_ARITHMETIC = {"PLUS", "MINUS", "STAR", "SLASH", "PERCENT"}
_COMPARISONS = {
    "COMPARISON", "EQUALS", "AT_LEAST", "MORE_THAN", "_IN", "_BETWEEN", "_LIKE", "_ILIKE", "_IS",
    "NOT",
}  # fmt: skip
_QUANTIFIERS = {"PLUS", "STAR", "QMARK", "LBRACE"}
_CLAUSES = {"_FROM", "_WHERE", "_WITHIN", "_WITH", "_HAVING", "_RETURN", "_LIMIT"}

# Phrases for sets of accepted terminals: the terminals that identify the phrase, those that it
# covers, and its text. The first match is used; the terminals that it covers are not repeated.
_PHRASES: tuple[tuple[set[str], set[str], str], ...] = (
    ({"_CREATE", "_EVENT"}, {"_CREATE", "_EVENT", "_FROM", "SEMICOLON", "$END"},
     "a query, such as  EVENT SEQ(A x, B y) WITHIN 1 hour"),
    ({"HYPHENATED_NAME", "_BANG"}, _TYPE_NAMES | {"_ANY", "NOT", "_BANG", "LPAR"},
     "a component, such as  A x  or  !(B y)"),
    ({"HYPHENATED_NAME"}, _TYPE_NAMES | {"_ANY", "LPAR"}, "the name of an event type"),
    ({"STRATEGY"}, {"STRATEGY", "NOT", "LPAR", "LSQB"} | _NAMES | _CONSTANTS,
     "a condition, such as  x.price > 10  or  [tag_id] , or a strategy"),
    ({"LPAR", "NOT", "STRING"}, {"NOT", "LPAR", "LSQB"} | _NAMES | _CONSTANTS,
     "a condition or a value, such as  x.price > 10"),
    ({"LPAR", "STRING"}, {"LPAR"} | _NAMES | _CONSTANTS,
     "a value, such as  x.price  or  10  or  'text'"),
    ({"INTEGER", "STRING"}, _CONSTANTS | _NAMES, "a literal, such as  10  or  'text'"),
    ({"COLON", "INTEGER"}, _CONSTANTS, "a number"),
    ({"QMARK", "NAME"}, _QUANTIFIERS | _NAMES, "a variable or a quantifier ( + * ? {n,m} )"),
    ({"QMARK"}, _QUANTIFIERS, "a quantifier ( + * ? {n,m} )"),
    ({"_EVENTS"}, {"_EVENTS", "INCLUSIVE"} | _NAMES, "a unit of time, or EVENTS"),
    ({"COMPARISON"}, _COMPARISONS | _ARITHMETIC | {"NAME", "DOT", "LSQB", "LPAR"},
     "a comparison ( = != < <= > >= IN BETWEEN LIKE IS )"),
    ({"PLUS", "STAR"}, _ARITHMETIC | {"NAME", "DOT", "LSQB", "LPAR"}, "an operator ( + - * / % )"),
    ({"_AND"}, {"_AND", "_OR"}, "AND or OR"),
    ({"NAME"}, _NAMES, "a name"),
)  # fmt: skip


def expected(terminals: Set[str]) -> list[str]:
    """The phrases for the terminals that may follow, most specific first."""
    left, phrases = set(terminals), []
    for telling, covered, phrase in _PHRASES:
        if telling <= left:
            phrases.append(phrase)
            left -= covered
    phrases += [SIGNS[name] for name in SIGNS if name in left - {"$END", "SEMICOLON"}]
    keywords = [name for name in KEYWORDS if name in left and name not in _CLAUSES]
    phrases += chain.from_iterable(KEYWORDS[name][:1] for name in keywords)
    clauses = [name[1:] for name in KEYWORDS if name in left & _CLAUSES]
    if clauses:
        phrases.append(" or ".join(filter(None, [", ".join(clauses[:-1]), clauses[-1]])))
    phrases += [SIGNS["$END"]] * ("$END" in left)
    return phrases


# ---------------------------------------------------------------- scene

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
        return frozenset(state.accepts())
    # Parse again up to the error: the parser may have reduced rules before it failed.
    return accepted_after(source.text[: stopped_at(problem, source.text)], entry)


def accepted_after(text: str, entry: str) -> Set[str]:
    """The terminals accepted after a text; `UnexpectedInput` if it begins no query."""
    state: Any = parser().parse_interactive(text, start=entry)
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
    """The diagnostic with the text at the place, and the expected continuations."""
    message = f"{scene.shown} is not expected here"
    if not scene.found:
        message = f"{scene.shown} comes too soon"
    phrases = expected(scene.accepted)[:SHOWN_PHRASES]
    hints = [f"expected {'; or '.join(phrases)}"] if phrases else []
    return scene.error("unexpected", message, *hints)
