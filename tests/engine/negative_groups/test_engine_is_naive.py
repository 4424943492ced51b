"""Negative groups: every plan, by every way of running it, finds what the naive matcher does.

The number of examples goes with the Hypothesis profile.
"""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests.engine.negative_groups.hunt import case
from tests.engine.series.hunt import fault, told
from tests.seeds import draw_numbers

PARTS = 4
NUMBERS = draw_numbers(settings().max_examples * 2)


@pytest.mark.random
@pytest.mark.parametrize("part", range(PARTS))
def test_the_engine_is_the_naive_matcher(part: int) -> None:
    for number in NUMBERS[part::PARTS]:
        example, way = case(number)
        assert fault(example, way) is None, told(number, example, way)
