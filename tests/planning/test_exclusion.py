"""Conditions that are said to exclude each other are never both true."""

from __future__ import annotations

import math
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import sase
from sase.binding import bind_text
from sase.binding.bound import Condition
from sase.binding.conditions.parts import conjoined
from sase.binding.input_options import InputOptions
from sase.engine.sources.discovered import Discovered
from sase.planning.reasoning.value_ranges import exclude
from tests.seeds import draw_numbers, share

SIGNS = ["<", "<=", ">", ">=", "=", "!="]
# The orders that a sign accepts, written down apart from the prover.
TRUE_OF = {"<": "<", "<=": "<=", ">": ">", ">=": "=>", "=": "=", "!=": "<>"}
# Columns of each kind with the values in which orders differ most.
KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "i": (pa.int64(), [None, 0, 1, -1, 2**53, 2**53 + 1]),
    "j": (pa.int64(), [None, 0, 1, -1, 2**53, 2**53 + 1]),
    "f": (pa.float64(), [None, math.nan, -0.0, 0.0, 1.0, 2.0**53, math.inf, -math.inf]),
    "g": (pa.float64(), [None, math.nan, -0.0, 0.0, 1.0, 2.0**53, math.inf, -math.inf]),
    "d": (pa.decimal128(20, 2), [None, *map(Decimal, ("0.00", "1.00", "-1.00", "0.50"))]),
}


def stream(random: Random, count: int) -> pa.Table:
    columns = {name: random.choices(of, k=count) for name, (_, of) in KINDS.items()}
    arrays = {name: pa.array(columns[name], kind) for name, (kind, _) in KINDS.items()}
    return pa.table({"ts": range(count), "type": ["A"] * count, **arrays})


def value(random: Random) -> str:
    return random.choice(
        ["a.i", "a.j", "a.f", "a.g", "a.d", "a.i", "a.f", "0", "a.i + a.j", "-a.f"]
    )


def comparison(random: Random, one: str, other: str) -> str:
    if random.random() < 0.15:
        return f"{one} {random.choice(['', 'NOT '])}BETWEEN {other} AND {value(random)}"
    if random.random() < 0.5:
        one, other = other, one
    negated = "NOT " if random.random() < 0.15 else ""
    return f"{negated}{one} {random.choice(SIGNS)} {other}"


def condition(random: Random, one: str, other: str) -> str:
    """Of the same values mostly."""
    parts = [comparison(random, one, other) for _ in range(random.choice([1, 1, 2]))]
    if random.random() < 0.3:
        parts.append(comparison(random, value(random), value(random)))
    return f"({random.choice([' AND ', ' OR ']).join(parts)})"


def bound(text: str, events: pa.Table) -> list[Condition]:
    schema = Discovered.of(events, InputOptions()).schema
    query = bind_text(f"EVENT A a WHERE {text}", schema)
    return [part for each in query.conjuncts for part in conjoined(each.condition)]


def found(text: str, events: pa.Table) -> set[int]:
    return set(sase.match(f"EVENT A a WHERE {text}", events).rows["a"].to_pylist())


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("one", SIGNS)
def test_two_signs_exclude_each_other_where_they_accept_no_order_in_common(
    one: str, flipped: bool
) -> None:
    """Of the same values, on either side: `<=` and `>=` both accept equal ones."""
    events = stream(Random(1), 3)
    turned = {"<": ">", ">": "<"}
    for other in SIGNS:
        sides = "a.f {} a.i" if flipped else "a.i {} a.f"
        both = {turned.get(order, order) if flipped else order for order in TRUE_OF[other]}
        expected = not both & set(TRUE_OF[one])
        left, right = bound(f"a.i {one} a.f", events), bound(sides.format(other), events)
        assert exclude(left, right) is expected, (one, other)
        assert exclude(right, left) is expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a.i < a.j", "a.i >= a.f"),  # of other values
        ("a.i < 3", "a.i > 5"),  # constants are not looked into
        ("a.i < a.j OR a.f > 0", "a.i >= a.j"),
        ("a.i IS NULL", "a.i IS NOT NULL"),
        ("a.i NOT BETWEEN a.j AND a.f", "a.i > a.j"),
        ("a.i <= a.j", "a.i >= a.j"),
        ("a.i != a.j", "a.i <= a.j"),
    ],
)  # fmt: skip
def test_what_is_not_proved(one: str, other: str) -> None:
    events = stream(Random(1), 3)
    assert not exclude(bound(one, events), bound(other, events))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a.i < a.j AND a.f > 0", "a.i >= a.j"),
        ("a.i < a.j OR a.i = a.j", "a.i > a.j"),
        ("a.i BETWEEN a.j AND a.f", "a.i < a.j"),
        ("a.i BETWEEN a.j AND a.f", "a.f < a.i"),
        ("a.i <= a.j AND a.i >= a.j", "a.j != a.i"),
        ("NOT a.i < a.j", "a.j > a.i"),
        ("a.i + a.j < a.f", "a.i + a.j = a.f"),
        ("a.i < 3", "3 <= a.i"),
    ],
)  # fmt: skip
def test_what_is_proved(one: str, other: str) -> None:
    events = stream(Random(1), 3)
    assert exclude(bound(one, events), bound(other, events))


@pytest.mark.random
@pytest.mark.parametrize("seed", draw_numbers(share(12)))
def test_no_values_make_both_true(seed: int) -> None:
    """NULL, NaN, −0.0, decimals, and integers beside floats that cannot tell them apart."""
    random = Random(seed)
    events = stream(random, 400)
    for _ in range(3):
        one, other = value(random), value(random)
        while True:
            left, right = condition(random, one, other), condition(random, one, other)
            if exclude(bound(left, events), bound(right, events)):
                break
            one, other = value(random), value(random)
        assert not found(left, events) & found(right, events), (left, right)
