"""A variable with a `?` in some branches: the engine finds what the naive matcher does."""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests.engine.branches.optional import draw
from tests.engine.groups.comparing import compared
from tests.seeds import draw_numbers


@pytest.mark.random
def test_the_engine_is_the_naive_matcher() -> None:
    for number in draw_numbers(settings().max_examples * 4):
        fault = compared(number, draw)
        assert fault is None, fault
