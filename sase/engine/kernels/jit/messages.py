"""Messages about kernels, on standard error."""

from __future__ import annotations

import sys
from functools import cache

from sase.printable import printable


def say(line: str) -> None:
    """Print a line about kernels on standard error."""
    if sys.stderr is None:  # `print` would write to standard output then
        return
    print(f"sase: {printable(line)}", file=sys.stderr)


@cache
def say_once(line: str) -> None:
    """Print a line the first time only."""
    say(line)
