"""Plans of sets and of earliest_maximal: untouched parts, cuts, costs, and the words."""

from __future__ import annotations

from math import inf

import pytest

from sase.binding import BoundQuery, bind_text
from sase.planning.cost.cost import cost_of
from sase.planning.cost.run_cardinality import RunCardinalities
from sase.planning.counting import CountMethod, collapsible
from sase.planning.declined import GREEDY, SETS, Declined
from sase.planning.explain.describe import split_text
from sase.planning.explain.operators import OperatorText
from sase.planning.explain.runs import algorithm_of, details_of
from sase.planning.optimizer import optimized
from sase.planning.physical.runs import choose_runs
from sase.planning.plan.basic import basic_plan
from sase.planning.plan.nodes import (
    Negation,
    RunEvaluation,
    components_of,
    require,
    variables_of,
)
from sase.planning.reasoning.run_forms import Waiting, waiting_of
from sase.planning.recipes import read_recipe, recipe_names
from sase.planning.rewrites import REWRITES
from sase.planning.serialisation import plan_from_json, plan_to_json
from sase.planning.split import split_of
from tests.planning.plans import TABLE, known

QUERY = """
EVENT SEQ(A a, !X x, SET(C c, P+ p[], D? d), B b)
WHERE earliest_maximal {
  [few] AND a.v = 3 AND c.v < p[i].v AND p[i].v > p[i-1].v AND p.len > d.v AND p[1].v < b.v
  AND x.v = p[i].v
}
WITHIN 10
"""


def bound(text: str) -> BoundQuery:
    """The query over the table of all tests of plans."""
    return bind_text(text, TABLE)


@pytest.mark.parametrize("name", recipe_names())
def test_no_recipe_changes_what_a_set_is_asked(name: str) -> None:
    basic = basic_plan(bound(QUERY))
    made = optimized(read_recipe(name), basic)
    before, after = (require(plan, RunEvaluation) for plan in (basic, made.plan))
    assert after.components == before.components
    assert after.algorithm == ""
    asked = [edge.conjunct for edge in after.conditions] + list(after.simple)
    assert sorted(map(repr, asked)) == sorted(repr(edge.conjunct) for edge in before.conditions)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (QUERY, SETS),
        ("EVENT SEQ(SET(A a, B+ b[]), C c) WHERE [few]", SETS),
        ("EVENT SEQ(A a, B+ b[]) WHERE earliest_maximal { [few] }", GREEDY),
    ],
)
def test_rewrites_that_go_by_the_order_of_components_decline(text: str, reason: Declined) -> None:
    steps = optimized(read_recipe("optimized"), basic_plan(bound(text))).steps
    by_order = {each.name for each in REWRITES.values() if each.of_runs and not each.of_sets}
    tried = {each.rewrite: each.declined for each in steps}
    assert {tried[name] for name in by_order if name in tried} == {reason.reason}
    applied = {name for name, declined in tried.items() if declined is None}
    assert "partition_stacks" in applied
    assert applied <= {"partition_stacks", "push_simple_conditions", "prune_columns"}


def test_runs_of_sets_are_no_lines() -> None:
    for text in (
        "EVENT SEQ(SET(A a, B b), C c) WHERE skip_till_next_match",
        "EVENT SEQ(A a, B b) WHERE earliest_maximal",
    ):
        assert not require(basic_plan(bound(text)), RunEvaluation).never_forks


def test_matches_of_sets_are_counted_through_states() -> None:
    form = collapsible(basic_plan(bound("EVENT SET(A a, B+ b[])")))
    assert (form.reasons, form.method) == ((), CountMethod.STATES)
    form = collapsible(basic_plan(bound("EVENT SET(A a, B+ b[]) WHERE skip_till_next_match")))
    assert form.reasons[0] == "the members of a set come in any order"


def test_the_words_for_a_set() -> None:
    plan = optimized(read_recipe("optimized"), basic_plan(bound(QUERY))).plan
    negation = require(plan, Negation)
    assert algorithm_of(choose_runs(plan)).endswith(
        "event by event, partitioned on few, through the subsets of each set (SES)"
    )
    assert list(details_of(choose_runs(plan), variables_of(plan))) == [
        "a: A WHERE a.v = 3",
        "c: C",
        "p: P+",
        "d: D?",
        "b: B",
        "in any order: c, p, d",
        "earliest_maximal: a run skips only the events that it can bind in no way",
        "on begin c or on begin and take p, at the one bound last: c.v < p[i].v",
        "on take p: p[i].v > p[i-1].v",
        "on proceed from c and p and d, for each d: count(p[]) > d[i].v",
        "on begin b: p[1].v < b.v",
    ]
    words = OperatorText.of(plan)
    assert list(words.details(negation)) == [
        "no x: X between a and SET(c, p, d) with the same few and x.v = p[i].v"
    ]


