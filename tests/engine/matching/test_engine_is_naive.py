"""Every plan, by every way of running it, finds what the naive matcher finds, in its order.

The number of examples goes with the Hypothesis profile.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from sase.errors import QueryError
from tests.engine.matching.examples import Census, Example, examples
from tests.engine.matching.ways import Way, check, push, run, ways

ONE = settings().max_examples
MANY = settings(
    max_examples=ONE * (10 if ONE > 1000 else 5), suppress_health_check=[HealthCheck.too_slow]
)
census = Census()


@MANY
@given(examples(), ways)
def test_the_engine_is_the_naive_matcher(example: Example, way: Way) -> None:
    is_push = way.is_push(example)
    if is_push:
        example = example.sorted
    expected = example.expected
    census.add(example, expected)
    try:
        got = push(example, way, expected) if is_push else run(example, way)
    except QueryError:
        census.refused += 1
        return
    check(example, expected, got)


# How many of a thousand examples have a construct and a result: a fifth of the usual number, for
# Hypothesis makes most examples by changing others, and the numbers go up and down.
LEAST = {
    "1 positive": 30, "2 positive": 70, "3 positive": 30, "4 positive": 10,
    "layout wide": 20, "layout listed": 5, "layout declared": 40, "layout defined": 10,
    "layout single": 10, "layout tables": 10,
    "time raw": 40, "time seconds": 20, "time moments": 20, "other time": 40,
    "negated start": 25, "negated middle": 25, "negated end": 20, "two negatives": 20,
    "condition on a negative": 30, "ANY(…)": 25, "ANY": 30, "no variable": 40,
    "no window": 25, "window in time": 90, "EVENTS": 20, "PER PARTITION": 4, "INCLUSIVE": 20,
    "equivalence test": 80, "two equivalence tests": 4, "fixed equivalence test": 4,
    "RETURN": 30, "LIMIT": 10, "parameters": 40, "ties": 120, "unsorted": 60, "seq": 50,
    "the row as seq": 20,
    "NULL in what is named": 60, "−0.0": 30,
    "condition with OR": 30, "condition with NOT": 50, "condition with LIKE": 4,
    "condition with IN": 10, "condition with BETWEEN": 20, "condition with NULL": 25,
    "condition with %": 15, "condition with /": 1, "condition with coalesce": 15,
    "condition with length": 4, "condition on several events": 40,
    "an undeclared attribute of ANY": 3,
}  # fmt: skip


def test_the_examples_use_the_whole_language() -> None:
    """Those that were run just now; where only a few were, nothing can be said of them."""
    if census.examples < 400:
        pytest.skip("too few examples ran before this test")
    assert census.found >= 0.6 * census.examples
    assert census.refused <= 0.05 * census.examples
    few = census.examples < 5000  # too few for what is rare
    wanted = {
        name: least * census.examples // 1000 for name, least in LEAST.items() if least > 20 * few
    }
    assert {name: hits for name in wanted if (hits := census.hits[name]) < wanted[name]} == {}
