"""Negative groups in iterations of repeated ones: the engine finds what the naive matcher does."""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests.engine.groups.comparing import compared
from tests.engine.groups.inside import draw
from tests.seeds import draw_numbers


@pytest.mark.slow
@pytest.mark.random
def test_the_engine_is_the_naive_matcher() -> None:
    for number in draw_numbers(settings().max_examples * 2):
        fault = compared(number, draw)
        assert fault is None, fault
