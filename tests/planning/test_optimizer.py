"""What the optimizer chooses: by cost where statistics are known, and else the first."""

from __future__ import annotations

from math import inf, nan
from pathlib import Path

import pyarrow as pa
import pytest

import sase
from sase.planning.cost import cost_of
from sase.planning.cost_values import MOST_BYTES, NANOSECONDS, Cost, OperatorCost
from sase.planning.nodes import (
    Negation,
    Selection,
    SequenceConstruction,
    SequenceScan,
    chain,
    find,
    require,
)
from sase.planning.optimizer import Alternative, Optimized, _best
from sase.planning.statistics import Statistics
from tests.planning.plans import known, made, written

TWO_KEYS = "EVENT SEQ(A a, B b) WHERE [few, many] WITHIN 5000"
ABSENT = "EVENT SEQ(A a, !(N n), B b) WHERE [many] AND a.v < b.v WITHIN 5000"
EACH = '{one_of = [[{rewrite = "partition_stacks", on = "each"}], []]}'
STACKS = '"use_active_instance_stacks"'


def keys(plan: Optimized) -> list[list[str]]:
    partitions = require(plan.plan, SequenceScan).partitions
    return [[test.attribute for test in key] for key in partitions]


def taken(choice: tuple[Alternative, ...]) -> str:
    (only,) = [str(each) for each in choice if each.is_taken]
    return only


def two_keys(few: float, many: float, rows: int = 50_000) -> Statistics:
    """Of the two keys of a query it is known how likely events are to agree."""
    agreements = {("few", "a b"): few, ("many", "a b"): many, ("few many", "a b"): few * many}
    return known(A=rows, B=rows, agreements=agreements)


# ---------------------------------------------------------------- keys


@pytest.mark.parametrize(
    ("few", "many", "best"), [(0.5, 0.001, "many"), (0.001, 0.5, "few"), (0.2, 0.2, "few")]
)
def test_a_key_with_many_values_beats_one_with_few(
    few: float, many: float, best: str, tmp_path: Path
) -> None:
    """Of equal ones the first is taken."""
    recipe = written(tmp_path, f"{STACKS}, {EACH}")
    plan = made(TWO_KEYS, two_keys(few, many), recipe)
    assert keys(plan) == [[best]]
    assert [taken(choice) for choice in plan.choices] == [f"partition_stacks(on={best})"]


def test_a_composite_key_is_taken_where_both_attributes_remove_much() -> None:
    plan = made(TWO_KEYS, two_keys(0.1, 0.1))
    assert keys(plan) == [["few", "many"]]
    assert taken(plan.choices[0]) == "build_composite_key"


def test_without_the_composite_key_the_best_single_one_is_left() -> None:
    """The other test is then decided while sequences are built."""
    plan = made(TWO_KEYS, two_keys(0.4, 0.01), off=["build_composite_key"])
    assert keys(plan) == [["many"]]
    tests = require(plan.plan, SequenceConstruction).equivalences
    assert [test.attribute for test in tests] == ["few"]


def test_a_key_is_taken_also_where_nearly_nothing_is_to_be_kept_apart() -> None:
    """Whatever decides a test asks for the codes of all events: without a key nothing is saved."""
    query = "EVENT SEQ(A a, B b) WHERE [many] AND a.v < b.v WITHIN 5"
    statistics = known(A=3, B=900_000, span=10_000_000, agreements={("many", "a b"): 0.9})
    assert keys(made(query, statistics)) == [["many"]]
    assert keys(made(query)) == [["many"]]


# ---------------------------------------------------------------- negation and conditions


def absence(condition: float, forbidding: int = 30_000) -> Statistics:
    """How likely a condition on two events lets them pass, and how many events forbid."""
    variables = ("a b", "a n")
    return known(
        A=30_000,
        B=30_000,
        N=forbidding,
        admissions={"n": 1.0},
        agreements={("many", each): 0.1 for each in variables},
        selectivities={"a.v < b.v": condition, "n.w > a.w": 1.0},
    )


