"""Which negative components become a range for the walk, and which stay."""

import pytest

from sase.binding import OPEN, Schema, bind_text
from sase.binding.schema_file import schema_from
from sase.planning.optimizer import optimized
from sase.planning.plan.basic import basic_plan
from sase.planning.plan.nodes import (
    Negation,
    NegativeComponent,
    Operator,
    RunEvaluation,
    SequenceConstruction,
    Window,
    find,
)
from sase.planning.recipes import read_recipe, recipe_names
from sase.planning.rewrites import REWRITES, Declined
from sase.planning.rewrites.push_negation_into_construction import push_negation_into_construction

TABLE = schema_from({"columns": dict.fromkeys(["ts", "k", "m", "v"], "integer")})
# N does not declare the attribute k, and its events agree with those of every partition.
OWN = schema_from({"types": {"A": {"k": "integer"}, "B": {"k": "integer"}, "N": {"v": "integer"}}})
# B does not declare it, so the stacks are not partitioned.
FEW = schema_from({"types": {"A": {"k": "integer"}, "B": {}, "N": {"k": "integer"}}})


def plan_of(recipe: str, text: str, schema: Schema = TABLE) -> Operator:
    return optimized(read_recipe(recipe), basic_plan(bind_text(text, schema))).plan


def after(text: str, *rewrites: str) -> Operator:
    """The plan after rewrites, each of which must apply."""
    plan = basic_plan(bind_text(text, TABLE))
    for name in rewrites:
        plan = rewritten(name, plan)
    return plan


def rewritten(name: str, plan: Operator) -> Operator:
    """The plan after a rewrite, which must apply."""
    outcome = REWRITES[name](plan)
    assert not isinstance(outcome, Declined), outcome
    return outcome


def pushed(plan: Operator) -> tuple[NegativeComponent, ...]:
    construction = find(plan, SequenceConstruction)
    if construction is None:
        assert find(plan, RunEvaluation) is not None  # which leaves absences to negation
        return ()
    return construction.negations


def left(plan: Operator) -> tuple[NegativeComponent, ...]:
    negation = find(plan, Negation)
    return negation.negations if negation is not None else ()


def variables(negations: tuple[NegativeComponent, ...]) -> str:
    return " ".join(negative.component.variable for negative in negations)


MIDDLE = "EVENT SEQ(A a, !(N n), B b)"
START = "EVENT SEQ(!(N n), A a, B b)"


@pytest.mark.parametrize(
    ("text", "moved", "stays"),
    [
        (f"{MIDDLE}", "n", ""),
        (f"{MIDDLE} WITHIN 5", "n", ""),
        (f"{MIDDLE} WITHIN 5 EVENTS", "n", ""),
        (f"{MIDDLE} WHERE [k] WITHIN 5 EVENTS PER PARTITION", "n", ""),
        (f"{MIDDLE} WHERE [k]", "n", ""),
        (f"{MIDDLE} WHERE [k, m]", "n", ""),
        (f"{MIDDLE} WHERE [k = 3]", "n", ""),
        (f"{MIDDLE} WHERE [k, m = 3] AND n.v > 1 AND n.k IN (1, 2)", "n", ""),
        (f"{MIDDLE} WHERE a.v < b.v AND b.v = 3", "n", ""),
        (f"{MIDDLE} WHERE [k] AND n.v > a.v", "", "n"),
        (f"{MIDDLE} WHERE n.v > 1 AND (n.v > 3 OR b.v = 2)", "", "n"),
        (f"{START} WITHIN 5", "n", ""),
        (f"{START} WITHIN 5 INCLUSIVE", "n", ""),
        (f"{START} WITHIN 5 EVENTS", "n", ""),
        (f"{START} WHERE [k] WITHIN 5 EVENTS PER PARTITION", "", "n"),
        (f"{START} WHERE [k] AND n.v = 2 WITHIN 5", "n", ""),
        (f"{START} WHERE n.v = b.v WITHIN 5", "", "n"),
        ("EVENT SEQ(!(N n), A a) WITHIN 5", "", "n"),  # one event needs no window
        ("EVENT SEQ(A a, B b, !(N n)) WITHIN 5", "", "n"),
        ("EVENT SEQ(A a, !(N n), !(M m), B b, !(O o), C c)", "n m o", ""),
        ("EVENT SEQ(!(N n), A a, !(M m), B b, !(O o)) WHERE [k] WITHIN 5", "n m", "o"),
        ("EVENT SEQ(A a, !(N n), !(M m), B b) WHERE n.v = a.v", "m", "n"),
    ],
)
def test_a_component_moves_if_it_is_decided_by_itself_in_the_past(
    text: str, moved: str, stays: str
) -> None:
    for recipe in ("negation_in_construction", "optimized"):
        plan = plan_of(recipe, text)
        assert variables(pushed(plan)) == moved
        assert variables(left(plan)) == stays


