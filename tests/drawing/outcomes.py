"""The outcome of a query that is tried, and a smaller one with the same fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

from sase.errors import QueryError

REFUSED, FOUND, NOTHING = "refused", "with matches", "without matches"


class Outcome(NamedTuple):
    """Whether a query was refused, or found something; and the fault, if there is one."""

    kind: str
    fault: str | None = None


# Runs the query of a number in one of the named ways, and returns the outcome.
Tried: TypeAlias = Callable[[int, Sequence[str]], Outcome]


Example, Way = TypeVar("Example"), TypeVar("Way")


def kind(found: str) -> str:
    """Faults of one kind begin alike."""
    return found.split(":")[0].split(" of ")[0]


def shrunk(
    example: Example,
    way: Way,
    fault: Callable[[Example, Way], str | None],
    smaller: Callable[[Example, Way], Iterator[tuple[Example, Way]]],
) -> tuple[Example, Way]:
    """With fewer events and clauses, by a plainer way, while the same kind of fault is left."""
    wanted = kind(fault(example, way) or "")
    while True:
        for case in smaller(example, way):
            if _kind_or_none(fault, *case) == wanted:
                example, way = case
                break
        else:
            return example, way


def _kind_or_none(
    fault: Callable[[Example, Way], str | None], example: Example, way: Way
) -> str | None:
    """One that lost a clause or a stream may be one that neither the binder nor the judge takes."""
    try:
        found = fault(example, way)
    except (QueryError, ValueError, NotImplementedError):
        return None
    return None if found is None else kind(found)
