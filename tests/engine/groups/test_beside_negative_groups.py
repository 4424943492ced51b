"""Repeated groups beside negative ones: the engine finds what the naive matcher does."""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests.engine.groups.beside import draw
from tests.engine.groups.comparing import compared
from tests.seeds import draw_numbers

PARTS = 4
NUMBERS = draw_numbers(settings().max_examples * 4)


@pytest.mark.slow
@pytest.mark.random
@pytest.mark.parametrize("part", range(PARTS))
def test_the_engine_is_the_naive_matcher(part: int) -> None:
    for number in NUMBERS[part::PARTS]:
        fault = compared(number, draw)
        assert fault is None, fault
