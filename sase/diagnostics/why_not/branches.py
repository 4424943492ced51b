"""Explain a pattern with choices: each branch separately, and how often each matches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from sase.binding import BoundQuery
from sase.diagnostics.why_not.budget import Count
from sase.diagnostics.why_not.why_not import WhyNot

# The greatest number of branches to describe.
MOST_TOLD = 10


def of_branches(query: BoundQuery, found: Sequence[WhyNot]) -> WhyNot:
    """Combine the explanations of a query's branches."""
    first = found[0]
    matches = _matches(query.branches, found)
    warnings = [each.sentence for each in query.warnings]
    return WhyNot(
        matches,
        first.rows,
        first.looked_at,
        (),
        (),
        (),
        None,
        first.near_misses.slice(0, 0),
        (*_verdict(matches, found), *warnings),
        all(each.is_complete for each in found),
        branches=tuple(found),
    )


def _matches(branches: Sequence[BoundQuery], found: Sequence[WhyNot]) -> Count:
    """The number of matches; equal matches of two branches count once."""
    pairs = zip(branches, found, strict=True)
    matching = [(branch, why.matches) for branch, why in pairs if not why.matches.is_none]
    if any(_may_agree(one, other) for (one, _), (other, _) in combinations(matching, 2)):
        return Count(max(count.number for _, count in matching), is_exact=False)
    counts = [count for _, count in matching]
    return Count(sum(each.number for each in counts), all(each.is_exact for each in counts))


def _may_agree(one: BoundQuery, other: BoundQuery) -> bool:
    """Whether two branches can bind the same variables to the same events."""
    return _may_bind(one, other) and _may_bind(other, one)


def _may_bind(one: BoundQuery, other: BoundQuery) -> bool:
    """Whether a branch has all variables that each match of another binds."""
    own = {each.key for each in one.positives}
    return own >= {each.key for each in other.positives if each.minimum > 0}


def _verdict(matches: Count, found: Sequence[WhyNot]) -> Iterator[str]:
    numbers = list(enumerate((each.matches for each in found), 1))
    none = [number for number, count in numbers if count.is_none]
    if len(none) == len(found):
        yield f"there is no match of any of the {len(found)} branches"
        yield from _broken(found)
        return
    of_each = ", ".join(f"{count} of branch {n}" for n, count in numbers if n not in none)
    verb = "is" if str(matches) == "1" else "are"
    yield f"there {verb} {matches} {'match' if matches.number == 1 else 'matches'}: {of_each}"
    if none:
        names = f"branch {none[0]}" if len(none) == 1 else "branches " + _listed(none)
        yield f"there is none of {names}"
        yield from _broken(found)


def _broken(found: Sequence[WhyNot]) -> Iterator[str]:
    """Describe how far branches without a match get, except those that only the end stops."""
    told = 0
    for number, each in enumerate(found, 1):
        needed = [level for level in each.levels if level.candidates.component.minimum > 0]
        at = next((level for level in needed if level.partial.is_none), None)
        if at is None or not each.matches.is_none or told == MOST_TOLD:
            continue
        told += 1
        is_first = at is needed[0]
        verb = "never begins: no event can be its" if is_first else "breaks at"
        yield f"branch {number} {verb} {at.candidates.text}"


def _listed(numbers: Sequence[int]) -> str:
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