def test_negation_is_pushed_where_much_is_built() -> None:
    plan = made(ABSENT, absence(0.5))
    assert find(plan.plan, Negation) is None
    assert len(require(plan.plan, SequenceConstruction).negations) == 1
    assert any("push_negation_into_construction" in taken(choice) for choice in plan.choices)


@pytest.mark.parametrize(
    ("condition", "forbidding", "is_first"),
    [(0.99, 30_000, True), (0.01, 30_000, False), (0.99, 1, False)],
)
def test_absence_that_cannot_be_pushed_is_checked_first_where_it_removes_more(
    condition: float, forbidding: int, is_first: bool
) -> None:
    """Of the selection and absence one removes next to nothing; searching the index is dearer."""
    plan = made(
        ABSENT.replace("AND", "AND n.w > a.w AND"),
        absence(condition, forbidding),
        off=["push_conditions_into_construction"],
    )
    kinds = [type(operator) for operator in reversed(chain(plan.plan))]
    assert (kinds.index(Negation) < kinds.index(Selection)) == is_first
    assert taken(plan.choices[-1]) == ("negate_before_selection" if is_first else "none of them")


def test_what_can_never_be_pushed_is_no_choice() -> None:
    query = "EVENT SEQ(A a, B b, !(N n)) WHERE [many] WITHIN 5000"
    plan = made(query, absence(0.5))
    assert find(plan.plan, Negation) is not None
    every = [str(each) for choice in plan.choices for each in choice]
    assert not any("push_negation" in each or "negate_before" in each for each in every)


@pytest.mark.parametrize(("window", "by_time"), [(5, True), (100_000, False)])
def test_absence_is_looked_up_by_time_where_gaps_are_short(window: int, by_time: bool) -> None:
    """And where no other operator has the key of both attributes."""
    query = f"EVENT SEQ(A a, B b, !(N n)) WHERE [few, many] WITHIN {window}"
    every = ("a b", "a n", "b n", "a b n")
    agreements = {("few", each): 0.3 for each in every} | {("many", each): 0.1 for each in every}
    statistics = known(A=30_000, B=30_000, N=30_000, agreements=agreements)
    plan = made(query, statistics, off=["build_composite_key"])
    assert require(plan.plan, Negation).by_time is by_time
    assert not require(made(query, statistics).plan, Negation).by_time


def test_conditions_are_pushed_in_the_order_that_statistics_tell(tmp_path: Path) -> None:
    query = "EVENT SEQ(A a, B b) WHERE a.v < b.v AND a.w != b.w WITHIN 5000"
    recipe = written(tmp_path, f'{STACKS}, "push_conditions_into_construction"')
    for first, shares in (("v", (0.01, 0.9)), ("w", (0.9, 0.01))):
        conditions = dict(zip(("a.v < b.v", "a.w != b.w"), shares, strict=True))
        statistics = known(A=30_000, B=30_000, selectivities=conditions)
        plan = made(query, statistics, recipe).plan
        assert find(plan, Selection) is None
        condition = require(plan, SequenceConstruction).conditions[0].condition
        assert condition.left.attribute == first  # type: ignore[union-attr]


# ---------------------------------------------------------------- without statistics


def test_without_statistics_the_first_alternative_is_taken(tmp_path: Path) -> None:
    assert made(TWO_KEYS).choices == ()
    assert keys(made(TWO_KEYS)) == [["few", "many"]]
    nothing_first = '{one_of = [[], ["partition_stacks"]]}'
    assert keys(made(TWO_KEYS, None, written(tmp_path, f"{STACKS}, {nothing_first}"))) == []


def test_each_without_statistics_is_the_first_test(tmp_path: Path) -> None:
    plan = made(TWO_KEYS, None, written(tmp_path, f"{STACKS}, {EACH}"))
    assert keys(plan) == [["few"]]
    assert [str(step.call) for step in plan.steps][-1] == "partition_stacks"


