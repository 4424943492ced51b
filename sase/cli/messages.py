"""Messages of commands on standard error, beside their results."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sase.digits import grouped
from sase.errors import BudgetWarning, ReplayWarning


def notify(lines: Sequence[str]) -> None:
    """Tell the user beside the results."""
    for line in lines:
        print(f"sase: {line}", file=sys.stderr)


@contextmanager
def warnings_as_messages() -> Iterator[None]:
    """Tell of what a run warns of as of everything else, without a place in code."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", BudgetWarning)
        warnings.simplefilter("always", ReplayWarning)
        warnings.showwarning = lambda message, *rest, **more: notify([f"warning: {message}"])
        yield


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
