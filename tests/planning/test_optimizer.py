"""The choices of the optimizer: by cost if statistics are known, and else the first."""

from __future__ import annotations

from math import inf, nan
from pathlib import Path

import pyarrow as pa
import pytest

import sase
from sase.planning.cost.cost import cost_of
from sase.planning.cost_values import MOST_BYTES, NANOSECONDS, Cost, OperatorCost
from sase.planning.optimizer import Optimized, _best
from sase.planning.plan.nodes import (
    Negation,
    Selection,
    SequenceConstruction,
    SequenceScan,
    chain,
    find,
    require,
)
from sase.planning.statistics import Statistics
from tests.planning.plans import known, made, written

TWO_KEYS = "EVENT SEQ(A a, B b) WHERE [few, many] WITHIN 5000"
ABSENT = "EVENT SEQ(A a, !(N n), B b) WHERE [many] AND a.v < b.v WITHIN 5000"
NEGATION = '{one_of = [["push_negation_into_construction"], []]}'
STACKS = '"use_active_instance_stacks"'


def keys(plan: Optimized) -> list[list[str]]:
    partitions = require(plan.plan, SequenceScan).partitions
    return [[test.attribute for test in key] for key in partitions]


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
    recipe = written(tmp_path, f'{STACKS}, "partition_stacks"')
    plan = made(TWO_KEYS, two_keys(few, many), recipe)
    assert keys(plan) == [[best]]


@pytest.mark.parametrize("few", [0.001, 0.1, 0.9])
def test_the_key_has_all_attributes_whatever_they_remove(few: float) -> None:
    plan = made(TWO_KEYS, two_keys(few, 0.1))
    assert keys(plan) == [["few", "many"]]
    assert plan.choices == ()


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


@pytest.mark.parametrize("condition", [0.001, 0.5])
@pytest.mark.parametrize("forbidding", [1, 3_000_000])
def test_conditions_and_negation_are_pushed_whatever_they_remove(
    condition: float, forbidding: int
) -> None:
    plan = made(ABSENT, absence(condition, forbidding))
    assert find(plan.plan, Negation) is None
    construction = require(plan.plan, SequenceConstruction)
    assert len(construction.negations) == len(construction.conditions) == 1
    assert plan.choices == ()


def test_absence_is_never_looked_up_among_all_keys() -> None:
    """However short gaps are expected to be."""
    query = "EVENT SEQ(A a, B b, !(N n)) WHERE [few, many] WITHIN 5"
    every = ("a b", "a n", "b n", "a b n")
    agreements = {("few", each): 0.3 for each in every} | {("many", each): 0.1 for each in every}
    statistics = known(A=30_000, B=30_000, N=30_000, agreements=agreements)
    plan = made(query, statistics, off=["build_composite_key"])
    assert not require(plan.plan, Negation).by_time


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


def test_a_later_choice_counts_as_usual_when_an_earlier_one_is_made(tmp_path: Path) -> None:
    """The window in construction is judged with the negation that comes after it."""
    window = '{one_of = [["push_window_into_construction"], []]}'
    recipe = written(tmp_path, f'{STACKS}, "partition_stacks", {window}, {NEGATION}')
    statistics = absence(0.5)
    plan = made(ABSENT, statistics, recipe)
    assert plan.choices[0][0].cost == cost_of(plan.plan, statistics)


# ---------------------------------------------------------------- records


def test_alternatives_are_recorded_with_the_cost_of_the_whole_plan(tmp_path: Path) -> None:
    keys = '{one_of = [[{rewrite = "partition_stacks", on = "few"}], ["partition_stacks"], []]}'
    recipe = written(tmp_path, f"{STACKS}, {keys}")
    statistics = two_keys(0.5, 0.001)
    plan = made(TWO_KEYS, statistics, recipe)
    (choice,) = plan.choices
    assert [str(each) for each in choice] == [
        "partition_stacks(on=few)",
        "partition_stacks",
        "none of them",
    ]
    costs = [each.cost.nanoseconds for each in choice]
    assert [each.is_taken for each in choice] == [cost == min(costs) for cost in costs]
    assert costs[1] == cost_of(plan.plan, statistics).nanoseconds
    nothing = made(TWO_KEYS, statistics, recipe, off=["partition_stacks"])
    assert costs[2] == cost_of(nothing.plan, statistics).nanoseconds
    assert nothing.choices == (), "what is off is no alternative"


def test_alternatives_that_make_the_same_plan_count_once(tmp_path: Path) -> None:
    """There is no condition to be pushed, and no negation."""
    recipe = written(tmp_path, f"{STACKS}, {NEGATION}")
    assert made(TWO_KEYS, two_keys(0.1, 0.1), recipe).choices == ()


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
