"""What a query would find without a part, or if no single one helps without a few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sase.binding import BoundQuery
from sase.diagnostics.why_not.budget import Count
from sase.diagnostics.why_not.candidates import Candidates, are_barred
from sase.diagnostics.why_not.query_parts import STRATEGIES, Kind, Part, looser, without
from sase.diagnostics.why_not.search import Search


@dataclass(frozen=True)
class Without:
    """Parts, and the matches that there would be without them.

    Where another strategy is `instead` of that of the query, its name.
    """

    parts: tuple[Part, ...]
    matches: Count
    instead: str = ""

    def __str__(self) -> str:
        text = " and ".join(part.text for part in self.parts)
        return f"{self.instead} instead of {text}" if self.instead else text


def each_left_out(
    query: BoundQuery, parts: Sequence[Part], candidates: Sequence[Candidates], search: Search
) -> tuple[Without, ...]:
    """The query without each part in turn, searched for where a match is possible at all."""
    found = []
    for part in parts:
        instead = ""
        if part.kind is Kind.STRATEGY:
            instead = STRATEGIES[part.number].value
            found += [
                Without((each,), _one(query, each, candidates, search), name)
                for name, each in looser(query)
            ]
        found.append(Without((part,), _one(query, part, candidates, search), instead))
    return tuple(found)


def _one(query: BoundQuery, part: Part, candidates: Sequence[Candidates], search: Search) -> Count:
    if are_barred(candidates, part):
        return Count(0)
    return search.count(without(query, [part])).matches


# What is put back first is least likely to be blamed: a mistake is most often in a constant.
_TRUSTED = (
    Kind.NEGATION, Kind.MOST, Kind.RELATION, Kind.TEST, Kind.LEAST, Kind.WINDOW, Kind.HAVING,
    Kind.STRATEGY, Kind.OWN, Kind.CONSTANT,
)  # fmt: skip


def fewest_left_out(query: BoundQuery, parts: Sequence[Part], search: Search) -> Without | None:
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
    return Without(blamed, search.count(without(query, blamed)).matches)
