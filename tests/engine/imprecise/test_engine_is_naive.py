"""Imprecise time: by any route the engine finds what the naive matcher does, and as likely."""

from __future__ import annotations

import pytest
from hypothesis import settings

from tests.engine.imprecise.hunt import judged
from tests.engine.imprecise.queries import draw, draw_long, draw_precise
from tests.seeds import draw_numbers

EXAMPLES = settings().max_examples
FORMS = {"long": draw_long, "precise": draw_precise}


@pytest.mark.slow
@pytest.mark.random
def test_the_engine_is_the_naive_matcher() -> None:
    for number in draw_numbers(EXAMPLES * 4):
        judged(number, draw(number), None)


@pytest.mark.slow
@pytest.mark.random
@pytest.mark.parametrize("form", FORMS)
def test_routes_agree_bit_by_bit_and_precise_intervals_are_one_time(form: str) -> None:
    for number in draw_numbers(EXAMPLES * 2):
        judged(number, FORMS[form](number), form)
