"""Explain why a text does not parse, so that the message is enough to correct it.

The parser stops at the first token that does not fit. `explain` first looks for mistakes of known
shapes (an open quote, `=<`, clauses in the wrong order). Then it tries small repairs: a keyword for
a similar word, a comma or bracket added or removed; it suggests the one with which the text parses
furthest. If none helps, it lists what is expected.
"""

from __future__ import annotations

from lark.exceptions import UnexpectedInput

from sase.errors import QuerySyntaxError
from sase.lang.mistakes import SHAPES
from sase.lang.repairs import repaired
from sase.lang.scene import Scene, unexpected
from sase.source import Source


def explain(problem: UnexpectedInput, source: Source, start: str) -> QuerySyntaxError:
    """The error for a text that does not parse."""
    scene = Scene.of(problem, source, start)
    for diagnose in (*SHAPES, repaired):
        diagnostic = diagnose(scene)
        if diagnostic is not None:
            return QuerySyntaxError([diagnostic])
    return QuerySyntaxError([unexpected(scene)])
