"""Messages about kernels, on standard error."""

from __future__ import annotations

import sys
from functools import cache

from sase.printable import printable


def say(line: str) -> None:
    """Tell on standard error what is done with kernels."""
    if sys.stderr is None:  # where `print` would write it to standard output
        return
    print(f"sase: {printable(line)}", file=sys.stderr)


@cache
def say_once(line: str) -> None:
    """Tell it the first time."""
    say(line)
