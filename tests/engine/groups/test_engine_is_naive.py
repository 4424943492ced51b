"""Patterns with repeated groups: the engine finds what the naive matcher does, in its order."""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests.engine.groups.comparing import compared
from tests.engine.groups.queries import draw
from tests.seeds import draw_numbers

PARTS = 4
NUMBERS = draw_numbers(settings().max_examples * 8)


@pytest.mark.slow
@pytest.mark.random
@pytest.mark.parametrize("part", range(PARTS))
def test_the_engine_is_the_naive_matcher(part: int) -> None:
    for number in NUMBERS[part::PARTS]:
        fault = compared(number, draw)
        assert fault is None, fault
