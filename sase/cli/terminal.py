"""Colours, where the terminal shows them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TextIO

from sase.errors import Diagnostic


def wants_colour(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether to write colours to this stream: NO_COLOR, then FORCE_COLOR, then what it is.

    An empty variable counts as absent, as no-color.org and force-color.org ask.
    """
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return environment.get("TERM") != "dumb" and stream.isatty()


def print_diagnostics(
    diagnostics: Iterable[Diagnostic], stream: TextIO, *, end: str = "\n"
) -> None:
    """Diagnostics one after the other, in colours where they are wanted."""
    colour = wants_colour(stream)
    for diagnostic in diagnostics:
        print(painted(diagnostic) if colour else diagnostic, end=end, file=stream)


RED, YELLOW, CYAN, BOLD, RESET = "\x1b[31m", "\x1b[33m", "\x1b[36m", "\x1b[1m", "\x1b[0m"


def painted(diagnostic: Diagnostic) -> str:
    """A diagnostic with its head, its carets and its hints in colours."""
    tone = RED if diagnostic.severity == "error" else YELLOW
    head, place, line, carets, *hints = str(diagnostic).split("\n")
    label, _, message = head.partition(": ")
    gutter, bar, marks = carets.partition("|")
    return "\n".join(
        [
            f"{BOLD}{tone}{label}{RESET}{BOLD}: {message}{RESET}",
            place,
            line,
            f"{gutter}{bar}{tone}{marks}{RESET}",
            *(f"{CYAN}{hint}{RESET}" for hint in hints),
        ]
    )
