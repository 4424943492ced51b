"""Which conditions on one attribute no value can satisfy together."""

from __future__ import annotations

import itertools
import random

import pytest

from sase.binding.bound import Condition
from sase.planning.plan.nodes import Selection, require
from sase.planning.reasoning.value_ranges import first_exclusion
from tests.planning.plans import basic


def condition(where: str) -> Condition:
    plan = basic(f"EVENT SEQ(A a, B b) WHERE {where} WITHIN 5")
    (only,) = require(plan, Selection).conditions
    return only.condition


def exclude(*texts: str) -> bool:
    return first_exclusion([condition(text) for text in texts]) is not None


@pytest.mark.parametrize(
    ("one", "other", "excluded"),
    [
        ("a.v < 3", "a.v > 3", True),
        ("a.v <= 3", "a.v >= 3", False),
        ("a.v < 3", "a.v >= 3", True),
        ("a.v <= 3", "a.v > 3", True),
        ("3 > a.v", "3 <= a.v", True),
        ("3 >= a.v", "a.v = 3", False),
        ("a.v = 3", "a.v = 4", True),
        ("a.v = 3", "a.v != 3", False),
        ("a.v IN (1, 2)", "a.v IN (3, 4)", True),
        ("a.v IN (1, 5)", "a.v BETWEEN 2 AND 4", True),
        ("a.v IN (1, 4)", "a.v BETWEEN 2 AND 4", False),
        ("a.v NOT IN (1, 2)", "a.v = 1", False),
        ("a.v NOT BETWEEN 1 AND 2", "a.v = 1", False),
        ("a.v BETWEEN 1 AND 2", "a.v BETWEEN 3 AND 4", True),
        ("a.v BETWEEN 1 AND 2", "a.v BETWEEN 2 AND 4", False),
        ("a.name = 'x'", "a.name = 'y'", True),
        ("a.name < 'x'", "a.name > 'w'", False),
        ("a.name < 'w'", "a.name >= 'x'", True),
        # Two types of constants cause no message, nor do values that are no constant.
        ("a.v < 3", "a.v > 3.5", False),
        ("a.v < b.v", "a.v > 3", False),
        ("a.v < :least", "a.v > 3", False),
    ],
)
def test_what_excludes_what(one: str, other: str, excluded: bool) -> None:
    assert exclude(one, other) is excluded
    assert exclude(other, one) is excluded


OPERATORS = ("<", "<=", "=", "!=", ">=", ">")
CONDITIONS = [
    *(f"a.v {operator} {value}" for operator in OPERATORS for value in (1, 2)),
    *(f"{value} {operator} a.v" for operator in ("<", ">=") for value in (1, 2)),
    "a.v IN (0, 3)",
    "a.v NOT IN (0, 3)",
    "a.v BETWEEN 1 AND 2",
    "a.v BETWEEN 3 AND 1",
    "a.v NOT BETWEEN 1 AND 2",
]  # fmt: skip


def holds(text: str, value: int) -> bool:
    """The same condition decided by Python."""
    words = text.replace("a.v", str(value)).replace(" = ", " == ").split(" ")
    if "BETWEEN" in words:
        is_between = int(words[-3]) <= value <= int(words[-1])
        return is_between != ("NOT" in words)
    return bool(eval(" ".join(words).replace("NOT IN", "not in").replace("IN", "in")))


def test_what_is_excluded_holds_for_no_value() -> None:
    """Every pair against values in and between the constants; something is excluded at all."""
    found = 0
    for one, other in itertools.product(CONDITIONS, CONDITIONS):
        if exclude(one, other):
            found += 1
            both = [v for v in range(-1, 6) if holds(one, v) and holds(other, v)]
            assert both == [], f"{one} AND {other}"
    assert found > 30


def test_of_many_conditions_the_first_two_that_exclude_each_other_are_found() -> None:
    """As pair by pair."""
    drawn = random.Random(1)
    every = {text: condition(text) for text in (*CONDITIONS, "a.name < 'w'", "a.v > 3.5")}
    found = 0
    for _ in range(250):
        texts = drawn.choices(list(every), k=drawn.randrange(1, 7))
        pairs = itertools.combinations(range(len(texts)), 2)
        first = next((pair for pair in pairs if exclude(*(texts[place] for place in pair))), None)
        assert first_exclusion([every[text] for text in texts]) == first
        found += first is not None
    assert found > 35
