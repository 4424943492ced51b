"""Sets and earliest_maximal: every plan, in order and out of it, finds what the naive matcher does.

The number of examples goes with the Hypothesis profile.
"""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests.engine.series.hunt import fault, told
from tests.engine.sets import late
from tests.engine.sets.hunt import case, joined_case, single_case
from tests.seeds import draw_numbers

PARTS = 3
NUMBERS = draw_numbers(settings().max_examples * 3)


@pytest.mark.random
@pytest.mark.parametrize("part", range(PARTS))
def test_the_engine_is_the_naive_matcher(part: int) -> None:
    for number in NUMBERS[part::PARTS]:
        example, way = case(number)
        assert fault(example, way) is None, told(number, example, way)


@pytest.mark.random
@pytest.mark.parametrize("part", range(PARTS))
def test_single_events_of_different_types_find_what_the_naive_matcher_does(part: int) -> None:
    for number in NUMBERS[part :: 3 * PARTS]:
        example, way = single_case(number)
        assert fault(example, way) is None, told(number, example, way)


@pytest.mark.random
@pytest.mark.parametrize("part", range(PARTS))
def test_joins_find_what_the_naive_matcher_does(part: int) -> None:
    for number in NUMBERS[part :: 3 * PARTS]:
        example, way = joined_case(number)
        assert fault(example, way) is None, told(number, example, way)


@pytest.mark.random
@pytest.mark.parametrize("part", range(PARTS))
def test_a_stream_is_the_naive_matcher_without_late_rows(part: int) -> None:
    for number in NUMBERS[part :: 3 * PARTS]:
        live = late.case(number)
        wrong = late.fault(live)
        assert wrong is None, f"{number}: {live}\n{wrong}"
