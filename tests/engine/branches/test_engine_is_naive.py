"""Patterns with choices: every plan, by every way of running it, finds what the naive matcher does.

The number of examples goes with the Hypothesis profile.
"""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests.engine.branches.hunt import case, shared_case
from tests.engine.series.hunt import fault, told
from tests.seeds import draw_numbers

PARTS = 5
NUMBERS = draw_numbers(settings().max_examples * 5)


@pytest.mark.random
@pytest.mark.parametrize("part", range(PARTS))
def test_the_engine_is_the_naive_matcher(part: int) -> None:
    for number in NUMBERS[part::PARTS]:
        example, way = case(number)
        assert fault(example, way) is None, told(number, example, way)


@pytest.mark.random
@pytest.mark.parametrize("part", range(PARTS))
def test_branches_that_share_a_scan_find_what_the_naive_matcher_does(part: int) -> None:
    for number in NUMBERS[part::PARTS]:
        example, way = shared_case(number)
        assert fault(example, way) is None, told(number, example, way)
