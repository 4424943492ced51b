"""Series and strategies: every plan, by every way of running it, finds what the naive matcher does.

The number of examples goes with the Hypothesis profile.
"""

from __future__ import annotations

from random import randrange

import pytest
from hypothesis import HealthCheck, given, settings

from tests.engine.matching.examples import Example
from tests.engine.matching.examples import examples as level_1_examples
from tests.engine.matching.ways import Way, check, push
from tests.engine.matching.ways import run as run_level_1
from tests.engine.series.hunt import fault, told
from tests.engine.series.routes import as_runs, case, is_there

pytestmark = pytest.mark.skipif(not is_there(), reason="the engine cannot run level 2 yet")
ONE = settings().max_examples
COUNT = ONE * (10 if ONE > 1000 else 20)
# Other examples in each run, but for those runs that shall be repeated.
FIRST = 0 if settings().derandomize else randrange(2**40)
SOME = settings(max_examples=ONE, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("part", range(10))
def test_the_engine_is_the_naive_matcher(part: int) -> None:
    size = COUNT // 10
    for number in range(FIRST + part * size, FIRST + (part + 1) * size):
        example, way = case(number)
        assert fault(example, way) is None, told(number, example, way)


@SOME
@given(level_1_examples(), as_runs)
def test_level_1_is_a_case_of_runs(example: Example, way: Way) -> None:
    is_push = way.is_push(example)
    example = example.sorted if is_push else example
    expected = example.expected
    check(example, expected, push(example, way, expected) if is_push else run_level_1(example, way))
