"""Series and strategies: every plan, by every way of running it, finds what the naive matcher does.

The number of examples goes with the Hypothesis profile.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from tests.engine.matching.examples import Example
from tests.engine.matching.examples import examples as level_1_examples
from tests.engine.matching.ways import Way, check, push
from tests.engine.matching.ways import run as run_level_1
from tests.engine.series.hunt import fault, told
from tests.engine.series.routes import as_runs, case, is_there
from tests.seeds import draw_numbers

pytestmark = pytest.mark.skipif(not is_there(), reason="the engine cannot run level 2 yet")
ONE = settings().max_examples
PARTS = 10
NUMBERS = draw_numbers(ONE * 10)
SOME = settings(max_examples=ONE, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.random
@pytest.mark.parametrize("part", range(PARTS))
def test_the_engine_is_the_naive_matcher(part: int) -> None:
    for number in NUMBERS[part::PARTS]:
        example, way = case(number)
        assert fault(example, way) is None, told(number, example, way)


@SOME
@given(level_1_examples(), as_runs)
def test_level_1_is_a_case_of_runs(example: Example, way: Way) -> None:
    is_push = way.is_push(example)
    example = example.sorted if is_push else example
    expected = example.expected
    check(example, expected, push(example, way, expected) if is_push else run_level_1(example, way))
