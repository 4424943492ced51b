"""Scripts find what their queries do that are run one after the other, through tables.

The number of examples goes with the Hypothesis profile.
"""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests.engine.scripts.hunt import case
from tests.engine.scripts.ways import fault
from tests.seeds import draw_numbers

NUMBERS = draw_numbers(settings().max_examples * 4)


@pytest.mark.heavy
@pytest.mark.random
def test_a_script_finds_what_its_queries_do() -> None:
    for number in NUMBERS:
        example, way = case(number)
        assert fault(example, way) is None, (number, way, example)


def test_scripts_find_something() -> None:
    """Or the test above would hold for little: by level, by mixture, and of several inputs."""
    examples = [case(number)[0] for number in range(40)]
    assert sum(each.found for each in examples) > 0.6 * sum(len(e.statements) for e in examples)
    text = " ".join(each.text for each in examples)
    for construct in (
        "FROM s",
        "SET(",
        " OR ",
        " g[]",
        "!(SEQ",
        "!",
        "+",
        "skip_till",
        "strict",
        "EVENTS",
        "LIMIT",
    ):
        assert construct in text
    assert any("FROM s1, p" in each.text or "FROM p, s1" in each.text for each in examples)
    inputs = [given for each in examples for given in each.inputs]
    assert any(isinstance(each.time, tuple) and each.rows for each in inputs)
    assert any("k = 0" in str(each.types) for each in inputs)
