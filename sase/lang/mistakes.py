"""The mistakes in syntax that have a shape of their own, each recognised by one function."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from lark import Token

from sase.errors import Diagnostic
from sase.lang.expectations import CLAUSES
from sase.lang.repairs import EVERY_KEYWORD, Misspelled, missing_and
from sase.lang.scene import Scene, open_bracket, token_span
from sase.lang.units import UNITS, unknown_unit
from sase.nearest import nearest
from sase.source import Span


def _nothing_here(scene: Scene) -> Diagnostic | None:
    if scene.found or scene.before:
        return None
    what = "query" if scene.entry == "script" else "condition"
    example = "EVENT SEQ(A x, B y) WITHIN 1 hour" if what == "query" else "x.price > 10"
    return scene.error("empty", f"there is no {what} here", f"a {what} looks like  {example}")


_OPENERS = {"'": "text", '"': "text", "‘": "text", "“": "text", "`": "name", "/*": "comment"}
_CLOSERS = {"‘": "’", "“": "”", "/*": "*/"}


def _never_closed(scene: Scene) -> Diagnostic | None:
    """A quote, a backquote or a comment that is open at the end of the text."""
    text = scene.source.text
    opener = next((sign for sign in _OPENERS if text.startswith(sign, scene.span.start)), None)
    if opener is None:
        return None
    closer = _CLOSERS.get(opener, opener)
    if text.find(closer, scene.span.start + len(opener)) >= 0:
        return None
    return scene.error(
        "never-closed",
        f"the {_OPENERS[opener]} that begins here is never closed",
        f"close it with  {closer}",
        span=Span(scene.span.start, scene.span.start + len(opener)),
    )


def _ran_on(scene: Scene) -> Diagnostic | None:
    """A text that ran on to the quote that should have opened the next one."""
    for token in reversed(scene.before[-2:]):
        start, end = token_span(token)
        if token.type == "STRING" and re.match(r"\w", scene.source.text[end : end + 1]):
            quote = token[-1]
            return scene.error(
                "never-closed",
                f"the text that begins here runs on to the next  {quote}",
                f"close it with  {quote}  where it should end",
                f"a quote inside a text is written twice:  {quote}it{quote * 2}s{quote}",
                span=Span(start, start + 1),
            )
    return None


def _not_a_unit(scene: Scene) -> Diagnostic | None:
    """A word behind a number, taken for a unit though it is none: `x > 3 ADN y < 4`."""
    for number, word in pairwise(scene.before[-3:]):
        if number.type not in ("INTEGER", "FLOAT") or word.type != "NAME":
            continue
        if word.lower() in UNITS or word.upper() in EVERY_KEYWORD:
            continue
        span = token_span(word)
        keyword = nearest(word, ("AND", "OR", "BETWEEN", "EVENTS", "AS", *CLAUSES))
        if keyword is not None and len(word) > 1:
            return Misspelled(span, word, keyword)(scene)
        if len(word) > 1 and nearest(word, UNITS) is not None:
            return unknown_unit(word, span, scene.source)
        return missing_and(replace(scene, span=span))
    return None


_SIGNS = {
    "=<": "<=", "=>": ">=", "=!": "!=", "!==": "!=", "===": "=", "&": "AND", "|": "OR",
    "!": "NOT", ":=": "=", "~=": "!=", "->": ".",
}  # fmt: skip


def _mistyped_sign(scene: Scene) -> Diagnostic | None:
    """A sign of another language: `=<`, `&`, `===`."""
    place, text = scene.span.start, scene.source.text
    for start in (place, place - 1):
        for sign in sorted(_SIGNS, key=len, reverse=True):
            glued = text.startswith(sign, start) and start + len(sign) > place
            if start < 0 or not glued or (sign in "!&|" and start != place):
                continue
            if sign == "!" and "NOT" not in scene.accepted:
                continue
            return scene.error(
                "unknown-operator",
                f"`{sign}` is not an operator of this language",
                f"write  {_SIGNS[sign]}",
                span=Span(start, start + len(sign)),
            )
    return None


def _chained_comparison(scene: Scene) -> Diagnostic | None:
    """`a < b < c`."""
    comparisons = ("COMPARISON", "EQUALS", "AT_LEAST")
    if not re.fullmatch(r"[=!<>≠≤≥]+", scene.found) or "COMPARISON" in scene.accepted:
        return None
    for token in reversed(scene.before):
        if token.type in ("_AND", "_OR", "_WHERE", "_HAVING", "LBRACE", "COMMA"):
            return None
        if token.type in comparisons and "_AND" in scene.accepted:
            return scene.error(
                "chained-comparison",
                "comparisons cannot be chained",
                "write  a < b AND b < c  for  a < b < c",
            )
    return None


def _clause_out_of_place(scene: Scene) -> Diagnostic | None:
    """A clause given twice, or after one that comes later."""
    # `WITHIN 5 WHERE …`: the word is taken for a unit, and the parser stops behind it.
    last = scene.before[-1:]
    candidates = [(scene.found, scene.span), *((str(t), token_span(t)) for t in last)]
    clauses = ((_clause_meant(found, scene), span) for found, span in candidates)
    word, place = next((pair for pair in clauses if pair[0]), (None, scene.span))
    if word is None or scene.entry != "script":
        return None
    statement = _current_statement(scene.before, place)
    earlier = [clause for token in statement if (clause := _clause(token)) is not None]
    if word in earlier:
        joined = ", or join the conditions with AND" if word in ("WHERE", "HAVING") else ""
        return scene.error(
            "repeated-clause",
            f"this query has a second {word}",
            f"leave one of them out{joined}",
            span=place,
        )
    later = [clause for clause in earlier if CLAUSES.index(clause) > CLAUSES.index(word)]
    if not later:
        return None
    spelled = scene.source.text[place.start : place.end]
    mistyped = "" if _clause(spelled) else f"`{spelled}` looks like {word}, and "
    return scene.error(
        "clause-order",
        f"{mistyped}{word} comes too late: it stands before {later[0]}",
        "the order is  " + " … ".join(CLAUSES),
        span=place,
    )


def _clause(word: str) -> str | None:
    upper = word.upper()
    upper = "EVENT" if upper == "PATTERN" else upper
    return upper if upper in CLAUSES else None


def _clause_meant(word: str, scene: Scene) -> str | None:
    """The clause that a word begins or, misspelled, should begin where it cannot."""
    if not word.isidentifier() or word.lower() in UNITS:
        return None
    resembled = _clause(word) or nearest(word, CLAUSES)
    return resembled if f"_{resembled}" not in scene.accepted else None


def _current_statement(tokens: list[Token], place: Span) -> list[Token]:
    """The tokens of the statement before a place, without those inside brackets or after a dot."""
    kept: list[Token] = []
    depth, previous = 0, ""
    for token in tokens:
        if (token.start_pos or 0) >= place.start:
            break
        if token == ";":
            kept, depth = [], 0
        depth += (token in "([{") - (token in ")]}")
        if depth == 0 and previous not in (".", ":"):
            kept.append(token)
        previous = str(token)
    return kept


class _Habit(NamedTuple):
    """A form that other languages have: what stands before, what stands here, what to write."""

    before: str
    here: str
    message: str
    hint: str


# Looked at only where the text does not parse; patterns are matched whole, in any case.
_HABITS = (
    _Habit("", "select", "a query begins with EVENT, not with SELECT",
           "EVENT SEQ(A x, B y) WHERE x.id = y.id WITHIN 1 hour RETURN x.id"),
    _Habit("seq|set", r"[^(,)]*", "the components are listed in brackets",
           "write  SEQ(A x, B y)"),
    _Habit(r"is|is\s*not", r"[^)]*", "IS tests for NULL only",
           "write  IS NULL  or  IS NOT NULL ; values are compared with  =  and  !="),
    _Habit("not", "null", "a value is tested for NULL with IS", "write  x.a IS NOT NULL"),
    _Habit("in", r"[^(]*", "IN is followed by a list of literals in brackets",
           "write  x.a IN (1, 2)"),
    _Habit("like", r".*", "LIKE is followed by a pattern in quotes, or by a parameter",
           "write  x.a LIKE 'abc%'"),
    _Habit("limit", r".*", "LIMIT is followed by a whole number, or by a parameter",
           "write  LIMIT 10"),
)  # fmt: skip


def _habit(scene: Scene) -> Diagnostic | None:
    """A form that another language has and this one has not."""
    last = str(scene.before[-1]) if scene.before else ""
    for habit in _HABITS:
        before, here = (
            re.fullmatch(pattern, text, re.IGNORECASE | re.DOTALL)
            for pattern, text in ((habit.before, last), (habit.here, scene.found))
        )
        if before and here and scene.found:
            return scene.error("unexpected", habit.message, habit.hint)
    return None


def _no_event_clause(scene: Scene) -> Diagnostic | None:
    """A text that begins with the pattern, or with a condition."""
    if scene.entry != "script" or scene.before or nearest(scene.found, CLAUSES) is not None:
        return None
    return scene.error(
        "no-event-clause",
        f"a query begins with EVENT, and this one with {scene.shown}",
        "EVENT SEQ(A x, B y) WHERE x.id = y.id WITHIN 1 hour",
    )


def _variable_after_as(scene: Scene) -> Diagnostic | None:
    """`A AS a` for `A a`: AS itself was taken for the variable."""
    in_pattern = scene.accepted <= {"COMMA", "RPAR"} or "_WHERE" in scene.accepted
    if not (scene.before and scene.before[-1].upper() == "AS" and in_pattern):
        return None
    return scene.error(
        "unexpected",
        "a variable follows its event type directly",
        f"leave out the AS:  A {scene.found}",
        span=token_span(scene.before[-1]),
    )


def _second_dot(scene: Scene) -> Diagnostic | None:
    """`x.a.b`."""
    if scene.found != "." or "COMPARISON" not in scene.accepted:
        return None
    return scene.error(
        "unexpected",
        "an attribute is written with one dot: its variable and its name",
        "write  x.a ; a name that holds a dot stands in backquotes:  x.`a.b`",
    )


def _comma_between_conditions(scene: Scene) -> Diagnostic | None:
    """`WHERE a = 1, b = 2`."""
    if scene.found != "," or "_AND" not in scene.accepted or open_bracket(scene.before):
        return None
    return scene.error(
        "missing-operator",
        "conditions are not separated by commas",
        "join them with AND or OR",
    )


def _series_without_quantifier(scene: Scene) -> Diagnostic | None:
    """`A a[]` where `A+ a[]` was meant."""
    in_pattern = scene.accepted <= {"COMMA", "RPAR"} or "_WHERE" in scene.accepted
    if scene.found != "[" or len(scene.before) < 2 or not in_pattern:
        return None
    *_, test, variable = scene.before
    return scene.error(
        "series-without-quantifier",
        f"`{variable}[]` names a series of events, and this component takes one event",
        f"write  {test}+ {variable}[]  for one or more, or leave out the  []",
    )


# In this order; the first that recognises its shape speaks.
SHAPES: tuple[Callable[[Scene], Diagnostic | None], ...] = (
    _nothing_here,
    _never_closed,
    _ran_on,
    _habit,
    _no_event_clause,
    _variable_after_as,
    _second_dot,
    _comma_between_conditions,
    _mistyped_sign,  # before repairs, which would leave out a character of `=<`
    _clause_out_of_place,
    _not_a_unit,
    _chained_comparison,
    _series_without_quantifier,
)
