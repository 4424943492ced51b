"""The plans that costs take for fused are those that the fused scan takes."""

from __future__ import annotations

from hypothesis import assume, given, settings

import sase
from sase.engine.pipeline.fused.choose import physical_plan
from sase.planning.fused import is_fused
from tests.engine.matching.examples import Example, examples

ONE = settings().max_examples
fused = [0]


@settings(max_examples=min(ONE, 200))
@given(examples())
def test_costs_know_which_plans_are_fused(example: Example) -> None:
    for recipe in ("basic", "pais", "optimized"):
        try:
            plan = sase.compile(example.query.text, example.table, plan=recipe, **example.keywords)
        except sase.QueryError:
            assume(False)
        scan, *_ = physical_plan(plan.engine)
        assert is_fused(plan.engine.operators) == (scan.declined is None), scan.declined
        fused[0] += scan.declined is None


def test_the_examples_have_some() -> None:
    if not fused[0]:
        test_costs_know_which_plans_are_fused()
    assert fused[0]
