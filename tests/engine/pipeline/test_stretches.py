"""Runs by contiguity that no event forks, fused, against block by block and the naive matcher."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

import sase
from sase.lang.parser import parse_query
from sase.planning.engine_plan import Options
from tests import naive
from tests.engine.pipeline.test_fused_lines import found, in_two_threads, taken
from tests.engine.pipeline.unfused import unfused
from tests.seeds import draw_numbers, share

__all__ = ["taken"]
PARTITION, STRICT = "partition_contiguity", "strict_contiguity"
# Runs by strict contiguity in the second slice of time, with events that have other rows than
# places.
SLICED = 335845857000017
# Two conditions on the same two events that exclude each other, and some that nearly do.
APART = [("<", ">"), ("<", ">="), ("<=", ">"), (">", "<"), ("=", "!="), ("<", "="), (">=", "<")]
TOUCHING = [("<=", ">="), ("<", "<="), ("!=", "<"), ("=", ">="), ("!=", ">="), ("=", "<=")]


class Shape(NamedTuple):
    """A pattern, the series in it that the component behind it may follow, and this one's event."""

    pattern: str
    series: str
    behind: str


SHAPES = [
    Shape("A a, A+ b[], A+ c[]", "b", "c[1]"),
    Shape("ANY a, ANY+ b[], ANY+ c[]", "b", "c[1]"),
    Shape("A+ b[], A+ c[]", "b", "c[1]"),
    Shape("ANY+ b[], A c, ANY d", "b", "c"),
    Shape("A b0, ANY{2,} b[], ANY{1,2} c[]", "b", "c[1]"),
    Shape("ANY{2} a[], ANY{1,3} b[], ANY{2,} c[]", "b", "c[1]"),
    Shape("B+ a[], A+ b[], A+ c[], B+ d[]", "b", "c[1]"),
]
WINDOWS = [
    "WITHIN 9",
    "WITHIN 30 EVENTS",
    "WITHIN 6 EVENTS PER PARTITION",
    "",
    "WITHIN 5 INCLUSIVE",
]
SIMPLE = ["", "", "AND {0}[i].v != 3", "AND {1}.v % 3 != 1", "AND {0}[1].name = 'x'"]


def stream(random: Random, count: int, ties: float) -> pa.Table:
    """Events in the order of time, with few keys; values walk, so that they often turn."""
    steps = [0 if random.random() < ties else random.choice([1, 1, 2]) for _ in range(count)]
    values = np.cumsum([random.choice([-1, 0, 1]) for _ in range(count)])
    floats = [random.choice([-0.0, 0.0, float("inf"), v / 4, v / 4]) for v in values.tolist()]
    return pa.table({
        "ts": pa.array(np.cumsum(steps), pa.int64()),
        "type": random.choices("AB", [5, 1], k=count),
        "id": pa.array([random.choice([-1, 0, 3]) for _ in range(count)], pa.int16()),
        "v": pa.array(values, random.choice([pa.int16(), pa.int64()])),
        "f": pa.array(floats, pa.float64()),
        "name": [random.choice("xxy") for _ in range(count)],
    })  # fmt: skip


def query(random: Random, pairs: list[tuple[str, str]]) -> str:
    """A series that falls, say, and behind it one that rises, in one of many forms."""
    shape, strategy = random.choice(SHAPES), random.choice([PARTITION, PARTITION, STRICT])
    (sign, other), attribute = random.choice(pairs), random.choice("vvf")
    b, c = shape.series, shape.behind
    before = f"{b}[i-1].{attribute}"
    further = random.choice([
        f"{b}[i].{attribute} {sign} {before}", f"NOT {b}[i].{attribute} {opposite(sign)} {before}",
        f"{before} {turned(sign)} {b}[i].{attribute}",
    ])  # fmt: skip
    conditions = [further, f"{c}.{attribute} {other} {b}[{b}.len].{attribute}"]
    if "[" in c and random.random() < 0.7:
        conditions.append(f"c[i].v {random.choice(['<', '>', '!=', '<='])} c[i-1].v")
    if " b[]" in shape.pattern and shape.pattern.startswith(("A a,", "ANY a,")):
        conditions.append(f"b[1].v {random.choice(['<', '>='])} a.v")
    conditions.append(random.choice(SIMPLE).format(b, c).removeprefix("AND "))
    random.shuffle(conditions)
    window = random.choice(WINDOWS)
    is_by_key = strategy == PARTITION or "PER" in window or random.random() < 0.5
    asked = " AND ".join(["[id]"] * is_by_key + [*filter(None, conditions)])
    return f"EVENT SEQ({shape.pattern}) WHERE {strategy} {{ {asked} }} {window}"


