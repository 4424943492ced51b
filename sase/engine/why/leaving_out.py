"""What a query would find without a part, or if no single one helps without a few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sase.binding import BoundQuery
from sase.engine.why.budget import Count
from sase.engine.why.candidates import Candidates, are_barred
from sase.engine.why.parts import Kind, Part, without
from sase.engine.why.searching import Search


@dataclass(frozen=True)
class Without:
    """Parts, and the matches that there would be without them."""

    parts: tuple[Part, ...]
    matches: Count


def each_left_out(
    query: BoundQuery, parts: Sequence[Part], candidates: Sequence[Candidates], search: Search
) -> tuple[Without, ...]:
    """The query without each part in turn, searched for where a match is possible at all."""
    return tuple(
        Without(
            (part,),
            Count(0)
            if are_barred(candidates, part)
            else search.count(without(query, [part])).matches,
        )
        for part in parts
    )


# What is put back first is least likely to be blamed: a mistake is most often in a constant.
_TRUSTED = (
    Kind.NEGATION, Kind.RELATION, Kind.TEST, Kind.WINDOW, Kind.HAVING, Kind.OWN, Kind.CONSTANT,
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
