"""The plans that costs take for fused are those that the fused scan takes."""

from __future__ import annotations

from hypothesis import assume, given, settings

import sase
from sase.engine.pipeline.fused.choose import physical_plan
from sase.planning.fused import is_fused
from tests.engine.matching.examples import Example, examples

ONE = settings().max_examples
fused = [0]
# What costs do not know, as they are of plans and statistics alone.
OF_SCHEMAS = "some types do not declare "


@settings(max_examples=min(ONE, 200))
@given(examples())
def test_costs_know_which_plans_are_fused(example: Example) -> None:
    for recipe in ("basic", "pais", "optimized"):
        try:
            plan = sase.compile(example.query.text, example.table, plan=recipe, **example.keywords)
        except sase.QueryError:
            assume(False)
        scan, *_ = physical_plan(plan.engine)
        if (scan.declined or "").startswith(OF_SCHEMAS):
            continue
        assert is_fused(plan.engine.operators) == (scan.declined is None), scan.declined
        fused[0] += scan.declined is None


def test_the_examples_have_some() -> None:
    if not fused[0]:
        test_costs_know_which_plans_are_fused()
    assert fused[0]


def test_a_condition_on_an_absent_event_is_asked_by_the_scan() -> None:
    rows = [{"ts": 1, "type": "A", "id": 0}]
    for condition, is_expected in (("y.id = 0 AND [id]", False), ("[id]", True)):
        plan = sase.compile(f"EVENT SEQ(!(A y), A a, A b) WHERE {condition} WITHIN 5", rows)
        assert is_fused(plan.engine.operators) is is_expected
        assert (physical_plan(plan.engine)[0].declined is None) is is_expected
