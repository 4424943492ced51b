"""What a query would find without a part, without a few of them, or with shorter series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sase.diagnostics.why_not.budget import Count
from sase.diagnostics.why_not.candidates import ComponentCandidates, are_barred
from sase.diagnostics.why_not.query_parts import PartKind, QueryPart, looser, without
from sase.diagnostics.why_not.search import RelaxedSearch
from sase.lang.ast import STRATEGIES


@dataclass(frozen=True)
class Ablation:
    """Parts, and the matches without them; `instead` names the strategy that replaces that part."""

    parts: tuple[QueryPart, ...]
    matches: Count
    instead: str = ""

    def __str__(self) -> str:
        text = " and ".join(part.text for part in self.parts)
        return f"{self.instead} instead of {text}" if self.instead else text


def each_left_out(
    candidates: Sequence[ComponentCandidates], search: RelaxedSearch
) -> tuple[Ablation, ...]:
    """Search the query without each part in turn, where a match is possible at all."""
    found = []
    for part in search.parts:
        forms = [("", part)]
        if part.kind is PartKind.STRATEGY:
            forms = [*looser(search.query), (STRATEGIES[part.number].value, part)]
        for instead, each in forms:
            matches = Count(0)
            if not are_barred(candidates, each):
                matches = search.count(without(search.query, [each])).matches
            found.append(Ablation((each,), matches, instead))
    return tuple(found)


# What is put back first is least likely to be blamed: a mistake is most often in a constant.
_TRUSTED = (
    PartKind.NEGATION, PartKind.MOST, PartKind.RELATION, PartKind.TEST, PartKind.LEAST,
    PartKind.WINDOW, PartKind.CONFIDENCE, PartKind.HAVING, PartKind.STRATEGY, PartKind.OWN,
    PartKind.CONSTANT,
)  # fmt: skip


def fewest_left_out(search: RelaxedSearch) -> Ablation | None:
    """Find greedily parts without which there are matches, and none of which can be spared.

    None if there is no match even without any part, or that is not known in time.
    """
    query, parts = search.query, search.parts
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


def longest_of(matches: Count, search: RelaxedSearch) -> tuple[tuple[str, int], ...]:
    """Find by variable the longest series in what would be a match but for its least numbers."""
    short = [each.number for each in search.parts if each.kind is PartKind.LEAST]
    lengths = [(index, greatest_least(index, search)) for index in short if matches.is_none]
    components = search.query.components
    return tuple((components[index].variable, length) for index, length in lengths if length)


def greatest_least(index: int, search: RelaxedSearch) -> int | None:
    """Find the greatest minimum that leaves a match by bisection; None where that is unknown."""
    query, component = search.query, search.query.components[index]
    low, high = 0, component.minimum
    while high - low > 1:
        middle = (low + high) // 2
        shorter = list(query.components)
        shorter[index] = replace(component, minimum=middle)
        has = search.has(replace(query, components=tuple(shorter)))
        if has is None:
            return None
        low, high = (middle, high) if has else (low, middle)
    return low
