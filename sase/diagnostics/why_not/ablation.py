"""Count the matches of a query without a part, without several, or with shorter series."""

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
    """Parts, and the number of matches without them; `instead` is the replacing strategy."""

    parts: tuple[QueryPart, ...]
    matches: Count
    instead: str = ""

    def __str__(self) -> str:
        text = " and ".join(part.text for part in self.parts)
        return f"{self.instead} instead of {text}" if self.instead else text


def each_left_out(
    candidates: Sequence[ComponentCandidates], search: RelaxedSearch
) -> tuple[Ablation, ...]:
    """Search the query without each part in turn, if a match is possible at all."""
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


# The order in which parts are restored: the least likely mistake first. A constant is the most
# likely mistake.
_TRUSTED = (
    PartKind.NEGATION, PartKind.MOST, PartKind.RELATION, PartKind.TEST, PartKind.LEAST,
    PartKind.WINDOW, PartKind.CONFIDENCE, PartKind.HAVING, PartKind.STRATEGY, PartKind.OWN,
    PartKind.CONSTANT,
)  # fmt: skip


def fewest_left_out(search: RelaxedSearch) -> Ablation | None:
    """Find greedily a minimal set of parts without which there are matches.

    None if there is no match without any part, or time runs out.
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
    """Find by variable the longest series in a match, if only its least length is not reached."""
    short = [each.number for each in search.parts if each.kind is PartKind.LEAST]
    lengths = [(index, greatest_least(index, search)) for index in short if matches.is_none]
    components = search.query.components
    return tuple((components[index].variable, length) for index, length in lengths if length)


def greatest_least(index: int, search: RelaxedSearch) -> int | None:
    """Find by bisection the greatest minimum with a match; None if unknown."""
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
