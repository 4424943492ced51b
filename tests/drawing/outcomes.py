"""The outcome of a query that is tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

REFUSED, FOUND, NOTHING = "refused", "with matches", "without matches"


class Outcome(NamedTuple):
    """Whether a query was refused, or found something; and the fault, if there is one."""

    kind: str
    fault: str | None = None


# Runs the query of a number in one of the named ways, and returns the outcome.
Tried: TypeAlias = Callable[[int, Sequence[str]], Outcome]