def turned(sign: str) -> str:
    return {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(sign, sign)


def opposite(sign: str) -> str:
    return {"<": ">=", ">": "<=", "<=": ">", ">=": "<", "=": "!=", "!=": "="}[sign]


def options(random: Random) -> Options:
    return Options(
        block=random.choice([1, 5, 64, 1000]), chunk=random.choice([1, 3, 64, 4096]),
        stack=random.choice([1, 4, 64]),
    )  # fmt: skip


@pytest.mark.random
@pytest.mark.parametrize("seed", [SLICED, *draw_numbers(share(60))])
def test_it_finds_and_counts_what_blocks_do(seed: int, taken: list[tuple[int, int]]) -> None:
    """In the same order, with any room, and by key or slice in threads."""
    random, count = Random(seed), 300
    text, events = query(random, APART), stream(random, count, random.choice([0, 0.2]))
    plan = replace(sase.compile(text, events), options=options(random))
    expected = found(unfused(plan), events, threads=1)
    assert taken == []
    assert found(plan, events, threads=1) == expected
    assert taken == [(count, count)]
    assert in_two_threads(plan, events) == expected[:2]
    assert all(size == reached for size, reached in taken)


@pytest.mark.random
@pytest.mark.parametrize("seed", draw_numbers(share(40)))
def test_what_nearly_excludes_each_other_is_found_too(
    seed: int, taken: list[tuple[int, int]]
) -> None:
    """Both may hold of one event, so that runs fork, and none is fused."""
    random = Random(seed)
    for pairs in (TOUCHING, APART):
        text, events = query(random, pairs), stream(random, 40, random.choice([0, 0.2]))
        matches = sase.match(text, events, threads=1)
        rows = events.to_pylist()
        expected = naive.match(parse_query(text), rows, time="ts", type="type", seq=None)
        names = matches.rows.column_names
        wanted = [
            {
                name: [*each] if pa.types.is_list(matches.rows.schema.field(name).type) else each[0]
                for name, each in zip(names, match.events, strict=True)
            }
            for match in expected
        ]
        assert matches.rows.to_pylist() == wanted, text
        assert taken == ([] if pairs is TOUCHING else [(40, 40)])
        taken.clear()


def turns(random: Random) -> str:
    """Some components by turns of prices that fall and rise, the first one of which may be any."""
    sizes = [
        random.choice(["", "+", "+", "{2,}", "{1,3}", "{2}", "{1}"])
        for _ in range(random.randint(1, 5))
    ]
    begin = random.choice(["A", "A", "ANY", "A+", "A{2,}"])
    names, kinds = "abcdef"[: len(sizes) + 1], [begin] + [f"ANY{each}" for each in sizes]
    pattern = ", ".join(
        f"{kind} {name}{'[]' * kind.endswith(('+', '}'))}"
        for kind, name in zip(kinds, names, strict=True)
    )
    conditions = [f"{names[0]}[i].v > {names[0]}[i-1].v"] if "a[]" in pattern else []
    for place, (before, name) in enumerate(pairwise(names)):
        sign = "<>"[place % 2]
        last = f"{before}[{before}.len]" if f"{before}[]" in pattern else before
        if f"{name}[]" not in pattern:
            conditions.append(f"{name}.v {sign} {last}.v")
        else:
            conditions.append(f"{name}[1].v {sign} {last}.v")
            conditions.append(f"{name}[i].v {sign} {name}[i-1].v")
    if random.random() < 0.3:
        conditions.append(f"a{'[1]' * ('a[]' in pattern)}.v % 3 != 1")
    asked, strategy = " AND ".join(conditions), random.choice([PARTITION, PARTITION, STRICT])
    return f"EVENT SEQ({pattern}) WHERE {strategy} {{ [id] AND {asked} }} {random.choice(WINDOWS)}"


@pytest.mark.random
@pytest.mark.parametrize("seed", draw_numbers(share(60)))
def test_runs_that_go_on_alike_and_that_do_not(seed: int, taken: list[tuple[int, int]]) -> None:
    """Of any number of turns: those of one key may be at several components at a time."""
    random, count = Random(seed), 300
    text, events = turns(random), stream(random, count, random.choice([0, 0, 0.2]))
    plan = replace(sase.compile(text, events), options=options(random))
    expected = found(unfused(plan), events, threads=1)
    assert found(plan, events, threads=1) == expected, text
    assert taken == [(count, count)]
    assert in_two_threads(plan, events) == expected[:2], text


# Of values that fall twice, and then rise.
FALLING = [([2], [3]), ([1, 2], [3])]


@pytest.mark.parametrize(
    ("pattern", "types", "times", "expected"),
    [
        (
            "A+ b[], A+ c[]", "AAAA", [1, 2, 3, 4],
            [([1], [2]), ([0, 1], [2]), ([2], [3]), ([1], [2, 3]), ([0, 1], [2, 3])],
        ),
        # An event of the partition that no component admits.
        ("A+ b[], A+ c[]", "AABA", [1, 2, 3, 4], []),
        # Simultaneous ones.
        ("A+ b[], A+ c[]", "AAAA", [1, 2, 2, 3], [([2], [3])]),
        # A run that has as many events as it may is over; with too few there is no match.
        (
            "A{2} b[], A{1,2} c[]", "AAAAA", [1, 2, 3, 4, 5],
            [([0, 1], [2]), ([0, 1], [2, 3])],
        ),
        ("A{1,2} b[], A+ c[]", "AAAA", [1, 2, 3, 4], FALLING),
        ("A{2,} b[], A{2} c[]", "AAAA", [1, 2, 3, 4], [([0, 1], [2, 3])]),
    ],
)  # fmt: skip
def test_what_ends_a_stretch(
    pattern: str, types: str, times: list[int], expected: Any, taken: list[tuple[int, int]]
) -> None:
    count = len(times)
    values = [3, 2, 1, 2] if expected is FALLING else [2, 1, 2, 3, 4][:count]
    events = pa.table({"ts": times, "type": [*types], "id": [1] * count, "v": values})
    text = (
        f"EVENT SEQ({pattern}) WHERE {PARTITION}"
        " { [id] AND b[i].v < b[i-1].v AND c[1].v > b[b.len].v }"
    )
    found = [(row["b"], row["c"]) for row in sase.match(text, events).rows.to_pylist()]
    assert found == expected
    assert taken == [(count, count)]


def test_the_streams_are_worth_it() -> None:
    shares = []
    for seed in range(60):
        random = Random(seed)
        text = query(random, APART)
        shares.append(len(sase.match(text, stream(random, 300, random.choice([0, 0.2])))) > 0)
    assert np.mean(shares) > 0.8


@pytest.mark.parametrize(
    "condition",
    [
        "b[i].w < b[i-1].w AND c[1].w > b[b.len].w",  # of which some are NULL
        "b[i].v < b[1].v AND c[1].v >= b[1].v",
        "b[i].v < b[i-1].v AND c[1].v > b[b.len].v AND c.len + 0 > 1",
        "b[i].v < b[i-1].v AND c[1].v > b[b.len].v AND c[i].v > avg(b[].v)",
        "b[i].v < b[i-1].v AND c[1].f > b[b.len].f",
        "b[i].v < b[i-1].v AND c[1].v > b[1].v",
        "b[i].name < b[i-1].name AND c[1].name > b[b.len].name",
        "b[i].v < b[i-1].v + 1 AND c[1].v >= b[b.len].v + 1",
    ],
)
def test_what_asks_more_is_not_swept(condition: str, taken: list[tuple[int, int]]) -> None:
    events = stream(Random(1), 400, 0)
    events = events.append_column("w", pa.array([n % 9 if n % 50 else None for n in range(400)]))
    text = f"EVENT SEQ(ANY+ b[], ANY+ c[]) WHERE {PARTITION} {{ [id] AND {condition} }} WITHIN 40"
    assert len(sase.match(text, events)) > 0
    assert not any(reached for _, reached in taken)


def test_undeclared_values_prove_nothing(taken: list[tuple[int, int]]) -> None:
    """A condition on an attribute that a type does not declare is true, so both may be."""
    text = (
        f"EVENT SEQ(ANY(A, B)+ b[], ANY(A, B)+ c[]) WHERE {PARTITION}"
        " { [id] AND b[i].v < b[i-1].v AND c[1].v >= b[b.len].v }"
    )
    rows = [{"ts": n, "type": kind, "id": 1, "v": n} for n, kind in enumerate("AABB")]
    by_type = {"A": ["id", "v"], "B": ["id"]}
    table = pa.Table.from_pylist(rows)
    matches = sase.match(text, table, types=by_type)
    rises = {"b": [0], "c": [1, 2, 3]}
    assert rises in matches.rows.to_pylist()
    assert {"b": [0], "c": [1, 2]} in matches.rows.to_pylist()
    # No condition is on B: an event of it is a further b, and the first c.
    assert {"b": [2], "c": [3]} in matches.rows.to_pylist()
    assert {"b": [1, 2], "c": [3]} in matches.rows.to_pylist()
    assert taken == []


def test_long_runs_of_many_keys(taken: list[tuple[int, int]]) -> None:
    """Rooms are enlarged, and matches of one event share their parts."""
    count, keys = 2_400, 200
    number = np.arange(count) // keys
    events = pa.table({
        "ts": range(count), "type": ["A"] * count, "id": np.arange(count) * 7 % keys,
        "v": np.where(number < 8, -number, number),
    })  # fmt: skip
    text = (
        f"EVENT SEQ(A+ b[], A+ c[]) WHERE {PARTITION}"
        " { [id] AND b[i].v < b[i-1].v AND c[1].v > b[b.len].v AND c[i].v > c[i-1].v }"
    )
    plan = sase.compile(text, events)
    plan = replace(plan, options=Options(block=512, chunk=2, stack=1 << 10))
    expected = unfused(plan).run(events).rows
    assert plan.run(events).rows == expected
    assert len(expected) > 5_000
    assert taken == [(count, count)]


def test_explain_says_which_conditions_exclude_each_other() -> None:
    events = stream(Random(1), 200, 0)
    text = "EVENT SEQ(A a, A+ b[], A+ c[]) WHERE partition_contiguity {{ [id] AND {} AND {} }}"
    proved = text.format("b[i].v < b[i-1].v", "c[1].v >= b[b.len].v")
    told = sase.explain(proved, events).to_text()
    assert "(in stretches)" in told
    assert "no event is both a further b and the first c: their conditions exclude" in told
    assert "driven: loaded events by the fused lines" in told
    touching = sase.explain(text.format("b[i].v <= b[i-1].v", "c[1].v >= b[b.len].v"), events)
    assert "stretches" not in touching.to_text()
    assert "declined shared lines, fused lines: runs may fork" in touching.to_text()


def test_each_of_three_columns_is_compared_with_the_event_before(
    taken: list[tuple[int, int]],
) -> None:
    rng, count = np.random.default_rng(3), 3000
    values = {name: rng.integers(0, 5, count) for name in "xyz"}
    events = pa.table({"ts": range(count), "type": ["A"] * count, **values})
    falls = "b[1].x < a.x AND b[i].x < b[i-1].x AND b[i].y >= b[i-1].y AND b[i].z != b[i-1].z"
    rises = "c[1].x > b[b.len].x AND c[i].x > c[i-1].x AND c[i].z > c[i-1].z"
    text = f"EVENT SEQ(A a, A+ b[], A+ c[]) WHERE strict_contiguity {{ {falls} AND {rises} }}"
    plan = sase.compile(f"{text} WITHIN 50", events)
    assert "(in stretches)" in sase.explain(f"{text} WITHIN 50", events).to_text()
    expected = unfused(plan).run(events).rows
    assert plan.run(events).rows == expected
    assert len(expected) > 100
    assert taken == [(count, count)]
