"""Explain why a text does not parse: mistakes of known shapes, else the expected text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from lark import Token
from lark.exceptions import UnexpectedInput

from sase.base.texts import nearest
from sase.errors import Diagnostic, QuerySyntaxError
from sase.lang.habits import HABITS, foreign_phrase
from sase.lang.printer import RESERVED
from sase.lang.repairs import EVERY_KEYWORD, missing_and, misspelled, repaired
from sase.lang.scene import CLAUSES, Scene, in_pattern, open_bracket, token_span, unexpected
from sase.lang.units import UNITS, unknown_unit
from sase.source import Source, Span

# ---------------------------------------------------------------- mistakes


def _nothing_here(scene: Scene) -> Diagnostic | None:
    if scene.found or scene.before:
        return None
    what = "query" if scene.entry == "script" else "condition"
    example = "EVENT SEQ(A x, B y) WITHIN 1 hour" if what == "query" else "x.price > 10"
    return scene.error("empty", f"there is no {what} here", f"a {what} looks like  {example}")


_OPENERS = {"'": "text", '"': "text", "‘": "text", "“": "text", "`": "name", "/*": "comment"}
_CLOSERS = {"‘": "’", "“": "”", "/*": "*/"}


def _never_closed(scene: Scene) -> Diagnostic | None:
    """A quote, backquote or comment that is still open at the end of the text."""
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
    """A text that extends to the opening quote of the next one."""
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
    """A word after a number that parses as a unit but is none: `x > 3 ADN y < 4`."""
    for number, word in pairwise(scene.before[-3:]):
        if number.type not in ("INTEGER", "FLOAT") or word.type != "NAME":
            continue
        if word.lower() in UNITS or word.upper() in EVERY_KEYWORD:
            continue
        span = token_span(word)
        keyword = nearest(word, ("AND", "OR", "BETWEEN", "EVENTS", "AS", *CLAUSES))
        if keyword is not None and len(word) > 1:
            return misspelled(span, word, keyword, scene)
        if len(word) > 1 and nearest(word, UNITS) is not None:
            return unknown_unit(word, span, scene.source)
        return missing_and(replace(scene, span=span))
    return None


_SIGNS = {
    "=<": "<=", "=>": ">=", "=!": "!=", "!==": "!=", "===": "=", "&": "AND", "|": "OR",
    "!": "NOT", ":=": "=", "~=": "!=",
}  # fmt: skip


_TYPE = r"(?:[^\W\d]\w*(?:-\w+)*|`[^`]+`)"
_TYPES = re.compile(rf"({_TYPE}(?:\s*\|\|?\s*{_TYPE})+)\)?(\s*[+*?])?")


def _joined_types(scene: Scene) -> Diagnostic | None:
    """`B|C b`: types joined as in regular expressions."""
    if not scene.found.startswith("|") or not scene.before or not in_pattern(scene):
        return None
    begin = token_span(scene.before[-1]).start
    joined = _TYPES.match(scene.source.text, begin)
    if joined is None:
        return None
    names = ", ".join(re.split(r"\s*\|+\s*", joined[1]))
    return scene.error(
        "unexpected",
        "types are not joined by  |",
        f"write  ANY({names}){(joined[2] or '').strip()}  for an event of any of these types",
        span=Span(begin, begin + len(joined[1])),
    )


def _mistyped_sign(scene: Scene) -> Diagnostic | None:
    """An operator of another language: `=<`, `&`, `===`."""
    place, text = scene.span.start, scene.source.text
    for start in (place, place - 1, place - 2):
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
    comparisons = ("COMPARISON", "EQUALS", "AT_LEAST", "MORE_THAN")
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
    """A clause that is repeated, or after a later clause."""
    # `WITHIN 5 WHERE …`: the word parses as a unit, and the parser stops after it.
    last = scene.before[-1:]
    candidates = [(scene.found, scene.span), *((str(t), token_span(t)) for t in last)]
    clauses = ((_clause_meant(found, scene), span) for found, span in candidates)
    word, place = next((pair for pair in clauses if pair[0]), (None, scene.span))
    if word is None or scene.entry != "script":
        return None
    statement = _current_statement(scene.before, place)
    earlier = [clause for token in statement if (clause := _clause(token)) is not None]
    if word in earlier:
        hint = {
            "EVENT": "put a  ;  between two queries",
            "WHERE": "join the conditions with AND",
            "HAVING": "join the conditions with AND",
        }.get(word, "leave one of them out")
        return scene.error("repeated-clause", f"this query has a second {word}", hint, span=place)
    later = [clause for clause in earlier if CLAUSES.index(clause) > CLAUSES.index(word)]
    if not later:
        return None
    spelled = scene.source.text[place.start : place.end]
    mistyped = "" if _clause(spelled) else f"`{spelled}` looks like {word}, and "
    return scene.error(
        "clause-order",
        f"{mistyped}{word} comes too late: it belongs before {later[0]}",
        "the order is  " + " … ".join(CLAUSES),
        span=place,
    )


def _clause(word: str) -> str | None:
    upper = word.upper()
    upper = "EVENT" if upper == "PATTERN" else upper
    return upper if upper in CLAUSES else None


def _clause_meant(word: str, scene: Scene) -> str | None:
    """The clause that a word begins, or resembles, where it is not allowed."""
    if not word.isidentifier() or word.lower() in UNITS:
        return None
    resembled = _clause(word) or nearest(word, CLAUSES)
    return resembled if f"_{resembled}" not in scene.accepted else None


def _current_statement(tokens: list[Token], place: Span) -> list[Token]:
    """The tokens of the statement before a place, except in brackets or after a dot."""
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


def _no_event_clause(scene: Scene) -> Diagnostic | None:
    """A text that begins with the pattern or a condition, without EVENT."""
    known = (*CLAUSES, "PATTERN", "CREATE")
    if scene.entry != "script" or scene.before or nearest(scene.found, known) is not None:
        return None
    return scene.error(
        "no-event-clause",
        f"a query begins with EVENT, and this one with {scene.shown}",
        "EVENT SEQ(A x, B y) WHERE x.id = y.id WITHIN 1 hour",
    )


_BEFORE_OPERAND = frozenset(["WHERE", "HAVING", "AND", "OR", "NOT", "EVENT", "PATTERN", "RETURN"])
_NO_OPERAND = RESERVED - {"any", "not", "true", "false", "null"}


def _keyword_as_name(scene: Scene) -> Diagnostic | None:
    """`WHERE AND …`, `EVENT WHERE …`: a keyword that parses as a name, since only a name fits."""
    tokens = scene.before[-5:]
    for before, previous, token in zip(["", *tokens], tokens, tokens[1:], strict=False):
        if before in (".", ":"):
            continue  # a field may have any name
        if previous.upper() in _BEFORE_OPERAND and token.lower() in _NO_OPERAND:
            return scene.error(
                "unexpected",
                f"`{token}` cannot stand directly after {previous.upper()}",
                "put in the missing part between them; as a name it needs backquotes",
                span=token_span(token),
            )
    return None


def _reserved_variable(scene: Scene) -> Diagnostic | None:
    """`SEQ(A within, B y)`: a keyword in the place of a variable."""
    in_brackets = open_bracket(scene.before) is not None
    if scene.found.lower() not in RESERVED or not in_brackets or "QMARK" not in scene.accepted:
        return None
    place, text = scene.span, scene.source.text
    if not re.match(r"\s*[,)\[]", text[place.end :]):
        return None
    return scene.error(
        "unexpected",
        f"`{scene.found}` is a keyword here",
        f"as a variable it needs backquotes:  `{scene.found}`",
    )


def _series_without_quantifier(scene: Scene) -> Diagnostic | None:
    """`A a[]` in place of `A+ a[]`."""
    if scene.found != "[" or len(scene.before) < 2 or not in_pattern(scene):
        return None
    *_, test, variable = scene.before
    return scene.error(
        "series-without-quantifier",
        f"`{variable}[]` names a series of events, and this component takes one event",
        f"write  {test}+ {variable}[]  for one or more, or leave out the  []",
    )


# Tried in this order; the first match is reported.
SHAPES: tuple[Callable[[Scene], Diagnostic | None], ...] = (
    _nothing_here,
    _never_closed,
    _ran_on,
    foreign_phrase,
    *HABITS,
    _no_event_clause,
    _reserved_variable,
    _joined_types,
    _mistyped_sign,  # before repairs, which would delete a character of `=<`
    _clause_out_of_place,
    _not_a_unit,
    _keyword_as_name,
    _chained_comparison,
    _series_without_quantifier,
)


# ---------------------------------------------------------------- syntax errors

# The parser stops at the first token that does not fit. `explain` first looks for mistakes of known
# shapes (an open quote, `=<`, clauses in the wrong order). Then it tries small repairs: a keyword
# for a similar word, a comma or bracket added or removed; it suggests the one with which the text
# parses furthest. If none helps, it lists the expected continuations.


def explain(problem: UnexpectedInput, source: Source, start: str) -> QuerySyntaxError:
    """The error for a text that does not parse."""
    scene = Scene.of(problem, source, start)
    for diagnose in (*SHAPES, repaired):
        diagnostic = diagnose(scene)
        if diagnostic is not None:
            return QuerySyntaxError([diagnostic])
    return QuerySyntaxError([unexpected(scene)])
