"""Plans of repeated groups: parts that rewrites leave alone, expected figures, and their words."""

from __future__ import annotations

import pytest

from sase.binding import bind_text
from sase.binding.types import INTEGER, STRING
from sase.planning.cost.run_cardinality import RunCardinalities
from sase.planning.counting import CountMethod, collapsible
from sase.planning.explain.runs import algorithm_of, details_of
from sase.planning.optimizer import optimized
from sase.planning.physical.runs import choose_runs
from sase.planning.plan.basic import basic_plan
from sase.planning.plan.nodes import RunEvaluation, require, variables_of
from sase.planning.reasoning.late_types import LateTypes
from sase.planning.recipes import read_recipe, recipe_names
from sase.planning.rewrites.contract import GROUPS
from tests.planning.plans import TABLE, known

QUERY = """
EVENT SEQ(A a, (SEQ(B b, !(X x), S+ s[], C c) OR SEQ(D d, E? e))+ g[], Z z)
WHERE skip_till_next_match {
  [few] AND a.v = 3 AND b.v < c.v AND s[i].v < z.v AND x.v = b.v AND g[i-1].b.v < b.v AND g.len > 2
}
RETURN g.len AS n
"""


@pytest.mark.parametrize("name", recipe_names())
def test_no_recipe_changes_what_iterations_are_asked(name: str) -> None:
    basic = basic_plan(bind_text(QUERY, TABLE))
    made = optimized(read_recipe(name), basic)
    before, after = (require(plan, RunEvaluation) for plan in (basic, made.plan))
    assert after.components == before.components
    assert after.algorithm == ""
    asked = [edge.conjunct for edge in after.conditions] + list(after.simple)
    assert sorted(map(repr, asked)) == sorted(repr(edge.conjunct) for edge in before.conditions)


def test_rewrites_that_look_at_single_events_decline() -> None:
    steps = optimized(read_recipe("optimized"), basic_plan(bind_text(QUERY, TABLE))).steps
    applied = [each.rewrite for each in steps if each.applied]
    assert applied == ["partition_stacks", "push_simple_conditions", "prune_columns"]
    declined = {each.rewrite: each.declined for each in steps if not each.applied}
    assert declined.pop("prune_overlaps") == "matches may overlap"  # as no option left one out
    assert {*declined.values()} == {GROUPS.reason}


def test_runs_through_groups_are_no_lines() -> None:
    query = "EVENT SEQ(A a, (B b)+ g[]) WHERE skip_till_next_match"
    assert not require(basic_plan(bind_text(query)), RunEvaluation).never_forks


def test_matches_with_groups_are_counted_through_states() -> None:
    form = collapsible(basic_plan(bind_text("EVENT (SEQ(A a, B b))+ g[]")))
    assert (form.reasons, form.method) == ((), CountMethod.STATES)
    form = collapsible(basic_plan(bind_text("EVENT (SEQ(A a, B b))+ g[] LIMIT 2")))
    assert form.reasons[0] == "an iteration of a repeated group is several events"


def test_the_words_for_a_group() -> None:
    plan = optimized(read_recipe("optimized"), basic_plan(bind_text(QUERY, TABLE))).plan
    assert algorithm_of(choose_runs(plan)).endswith(
        ", partitioned on few, through iterations of groups"
    )
    assert list(details_of(choose_runs(plan), variables_of(plan))) == [
        "a: A WHERE a.v = 3",
        "g: (SEQ(b: B, !x: X, s: S+, c: C) OR SEQ(d: D, e: E?)){3,}",
        "z: Z",
        "skip_till_next_match: a run skips the events that it cannot bind next",
        "on begin z, for each iteration of branch 1 of g and each s: s[i].v < z.v",
        "in each iteration of g of branch 1, on begin c: b.v < c.v",
        "in each iteration of g of branch 1, forbids x: x.v = b.v",
        "in each iteration but the first of g of branch 1, on begin b: g[i-1].b.v < b.v",
    ]


def test_the_rarest_element_says_how_many_iterations_there_may_be() -> None:
    query = "EVENT (SEQ(B b, C+ c[], !(X x), D d) OR E e)+ g[]"
    figures = RunCardinalities(
        basic_plan(bind_text(query, TABLE)), known(B=50, C=20, D=30, E=5, X=1)
    )
    (group,) = figures.components
    assert figures.admitted(group) == pytest.approx((20 + 5) / 106)


def test_types_that_events_say_are_those_of_the_variable_inside() -> None:
    bound = bind_text("EVENT SEQ(A a, (SEQ(B b, C c))+ g[]) WHERE b.v = 3 AND g[i-1].c.v = 'x'")
    late = LateTypes(basic_plan(bound))
    columns = {("A", "v"): STRING, ("B", "v"): INTEGER, ("C", "v"): STRING}
    assert late.disagreement(columns) is None
    wrong = late.disagreement({**columns, ("C", "v"): INTEGER})
    assert wrong is not None
    assert wrong.startswith("`g[i-1].c.v` is an integer and `'x'` is a string")
