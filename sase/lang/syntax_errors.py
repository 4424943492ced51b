"""Explain why a text does not parse, so that reading the message is enough to mend it.

The parser stops at the first token that fits nothing. From there `explain` first looks for the
mistakes with a shape of their own (a quote left open, `=<`, clauses in the wrong order); then it
*tries* small repairs, a keyword for the word that resembles it, a comma or a bracket put in or left
out, and proposes the one with which the text parses furthest; and if none helps it says what could
stand at the place.
"""

from __future__ import annotations

from lark.exceptions import UnexpectedInput

from sase.errors import QuerySyntaxError
from sase.lang.mistakes import SHAPES
from sase.lang.repairs import repaired
from sase.lang.scene import Scene, unexpected
from sase.source import Source


def explain(problem: UnexpectedInput, source: Source, start: str) -> QuerySyntaxError:
    """The error that says what is wrong with a text that does not parse."""
    scene = Scene.of(problem, source, start)
    for diagnose in (*SHAPES, repaired):
        diagnostic = diagnose(scene)
        if diagnostic is not None:
            return QuerySyntaxError([diagnostic])
    return QuerySyntaxError([unexpected(scene)])