@pytest.mark.parametrize(
    ("schema", "moved"),
    [(TABLE, "n"), (OWN, ""), (FEW, ""), (OPEN, "")],
    ids=["all", "own", "few", "open"],
)
def test_a_component_moves_only_inside_the_partition(schema: Schema, moved: str) -> None:
    """Its events must be of one partition, and the stacks must be partitioned at all."""
    plan = plan_of("negation_in_construction", f"{MIDDLE} WHERE [k]", schema)
    assert variables(pushed(plan)) == moved
    plan = plan_of("negation_in_construction", MIDDLE, schema)
    assert variables(pushed(plan)) == "n"


@pytest.mark.parametrize(
    ("keys", "moves"),
    [
        ([], False),
        (["partition_stacks"], False),
        (["partition_stacks", "filter_dynamically"], False),
        (["partition_on_every_attribute"], False),
        (["build_composite_key"], True),
    ],
)
def test_one_key_must_decide_every_test(keys: list[str], moves: bool) -> None:
    plan = after(f"{MIDDLE} WHERE [k, m]", "use_active_instance_stacks", *keys)
    outcome = push_negation_into_construction(plan)
    assert isinstance(outcome, Declined) != moves


def test_two_tests_of_one_attribute_are_one_key() -> None:
    """The value is that of every event of the partition, whichever test says so."""
    plan = after(f"{MIDDLE} WHERE [k] AND [k = 3]", "use_active_instance_stacks")
    for rewrite in ("partition_stacks", "build_composite_key"):
        rewritten("push_negation_into_construction", rewritten(rewrite, plan))


def test_the_runtime_stack_knows_no_ranges() -> None:
    outcome = push_negation_into_construction(after(MIDDLE))
    assert outcome == Declined("!n: the runtime stack of the NFA knows no ranges")


def test_a_start_waits_for_the_window() -> None:
    """Without it the range would have no beginning; a middle does not need it."""
    text = "EVENT SEQ(!(N n), A a, !(M m), B b) WITHIN 5"
    early = after(text, "use_active_instance_stacks", "push_negation_into_construction")
    assert variables(pushed(early)) == "m"
    assert find(early, Window) is not None
    windowed = rewritten("push_window_into_construction", early)
    late = rewritten("push_negation_into_construction", windowed)
    assert variables(pushed(late)) == "m n"
    assert find(late, Negation) is None


@pytest.mark.parametrize("recipe", recipe_names())
def test_no_component_is_lost_or_changed(recipe: str) -> None:
    """Wherever it is checked, a negative component is that of the basic plan, with its window."""
    text = (
        "EVENT SEQ(!(N n), A a, !(M m), B b, !(O o))"
        " WHERE [k] AND n.v > 1 AND m.v > a.v AND o.v > 2 WITHIN 5"
    )
    basic, plan = plan_of("basic", text), plan_of(recipe, text)
    assert set(pushed(plan) + left(plan)) == set(left(basic))
    assert len(pushed(plan) + left(plan)) == 3
    before, now = find(basic, Negation), find(plan, Negation)
    assert before is not None
    assert now is not None
    assert now.window == before.window
