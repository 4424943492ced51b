"""Try small edits of a text that does not parse; the best edit identifies the mistake."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from lark import Token
from lark.exceptions import UnexpectedInput

from sase.base.texts import nearest
from sase.errors import Diagnostic
from sase.lang.scene import (
    KEYWORDS,
    LONGEST_STUDIED,
    PAIRS,
    STRATEGY_WORDS,
    Scene,
    in_pattern,
    open_bracket,
    stopped_at,
    token_span,
    unexpected,
)
from sase.lang.tables import parser
from sase.source import Span


class _Repair(NamedTuple):
    """An edit of the text, and the diagnostic if it is the best one."""

    start: int
    end: int
    text: str
    diagnose: Callable[[Scene], Diagnostic]


def repaired(scene: Scene) -> Diagnostic | None:
    """Find the small edit with which the text parses furthest."""
    text = scene.source.text
    if len(text) > LONGEST_STUDIED:
        return None
    best: tuple[int, _Repair] | None = None
    for repair in _repairs(scene):
        edited = text[: repair.start] + repair.text + text[repair.end :]
        shift = len(edited) - len(text)
        reached = _parses_up_to(edited, scene.entry)
        # Parsing to the end is best; otherwise the edit must pass the error.
        gained = reached - shift if reached <= len(edited) else len(text) + 1
        if gained > scene.span.end and (best is None or gained > best[0]):
            best = gained, repair
    return best[1].diagnose(scene) if best else None


def _parses_up_to(text: str, entry: str) -> int:
    try:
        parser().parse(text, start=entry)
    except UnexpectedInput as problem:
        return stopped_at(problem, text)
    return len(text) + 1


def _repairs(scene: Scene) -> Iterator[_Repair]:
    yield from _keyword_repairs(scene)
    yield from _closing_repairs(scene)
    place, end = scene.span.start, _end_of(scene.before)
    if "COMMA" in scene.accepted:
        yield _Repair(end, end, ", ", _missing_comma)
    if "_AND" in scene.accepted:
        yield _Repair(place, place, " AND ", missing_and)
    if scene.found:
        yield _Repair(place, scene.span.end, "", _superfluous)
    if scene.before and scene.before[-1] == ",":
        yield _Repair(end - 1, end, " ", _superfluous_comma)


def _end_of(tokens: list[Token]) -> int:
    return (tokens[-1].end_pos or 0) if tokens else 0


def _keyword_repairs(scene: Scene) -> Iterator[_Repair]:
    """Replace the word at the error, or one of the two before, by a similar keyword."""
    words = [(scene.span, scene.found)]
    words += [(token_span(token), str(token)) for token in reversed(scene.before[-2:])]
    if scene.found == "{" or not scene.found:
        # A misspelled strategy parses as a function or an attribute up to its brace.
        words += [
            (token_span(token), str(token))
            for where, token in pairwise(scene.before)
            if where.type == "_WHERE"
        ]
    for span, word in words:
        if not word.isidentifier() or word.upper() in EVERY_KEYWORD:
            continue
        for keywords in KEYWORDS.values():
            keyword = nearest(word, keywords)
            if keyword is not None:
                yield _Repair(*span, keyword, partial(misspelled, span, word, keyword))


EVERY_KEYWORD = frozenset(word.upper() for words in KEYWORDS.values() for word in words)


def misspelled(span: Span, word: str, keyword: str, scene: Scene) -> Diagnostic:
    """The diagnostic of a word that resembles a keyword."""
    is_strategy = keyword in STRATEGY_WORDS
    code = "unknown-strategy" if is_strategy else "misspelled-keyword"
    kind = "a strategy" if is_strategy else "understood here"
    return scene.error(code, f"`{word}` is not {kind}", f"did you mean {keyword}?", span=span)


def _closing_repairs(scene: Scene) -> Iterator[_Repair]:
    opener = open_bracket(scene.before)
    if opener is not None:
        end = _end_of(scene.before)
        closing = PAIRS[opener]
        diagnose = partial(_unclosed, opener, closing)
        if scene.found in (")", "]", "}"):
            yield _Repair(*scene.span, closing, diagnose)
        yield _Repair(end, end, closing, diagnose)


def _unclosed(opener: Token, closing: str, scene: Scene) -> Diagnostic:
    hint = f"put in the missing  {closing}"
    if in_pattern(scene) and scene.found.upper() in ("OR", "∪"):
        hint = "a choice in a sequence has brackets of its own, such as  SEQ(A a, (B b OR C c))"
    return scene.error(
        "unclosed-bracket",
        f"this `{opener}` is not closed before {scene.shown}",
        hint,
        span=token_span(opener),
    )


def _missing_comma(scene: Scene) -> Diagnostic:
    return scene.error(
        "missing-comma",
        f"a comma is missing before {scene.shown}",
        "components, columns and values in a list are separated by commas",
    )


def missing_and(scene: Scene) -> Diagnostic:
    """The diagnostic of two adjacent conditions."""
    return scene.error(
        "missing-operator",
        f"two conditions stand side by side: nothing joins the first to {scene.shown}",
        "join them with AND or OR",
    )


def _superfluous(scene: Scene) -> Diagnostic:
    if scene.found in (")", "]", "}"):
        return scene.error("unopened-bracket", f"this {scene.shown} closes nothing", "leave it out")
    return unexpected(scene)


def _superfluous_comma(scene: Scene) -> Diagnostic:
    comma = scene.before[-1]
    return scene.error(
        "superfluous-comma",
        f"nothing follows this comma before {scene.shown}",
        "leave the comma out, or add the missing part after it",
        span=token_span(comma),
    )