@pytest.mark.parametrize(
    ("pattern", "waiting"),
    [
        ("A a", Waiting.NONE),
        ("SEQ(A+ a[], B b)", Waiting.NONE),
        ("SEQ(A a, B+ b[])", Waiting.ALL),
        ("SEQ(A a, B* b[])", Waiting.ALL),
        ("SEQ(A a, B? b)", Waiting.SOME),
        ("SEQ(A a, B{2,3} b[])", Waiting.SOME),
        ("SEQ(A a, B{2} b[])", Waiting.NONE),
        ("SET(A+ a[], B b)", Waiting.ALL),
        ("SET(A a, B? b)", Waiting.SOME),
        ("SEQ(SET(A+ a[], B b), C c)", Waiting.NONE),
        ("SEQ(A+ a[], SET(B b, C c))", Waiting.NONE),
    ],
)
def test_which_matches_wait_for_their_window(pattern: str, waiting: Waiting) -> None:
    plan = basic_plan(bound(f"EVENT {pattern} WHERE earliest_maximal"))
    assert waiting_of(plan) is waiting
    assert waiting_of(basic_plan(bound(f"EVENT {pattern}"))) is Waiting.NONE


GROWS = "none: matches wait that may grow, and only time tells which are first"


@pytest.mark.parametrize(
    ("query", "split"),
    [
        (
            "EVENT SET(A+ a[], B b) WHERE [few] WITHIN 10",
            "by few, or by slices of time with the 10 units of time before each",
        ),
        (
            "EVENT SEQ(SET(A+ a[], B b), C c) WHERE earliest_maximal { [few] } WITHIN 10",
            "by few, or by slices of time with the 10 units of time before each",
        ),
        (
            "EVENT SET(A+ a[], B b) WHERE earliest_maximal { [few] } WITHIN 10",
            "by few, or by slices of time with the 10 units of time before and after each",
        ),
        ("EVENT SET(A+ a[], B b) WHERE earliest_maximal { [few] }", "by few"),
        ("EVENT SET(A a, B? b) WHERE earliest_maximal { [few] } WITHIN 10", GROWS),
        ("EVENT SET(A+ a[], B b) WHERE earliest_maximal { [few] } WITHIN 10 EVENTS", GROWS),
        (
            "EVENT A+ a[] WHERE earliest_maximal { [few] } WITHIN 10 EVENTS PER PARTITION",
            GROWS,
        ),
        (
            "EVENT SEQ(A a, B+ b[]) OR SEQ(A a, C c) WHERE earliest_maximal { [few] }",
            GROWS,
        ),
    ],
)
def test_how_matches_of_sets_may_be_cut(query: str, split: str) -> None:
    assert split_text(split_of(basic_plan(bound(query)))) == split


def test_a_plan_of_sets_survives_json() -> None:
    text = "EVENT SEQ(D d, C c) OR SEQ(SET(B b, A a, C+ c[]), D d) WHERE a.v < b.v AND a.v < c[i].v"
    plan = optimized(
        read_recipe("optimized"), basic_plan(bound(text.replace("C c", "C+ c[]")))
    ).plan
    restored = plan_from_json(plan_to_json(plan, TABLE)).root
    assert restored == plan
    assert [each.variable for each in components_of(restored).values()] == ["d", "c", "b", "a"]


def test_a_set_of_single_events_has_as_many_matches_as_orders() -> None:
    statistics = known(A=10, B=10, C=10, span=30)
    matches = [
        RunCardinalities(
            basic_plan(bound(f"EVENT {pattern} WITHIN 5")), statistics
        ).expected.matches
        for pattern in ("SEQ(A+ a[], B b, C c)", "SEQ(A+ a[], SET(B b, C c))")
    ]
    assert matches[1] - matches[0] == pytest.approx(0.6931, abs=1e-3)


def test_sets_have_a_cost_under_every_strategy() -> None:
    statistics = known(A=10, B=10, C=10, P=10, D=5, X=3)
    for strategy in ("skip_till_any_match", "skip_till_next_match", "earliest_maximal"):
        plan = basic_plan(bound(QUERY.replace("earliest_maximal", strategy)))
        assert 0 < cost_of(plan, statistics).nanoseconds < inf
