"""The assumed selectivities and costs of conditions, and the order that follows."""

from __future__ import annotations

import pytest

from sase.binding.bound import Conjunct
from sase.planning.cost.selectivity import assumed, effort, in_order, selectivity
from sase.planning.plan.nodes import Selection, require
from tests.planning.plans import basic, known

NAMES = {0: "a", 1: "b"}


def conditions(where: str) -> tuple[Conjunct, ...]:
    return require(basic(f"EVENT SEQ(A a, B b) WHERE {where} WITHIN 5"), Selection).conditions


def condition(where: str) -> Conjunct:
    (only,) = conditions(where)
    return only


@pytest.mark.parametrize(
    ("where", "share"),
    [
        ("a.v = b.v", 0.1),
        ("a.v != b.v", 0.9),
        ("a.v >= b.v", 1 / 3),
        ("a.v IN (1, 2, 3)", 0.3),
        ("a.v NOT IN (1, 2, 3)", 0.7),
        ("a.v IN (1, 2, 3, 4, 5, 6, 7, 8, 9)", 0.5),
        ("a.v BETWEEN 1 AND 2", 0.25),
        ("a.v NOT BETWEEN 1 AND 2", 0.75),
        ("a.name LIKE 'x%'", 0.1),
        ("a.name NOT LIKE 'x%'", 0.9),
        ("a.v IS NULL", 0.05),
        ("a.v IS NOT NULL", 0.95),
        ("(a.v = 1 OR b.v = 2)", 0.19),
        ("(a.v = 1 AND a.w < 2 OR b.v = 2)", 1 - (1 - 0.1 / 3) * 0.9),
    ],
)
def test_what_is_assumed_where_nothing_is_known(where: str, share: float) -> None:
    only = condition(where)
    assert assumed(only.condition) == pytest.approx(share)
    assert selectivity(only, NAMES, None) == selectivity(only, NAMES, known(A=1)) == assumed(
        only.condition
    )  # fmt: skip


def test_what_was_measured_counts() -> None:
    statistics = known(A=1, selectivities={"a.v < b.v": 0.0, "a.w < b.w": 0.7})
    assert selectivity(condition("a.v < b.v"), NAMES, statistics) == 0
    assert selectivity(condition("a.v > b.v"), NAMES, statistics) == 1 / 3


@pytest.mark.parametrize(
    ("where", "operations"),
    [
        ("a.v < b.v", 3),
        ("a.v < 2 * b.v", 6),
        ("a.v + 1 < 2 * b.v", 9),
        ("a.v IN (1, 2)", 4),
        ("a.v BETWEEN 1 AND b.v", 5),
        ("a.name LIKE 'x%'", 6),
        ("a.v IS NULL", 2),
        ("(a.v < 1 OR b.v < 2)", 6),
    ],
)
def test_the_operations_of_a_condition(where: str, operations: int) -> None:
    assert effort(condition(where).condition) == operations


def test_first_what_removes_most_for_its_effort() -> None:
    several = conditions("a.v * 2 < b.v AND a.v < b.v AND a.w = b.w")
    assert in_order(several, NAMES, None) == (several[2], several[1], several[0])
    statistics = known(A=1, selectivities={"a.v * 2 < b.v": 0.01, "a.w = b.w": 0.99})
    assert in_order(several, NAMES, statistics) == (several[1], several[0], several[2])


def test_what_is_alike_keeps_its_order() -> None:
    several = conditions("a.v < b.v AND a.w < b.w AND a.few < b.few")
    assert in_order(several, NAMES, None) == several
    assert in_order(several[::-1], NAMES, None) == several[::-1]
