"""Why a strategy lacks a match, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from sase.lang.ast import StrategyName

# The most rows in a sentence.
LISTED = 5


@dataclass(frozen=True, slots=True)
class ForbiddenSkip:
    """An event that must not be skipped, and the variable that could bind it, if any."""

    position: int
    variable: str | None = None
    begins: bool = False


def reasons(
    strategy: StrategyName,
    forbidden: Sequence[ForbiddenSkip],
    row_of: Callable[[int], int],
    type_of: Callable[[int], str | None],
    tests: str,
) -> tuple[str, ...]:
    """Return a sentence for each group of similar events; `row_of` takes a position."""
    found = []

    def sort(skip: ForbiddenSkip) -> tuple[str | None, bool, str | None]:
        return skip.variable, skip.begins, type_of(skip.position) if skip.variable else None

    for (variable, begins, name), group in groupby(forbidden, sort):
        some = [row_of(each.position) for each in group]
        found.append(_sentence(strategy, some, variable, begins, name, tests))
    return tuple(dict.fromkeys(found))


def _sentence(
    strategy: StrategyName,
    rows: list[int],
    variable: str | None,
    begins: bool,
    name: str | None,
    tests: str,
) -> str:
    skipped, is_one = rows_text(rows), len(rows) == 1
    match strategy:
        case StrategyName.STRICT_CONTIGUITY:
            return f"not contiguous: {skipped} {'lies' if is_one else 'lie'} between"
        case StrategyName.PARTITION_CONTIGUITY:
            partition = "which is" if is_one else "which are"
            return (
                f"skips {skipped}, {partition} of the same partition {tests}:"
                " partition contiguity does not allow it"
            )
    what = f"{_article(name)} {name}" if is_one else f"each {_article(name)} {name}"
    could = f"could begin {variable}" if begins else f"{variable} could have taken"
    return f"skips {skipped}, {what} that {could}: skip till next match must take it"


def rows_text(rows: Sequence[int]) -> str:
    """List row numbers: the first ones, and the number of others."""
    if len(rows) == 1:
        return f"row {rows[0]:,}"
    listed = [f"{each:,}" for each in rows[:LISTED]]
    rest = len(rows) - LISTED
    if rest > 0:
        return f"rows {', '.join(listed)} and {rest:,} other{'s' if rest > 1 else ''}"
    return f"rows {', '.join(listed[:-1])} and {listed[-1]}"


def _article(name: str | None) -> str:
    return "an" if (name or "")[:1].lower() in tuple("aeiou") else "a"
