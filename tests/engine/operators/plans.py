"""Queries that among them make every kind of operator hold every kind of state, and a stream."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import sase
from sase.planning.engine_plan import Options
from sase.planning.recipes import recipe_names
from tests.seeds import has_turn

QUERIES = {
    "a filter": "EVENT A a WHERE a.v > 1",
    "no window": "EVENT SEQ(A a, B b, C c) WHERE [id] AND a.v < c.v",
    "a window": "EVENT SEQ(A a, B b, C c) WITHIN 9",
    "any type": "EVENT SEQ(ANY a, ANY(B, C) b) WITHIN 3 INCLUSIVE",
    "tests": "EVENT SEQ(A a, B b, C c) WHERE [id, s] WITHIN 60",
    "a fixed test": "EVENT SEQ(A a, B b) WHERE [s = 'x'] AND [id] AND b.v >= a.v WITHIN 20",
    "conditions": (
        "EVENT SEQ(A a, B b, C c) WHERE a.v < b.v AND a.v + c.v > 2 AND b.s != c.s AND c.v < 4"
        " WITHIN 20"
    ),
    "positions": "EVENT SEQ(A a, B b) WHERE a.v <= b.v WITHIN 6 EVENTS",
    "ranks": "EVENT SEQ(A a, B b) WHERE [id] WITHIN 5 EVENTS PER PARTITION INCLUSIVE",
    "ranks of two": "EVENT SEQ(A a, !(N n), B b) WHERE [id, s] WITHIN 4 EVENTS PER PARTITION",
    "a start": "EVENT SEQ(!(N n), A a, B b) WHERE [id] WITHIN 12",
    "a start in positions": "EVENT SEQ(!(N n), A a, B b) WITHIN 9 EVENTS",
    "a start of one": "EVENT SEQ(!(N n), A a) WHERE n.v > 1 WITHIN 5 INCLUSIVE",
    "a middle": "EVENT SEQ(A a, !(N n), B b, !(C m), C c) WHERE [id] WITHIN 25",
    "a middle with a condition": "EVENT SEQ(A a, !(N n), B b) WHERE n.v > a.v AND [s] WITHIN 15",
    "an end": "EVENT SEQ(A a, B b, !(N n)) WHERE [id] WITHIN 8",
    "an end with a condition": (
        "EVENT SEQ(A a, !(C m), B b, !(N n)) WHERE n.v = b.v AND a.id = b.id WITHIN 10 INCLUSIVE"
    ),
    "all around": "EVENT SEQ(!(N k), A a, !(N m), B b, !(N n)) WHERE [id] WITHIN 10",
    "results": (
        "EVENT SEQ(A a, B b) WHERE [id] WITHIN 15 RETURN a.v + b.v AS sum, b.s AS s, a.ts AS t"
    ),
    "a limit": "EVENT SEQ(A a, B b) WHERE a.v < b.v WITHIN 15 LIMIT 7",
}  # fmt: skip

# Each query by each recipe: a sixteenth of the pairs, with every query and every recipe, is for
# every run of the suite. The others are heavy: where examples are fresh, a sixth of them.
BY_RECIPE = [
    pytest.param(query, recipe, marks=[pytest.mark.heavy] if (number + turn) % 16 else [])
    for number, query in enumerate(QUERIES)
    for turn, recipe in enumerate(recipe_names())
    if (number + turn) % 16 == 0 or has_turn(number + turn // 16)
]


def stream(seed: int = 16, size: int = 50) -> pa.Table:
    """Events of some types, with ties, and NULL here and there."""
    random, ts, rows = Random(seed), 0, []
    for _ in range(size):
        ts += random.choice([0, 1, 1, 1, 2])
        rows.append(
            {
                "ts": ts,
                "type": random.choice("AAABBBCCNZ"),
                "id": random.choice([*[1, 2, 2, 3, 3, 3] * 2, None]),
                "s": random.choice([*"xxxxyyy", None]),
                "v": random.choice([*[0, 1, 2, 3, 4] * 2, None]),
            }
        )
    return pa.Table.from_pylist(rows)


def plan_of(query: str, recipe: str, options: Options | None = None) -> sase.Plan:
    plan = sase.compile(QUERIES[query], stream(), plan=recipe)
    return plan if options is None else replace(plan, options=options)


def alone(plan: sase.Plan) -> sase.Plan:
    """The plan without its recipe: many recipes make the same, and its matches are known then."""
    return replace(plan, recipe="", steps=())


def told(matches: Any) -> list[tuple[Any, ...]]:
    """The events of the matches, and the results."""
    if not len(matches):
        return []
    found = zip(matches.rows.to_pylist(), matches.to_pylist(), strict=True)
    return [(*rows.values(), *result.items()) for rows, result in found]
