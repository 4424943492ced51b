"""Messages of commands beside their results, and diagnostics in colours."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TextIO

from sase.digits import grouped
from sase.errors import BudgetWarning, Diagnostic, ReplayWarning, StatementWarning
from sase.printable import printable_lines, printable_message


def notify(lines: Sequence[str]) -> None:
    """Tell the user beside the results."""
    for line in lines:
        print(f"sase: {printable_message(line)}", file=sys.stderr)


def notify_warnings(found: Iterable[str]) -> None:
    """Warn the user."""
    notify([f"warning: {warning}" for warning in found])


@contextmanager
def warnings_as_messages() -> Iterator[None]:
    """Tell of what a run warns of as of everything else, without a place in code."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", BudgetWarning)
        warnings.simplefilter("always", ReplayWarning)
        warnings.simplefilter("always", StatementWarning)
        warnings.showwarning = lambda message, *rest, **more: notify([f"warning: {message}"])
        yield


def print_text(text: str) -> None:
    """Print the text of queries, on a terminal without what would command it."""
    print(printable_lines(text) if sys.stdout.isatty() else text, end="")


def counted(number: int, thing: str) -> str:
    """A number of things, such as 1 row or 1,000 matches."""
    ending = "" if number == 1 else "es" if thing.endswith("ch") else "s"
    return f"{grouped(number)} {thing}{ending}"


def notify_late(number: int) -> None:
    """Report the number of late rows, if there are some."""
    if number:
        were = "was" if number == 1 else "were"
        notify(
            [f"{counted(number, 'row')} {were} late, and in no match: allow more with --lateness"]
        )


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
