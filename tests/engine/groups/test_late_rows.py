"""Repeated groups over rows out of order: found as in the rows that are not late, put in order."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest

import sase
from sase.errors import SaseError
from tests.engine.groups.comparing import Found, expected, found_in
from tests.engine.groups.hunt import FORMS
from tests.engine.groups.queries import Drawn
from tests.seeds import draw_numbers, tries

LATENESS = 2


def arriving(drawn: Drawn, random: Random) -> list[dict[str, Any]]:
    """The rows as they come, some of them too late."""
    return sorted(drawn.rows, key=lambda row: row["ts"] + random.choice((0, 0, 0, 2, 3, 5)))


def in_time(rows: list[dict[str, Any]]) -> list[int]:
    """The places of the rows that are not late, in order."""
    greatest, kept = -(2**63), list[int]()
    for place, row in enumerate(rows):
        if row["ts"] >= greatest - LATENESS:
            kept.append(place)
        greatest = max(greatest, row["ts"])
    return sorted(kept, key=lambda place: rows[place]["ts"])


def compared(number: int, form: str) -> str:
    """What a query is: refused, with matches or without, where rows were late or none was."""
    drawn, random = FORMS[form](number), Random(number)
    rows = arriving(drawn, random)
    kept = in_time(rows)
    try:
        wanted = expected(replace(drawn, rows=[rows[place] for place in kept]))
        given = {"types": drawn.types, "output": drawn.output}
        plan = sase.compile(drawn.text, rows, lateness=LATENESS, **given)
    except (SaseError, NotImplementedError, ValueError):
        return "refused"
    matcher, found, begin = plan.open(), Found(), 0
    while begin < len(rows):
        end = begin + random.randint(1, 4)
        found += found_in(drawn, matcher.push(rows[begin:end]))
        begin = end
    last = matcher.finish()
    found += found_in(drawn, last)
    assert found == [(_placed(events, kept), values) for events, values in wanted], drawn
    assert last.report.late == len(rows) - len(kept)
    return (
        f"{'with' if wanted else 'without'} matches, {'some' if last.report.late else 'none'} late"
    )


def _placed(events: Any, places: list[int]) -> Any:
    """The rows of a match by their places as they came."""
    if isinstance(events, tuple):
        return tuple(_placed(each, places) for each in events)
    return places[events]


@pytest.mark.random
@pytest.mark.parametrize("form", FORMS)
def test_rows_out_of_order_give_the_matches_of_those_in_time(form: str) -> None:
    seen = Counter[str]()
    for first in tries(draw_numbers(1)[0]):
        seen.update(compared(first + n, form) for n in range(8))
        if seen["with matches, some late"] >= 1 and seen["with matches, none late"] >= 1:
            break
