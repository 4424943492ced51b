"""Every plan, in every way of running it, finds the matches of the naive matcher in its order.

The number of examples depends on the Hypothesis profile.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from tests.drawing.hunt import FORMS
from tests.drawing.parts import EACH
from tests.seeds import draw_numbers

# Half as many where examples are the same in every run.
ONE = settings().max_examples // (2 if settings().derandomize else 1)
MARKS = {
    "scripts": pytest.mark.heavy,
    **{name: pytest.mark.slow for name in EACH if "groups" in name or "imprecise" in name},
}


def parts() -> Iterator[Any]:
    for name, (_, _, count) in EACH.items():
        for part in range(count):
            yield pytest.param(
                name, part, marks=[MARKS[name]] if name in MARKS else [], id=f"{name}-{part}"
            )


@pytest.mark.random
@pytest.mark.parametrize(("name", "part"), [*parts()])
def test_the_engine_is_the_naive_matcher(name: str, part: int) -> None:
    form, asked, count = EACH[name]
    for number in draw_numbers(ONE * count)[part::count]:
        fault = FORMS[form](number, asked).fault
        assert fault is None, fault
