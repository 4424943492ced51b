"""What the engine finds in patterns with repeated groups, in the form of the naive matcher."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import sase
from sase.errors import SaseError
from sase.lang.parser import parse_query
from tests import naive
from tests.engine.groups.queries import Drawn

PLANS = ("basic", "nfab", "optimized")
WAYS = ("at once", "in pieces", "restored")

# Of each match what its variables bind, and the values of RETURN as text, in which NaN is itself.
Found = list[tuple[Any, str]]


def expected(drawn: Drawn) -> Found:
    """The matches, by the naive matcher."""
    query, output = parse_query(drawn.text), drawn.output
    found = naive.match(query, drawn.rows, types=drawn.types, output=output)
    return [(_tuples(each.events), str(dict(each.values or {}))) for each in found]


def _tuples(rows: Any) -> Any:
    return tuple(map(_tuples, rows)) if isinstance(rows, list | tuple) else rows


def matched(drawn: Drawn, plan: str, **options: Any) -> Found:
    """The matches, in one go."""
    given = {"types": drawn.types, "output": drawn.output, **options}
    return found_in(drawn, sase.match(drawn.text, drawn.rows, plan=plan, **given))


def pushed(drawn: Drawn, plan: str, cuts: Sequence[int], *, restored: bool) -> Found:
    """The matches of rows that are pushed in pieces, by a matcher that may be restored."""
    given = {"types": drawn.types, "output": drawn.output}
    whole = sase.compile(drawn.text, drawn.rows, plan=plan, **given)
    matcher, found = whole.open(), Found()
    for begin, end in zip((0, *cuts), (*cuts, len(drawn.rows)), strict=True):
        found += found_in(drawn, matcher.push(drawn.rows[begin:end]))
        if restored:
            matcher = whole.restore(matcher.snapshot())
    return found + found_in(drawn, matcher.finish())


def found_in(drawn: Drawn, matches: sase.Matches) -> Found:
    """The matches in the form of the naive matcher."""
    rows = matches.rows.to_pylist()
    values: list[dict[str, Any]] = matches.to_pylist() if drawn.returned else [{}] * len(rows)
    names = ("ts_start", "ts_end", "detected_at")
    kept = [{name: v for name, v in each.items() if name not in names} for each in values]
    events = [tuple(map(_bound, row.values())) for row in rows]
    return list(zip(events, map(str, kept), strict=True))


def _bound(column: Any) -> Any:
    """What a variable binds: events, or iterations of what the variables inside do."""
    if not isinstance(column, list):
        return () if column is None else (column,)
    if any(isinstance(each, dict) for each in column):
        return tuple(tuple(map(_bound, each.values())) for each in column)
    return tuple(column)


@dataclass(frozen=True)
class Comparison:
    """What the engine finds for a query, by a plan and a way of running it, and what it should."""

    number: int
    drawn: Drawn
    plan: str
    way: str
    found: Found
    wanted: Found

    @property
    def fault(self) -> str | None:
        """What differs."""
        if self.found == self.wanted:
            return None
        drawn = self.drawn
        given = f"{drawn.text}\n{drawn.types}\n{drawn.rows}"
        return f"{self.number} {self.plan} {self.way}: {given}\n{self.found}\n{self.wanted}"


def run(number: int, draw: Callable[[int], Drawn]) -> Comparison | None:
    """The query of a number by one way of running it; None for one that is refused."""
    drawn, random = draw(number), Random(number)
    plan, way = PLANS[number % 3], WAYS[number // 3 % 3]
    try:
        if way == "at once":
            found = matched(drawn, plan)
        else:
            size = len(drawn.rows)
            cuts = sorted(random.sample(range(size + 1), min(size, random.randrange(1, 4))))
            found = pushed(drawn, plan, cuts, restored=way == "restored")
    except SaseError:
        return None
    try:
        wanted = expected(drawn)
    except (NotImplementedError, ValueError):
        return None
    return Comparison(number, drawn, plan, way, found, wanted)


def compared(number: int, draw: Callable[[int], Drawn]) -> str | None:
    """What differs for the query of a number."""
    comparison = run(number, draw)
    return comparison and comparison.fault
