"""Many users, so that the state of each is fetched before it is read."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pytest

import sase
from sase.engine.kernels.kleene import line_scan
from sase.engine.kernels.scan import key_hash, stacks
from sase.planning.engine_plan import Options
from tests.seeds import draw_numbers, tries

EVENTS, USERS, SPAN = 30_000, 40_000, 6_000
TYPES = ("view", "cart", "purchase")
PATTERNS = {
    "all": "SEQ(view a, cart b, purchase c) WHERE [user]",
    "absent": "SEQ(view a, !(cart b), purchase c) WHERE [user]",
    "next": "SEQ(view a, cart b, purchase c) WHERE skip_till_next_match { [user] }",
    "series": "SEQ(view+ a[], purchase b) WHERE skip_till_next_match { [user] }",
}
# An odd number, which makes users wide integers that differ.
WIDE = 0x1E3779B97F4A7C15
Row = tuple[int | list[int], ...]
pytestmark = [pytest.mark.random, pytest.mark.slow]


@cache
def drawn(number: int, *, ties: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, types and users; most events are of some hundred users, the others of any."""
    rng = np.random.default_rng(number)
    ts = np.cumsum(rng.random(EVENTS) < 0.5 if ties else rng.integers(1, 3, EVENTS))
    types = rng.choice(3, EVENTS, p=(0.6, 0.25, 0.15))
    few = rng.choice(USERS, 300, replace=False)
    users = np.where(
        rng.random(EVENTS) < 0.5, rng.choice(few, EVENTS), rng.integers(0, USERS, EVENTS)
    )
    users[0] = USERS - 1  # so that dense codes are many
    return ts, types, users


@cache
def expected(shape: str, number: int) -> list[Row]:
    """The matches, user by user, event by event."""
    ts, types, users = drawn(number, ties=has_ties(shape))
    found: list[Row] = []
    of_user: dict[int, list[int]] = defaultdict(list)
    for row, user in enumerate(users.tolist()):
        of_user[user].append(row)
    for rows in of_user.values():
        views, carts, pairs = list[int](), list[int](), list[tuple[int, int]]()
        for row in rows:
            views = [v for v in views if ts[row] - ts[v] < SPAN]
            pairs = [p for p in pairs if ts[row] - ts[p[0]] < SPAN]
            if types[row] == 0:
                views.append(row)
            elif types[row] == 1 and shape == "absent":
                carts.append(row)
            elif types[row] == 2 and shape == "absent":
                found += [(v, row) for v in views if ts[v] < ts[row] and not any(
                    ts[v] < ts[c] < ts[row] for c in carts)]  # fmt: skip
            elif types[row] == 1 and shape != "series":
                pairs += [(v, row) for v in views if ts[v] < ts[row]]
                views = [] if shape == "next" else views
            elif types[row] == 2 and shape == "series":
                found += [(views[at:], row) for at in range(len(views))]
            elif types[row] == 2:
                found += [(*pair, row) for pair in pairs if ts[pair[1]] < ts[row]]
                pairs = [] if shape == "next" else pairs
    return sorted(found)


def has_ties(shape: str) -> bool:
    """Whether some events are simultaneous; other tests check these under strategies."""
    return shape in ("all", "absent")


def table_of(kind: str, ts: np.ndarray, types: np.ndarray, users: np.ndarray) -> pa.Table:
    """The events, with users of a kind."""
    wide = (users * WIDE) & (2**63 - 1)
    column = {"dense": users, "wide": wide, "text": [f"u{user}" for user in wide.tolist()]}[kind]
    codes = pa.array(types.astype(np.int8))
    named = pa.DictionaryArray.from_arrays(codes, pa.array(TYPES))
    return pa.table({"ts": ts, "type": named, "user": pa.array(column)})


def rows_of(matches: sase.Matches) -> list[Row]:
    return [tuple(row.values()) for row in matches.rows.to_pylist()]


@pytest.mark.parametrize("kind", ["dense", "wide", "text"])
@pytest.mark.parametrize("shape", PATTERNS)
def test_matches_are_those_of_each_user(shape: str, kind: str) -> None:
    """By blocks and stacks of any size, fused or not, by threads, and pushed in batches."""
    assert max(stacks.MANY, line_scan.MANY) < USERS
    for number in tries(draw_numbers(1)[0]):
        events, found = drawn(number, ties=has_ties(shape)), expected(shape, number)
        if len(found) > 200:
            break
    assert 4 * len(np.unique(events[2])) > key_hash.MANY  # there are more slots
    table, rng = table_of(kind, *events), np.random.default_rng(number)
    plan = sase.compile(f"EVENT {PATTERNS[shape]} WITHIN {SPAN}", table)
    sizes = [int(size) for size in rng.integers(1, 14, 3)]
    options = Options(1 << sizes[0] + 3, 1 << sizes[1], 1 << sizes[2], fused=bool(rng.integers(2)))
    assert sorted(rows_of(plan.run(table, threads=1))) == found
    some = replace(plan, options=options)
    assert sorted(rows_of(some.run(table, threads=int(rng.integers(1, 3))))) == found
    matcher, pushed, begin = some.open(), list[Row](), 0
    while begin < EVENTS:
        size = int(rng.integers(1, EVENTS // 3))
        pushed += rows_of(matcher.push(table.slice(begin, size).combine_chunks().to_batches()[0]))
        begin += size
        if rng.integers(3) == 0:
            matcher = some.restore(matcher.snapshot())
    assert sorted([*pushed, *rows_of(matcher.finish())]) == found
