"""How long a series gets that should be longer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sase.binding import BoundQuery
from sase.diagnostics.why_not.budget import Count
from sase.diagnostics.why_not.query_parts import Kind, Part
from sase.diagnostics.why_not.search import Search


def longest_of(
    query: BoundQuery, parts: Sequence[Part], matches: Count, search: Search
) -> tuple[tuple[str, int], ...]:
    """By variable the events of the longest series in what would else be a match.

    Only where there is no match, and of components that must bind several; none where that did not
    come out.
    """
    if not matches.is_none:
        return ()
    found = []
    for part in parts:
        if part.kind is Kind.LEAST:
            length = _longest(query, part.number, search)
            if length:
                (of,) = (each for each in query.components if each.index == part.number)
                found.append((of.variable, length))
    return tuple(found)


def _longest(query: BoundQuery, index: int, search: Search) -> int | None:
    """The greatest number of events that leaves a match; None where there is none, or unknown."""
    (component,) = (each for each in query.components if each.index == index)
    low, high = 0, component.minimum
    while high - low > 1:
        middle = (low + high) // 2
        has = search.has(_with_least(query, index, middle))
        if has is None:
            return None
        low, high = (middle, high) if has else (low, middle)
    return low


def _with_least(query: BoundQuery, index: int, least: int) -> BoundQuery:
    components = tuple(
        replace(each, minimum=least) if each.index == index else each for each in query.components
    )
    return replace(query, components=components)