def test_each_where_there_is_no_test_is_declined(tmp_path: Path) -> None:
    only = '{one_of = [[{rewrite = "partition_stacks", on = "each"}]]}'
    recipe = written(tmp_path, f"{STACKS}, {only}")
    plan = made("EVENT SEQ(A a, B b) WITHIN 5", known(A=9, B=9), recipe)
    assert keys(plan) == []
    assert plan.choices == ()
    assert plan.steps[-1].declined == "there is no equivalence test that all components are under"


def test_a_later_choice_of_each_counts_as_usual_when_an_earlier_one_is_made(
    tmp_path: Path,
) -> None:
    """The window in construction is judged with the partitions that come after it."""
    window = '{one_of = [["push_window_into_construction"], []]}'
    recipe = written(tmp_path, f"{STACKS}, {window}, {EACH}")
    statistics = two_keys(0.001, 0.5)
    plan = made(TWO_KEYS, statistics, recipe)
    assert plan.choices[0][0].cost == cost_of(plan.plan, statistics)


# ---------------------------------------------------------------- what is recorded


def test_alternatives_are_recorded_with_the_cost_of_the_whole_plan(tmp_path: Path) -> None:
    recipe = written(tmp_path, f"{STACKS}, {EACH}")
    statistics = two_keys(0.5, 0.001)
    plan = made(TWO_KEYS, statistics, recipe)
    (choice,) = plan.choices
    assert [str(each) for each in choice] == [
        "partition_stacks(on=few)",
        "partition_stacks(on=many)",
        "none of them",
    ]
    costs = [each.cost.nanoseconds for each in choice]
    assert [each.is_taken for each in choice] == [cost == min(costs) for cost in costs]
    assert costs[1] == cost_of(plan.plan, statistics).nanoseconds
    nothing = made(TWO_KEYS, statistics, recipe, off=["partition_stacks"])
    assert costs[2] == cost_of(nothing.plan, statistics).nanoseconds
    assert nothing.choices == (), "what is off is no alternative"


def test_alternatives_that_make_the_same_plan_count_once() -> None:
    """One test: the composite key declines, and the key on each is the key on the one."""
    plan = made("EVENT SEQ(A a, B b) WHERE [many] WITHIN 5000", known(A=9_000, B=9_000))
    assert [str(each) for each in plan.choices[0]] == [
        "partition_stacks",
        "none of them",
    ]


def test_the_taken_plan_is_never_dearer_than_the_first_alternatives() -> None:
    """By the model: each choice keeps the usual rest."""
    for query in (TWO_KEYS, ABSENT):
        for rows in (10, 1_000, 100_000):
            statistics = known(A=rows, B=rows, N=rows, values={"few": 3, "many": 500})
            usual, best = made(query).plan, made(query, statistics).plan
            assert (
                cost_of(best, statistics).nanoseconds <= cost_of(usual, statistics).nanoseconds + 1
            )


def test_the_same_statistics_give_the_same_plan() -> None:
    statistics = two_keys(0.3, 0.02)
    first, second = made(TWO_KEYS, statistics), made(TWO_KEYS, statistics)
    assert first == second
    assert len(chain(first.plan)) == 3


def test_what_does_not_fit_is_taken_where_nothing_else_ends() -> None:
    def cost(seconds: float, memory: float) -> Cost:
        results = seconds * 1e9 / NANOSECONDS["returned"]
        return Cost((OperatorCost("any", 0, 0, (("returned", results),), memory),))

    small, large = MOST_BYTES / 2, MOST_BYTES * 2
    assert _best([cost(9, small), cost(1, large)]) == 0
    assert _best([cost(9, small), cost(8, small), cost(1, large)]) == 1
    assert _best([cost(1e6, small), cost(1, large), cost(2, large)]) == 1


@pytest.mark.parametrize("values", [(1e308, -1e308), (inf, 1.0), (-inf, inf), (nan, inf)])
def test_keys_that_are_infinitely_far_apart(values: tuple[float, float]) -> None:
    events = {"ts": [*range(6)], "type": [*"ABABAB"], "v": [*values] * 3}
    query = "EVENT SEQ(A a, B b) WHERE [v] AND a.v <= b.v WITHIN 5"
    assert str(sase.explain(query, pa.table(events), analyze=True))
