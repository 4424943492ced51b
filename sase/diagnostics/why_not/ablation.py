"""What a query would find without a part, without a few of them, or with shorter series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sase.binding import BoundQuery
from sase.diagnostics.why_not.budget import Count
from sase.diagnostics.why_not.candidates import ComponentCandidates, are_barred
from sase.diagnostics.why_not.query_parts import STRATEGIES, PartKind, QueryPart, looser, without
from sase.diagnostics.why_not.search import RelaxedSearch


@dataclass(frozen=True)
class Ablation:
    """Parts, and the matches that there would be without them.

    Where another strategy is `instead` of that of the query, its name.
    """

    parts: tuple[QueryPart, ...]
    matches: Count
    instead: str = ""

    def __str__(self) -> str:
        text = " and ".join(part.text for part in self.parts)
        return f"{self.instead} instead of {text}" if self.instead else text


def each_left_out(
    query: BoundQuery,
    parts: Sequence[QueryPart],
    candidates: Sequence[ComponentCandidates],
    search: RelaxedSearch,
) -> tuple[Ablation, ...]:
    """The query without each part in turn, searched for where a match is possible at all."""
    found = []
    for part in parts:
        instead = ""
        if part.kind is PartKind.STRATEGY:
            instead = STRATEGIES[part.number].value
            found += [
                Ablation((each,), _one(query, each, candidates, search), name)
                for name, each in looser(query)
            ]
        found.append(Ablation((part,), _one(query, part, candidates, search), instead))
    return tuple(found)


def _one(
    query: BoundQuery,
    part: QueryPart,
    candidates: Sequence[ComponentCandidates],
    search: RelaxedSearch,
) -> Count:
    if are_barred(candidates, part):
        return Count(0)
    return search.count(without(query, [part])).matches


# What is put back first is least likely to be blamed: a mistake is most often in a constant.
_TRUSTED = (
    PartKind.NEGATION, PartKind.MOST, PartKind.RELATION, PartKind.TEST, PartKind.LEAST,
    PartKind.WINDOW, PartKind.HAVING, PartKind.STRATEGY, PartKind.OWN, PartKind.CONSTANT,
)  # fmt: skip


def fewest_left_out(
    query: BoundQuery, parts: Sequence[QueryPart], search: RelaxedSearch
) -> Ablation | None:
    """Parts without which there are matches, of which none can be spared; found greedily.

    Every part is left out, and each put back if there are matches all the same. None if there is
    no match even without any, or that did not come out in time.
    """
    left_out = sorted(parts, key=lambda part: _TRUSTED.index(part.kind))
    if not search.has(without(query, left_out)):
        return None
    for part in tuple(left_out):
        fewer = [each for each in left_out if each != part]
        if search.has(without(query, fewer)):
            left_out = fewer
    blamed = tuple(part for part in parts if part in left_out)
    return Ablation(blamed, search.count(without(query, blamed)).matches)


# ---------------------------------------------------------------- series that are too short


def longest_of(
    query: BoundQuery, parts: Sequence[QueryPart], matches: Count, search: RelaxedSearch
) -> tuple[tuple[str, int], ...]:
    """By variable the events of the longest series in what would else be a match.

    Only where there is no match, and of components that must bind several; none where that did not
    come out.
    """
    if not matches.is_none:
        return ()
    found = []
    for part in parts:
        if part.kind is PartKind.LEAST:
            length = _longest(query, part.number, search)
            if length:
                (of,) = (each for each in query.components if each.index == part.number)
                found.append((of.variable, length))
    return tuple(found)


def _longest(query: BoundQuery, index: int, search: RelaxedSearch) -> int | None:
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
