"""Patterns with repeated groups: the engine finds what the naive matcher does, in its order."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import settings

from sase.errors import SaseError
from tests.engine.groups.comparing import expected, matched, pushed
from tests.engine.groups.queries import draw
from tests.seeds import draw_numbers

PARTS, PLANS = 4, ("basic", "nfab", "optimized")
NUMBERS = draw_numbers(settings().max_examples * 8)


@pytest.mark.slow
@pytest.mark.random
@pytest.mark.parametrize("part", range(PARTS))
def test_the_engine_is_the_naive_matcher(part: int) -> None:
    for number in NUMBERS[part::PARTS]:
        fault = compared(number)
        assert fault is None, fault


def compared(number: int) -> str | None:
    """What differs for the query of a number, by one way of running it."""
    drawn, random = draw(number), Random(number)
    plan, way = PLANS[number % 3], number // 3 % 3
    try:
        if way == 0:
            found = matched(drawn, plan)
        else:
            size = len(drawn.rows)
            cuts = sorted(random.sample(range(size + 1), min(size, random.randrange(1, 4))))
            found = pushed(drawn, plan, cuts, restored=way == 2)
    except SaseError:
        return None
    try:
        wanted = expected(drawn)
    except (NotImplementedError, ValueError):
        return None
    if found == wanted:
        return None
    return f"{number} {plan} {way}: {drawn.text}\n{drawn.types}\n{drawn.rows}\n{found}\n{wanted}"
