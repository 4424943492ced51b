"""Conditions on the greatest and the least value of a series, which are decided early."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

import sase
from sase.engine.operators.kleene.walk_back_evaluation import WalkBackEvaluationState
from sase.lang.parser import parse_query
from sase.planning.engine_plan import Options
from tests.naive import Match, match
from tests.seeds import draw_numbers

RECIPES = ("nfab", "postponed", "postponed_filters", "optimized")
# Operands of a comparison: extremes, and the values that they are compared with.
EXTREMES = (
    "max(b[].v)", "min(b[].v)", "max(b[..i].v)", "min(b[..i].v)", "max(b[..i-1].v)",
    "min(b[..i-1].v)", "max(b[].v) + 1", "-min(b[].v)", "2 * max(b[].v)", "80% * max(b[].v)",
)  # fmt: skip
OTHERS = ("2", "3", "a.v", "c.v", "b[i].v", "b[1].v", "a.v + 1", ":x")
LENGTHS = ("b.len >= 2", "b.len <= 2", "b.len = 3", "b.len > 1", "2 <= b.len", "b.len < 9")
OPERATORS = ("<", "<=", ">", ">=", "=", "!=")
PATTERNS = (
    "SEQ(A a, B+ b[], C c)", "SEQ(A a, B+ b[])", "SEQ(A a, B* b[], C c)", "SEQ(B+ b[], C c)",
    "SEQ(A a, B{2,} b[], C? c)", "SEQ(A? a, B{1,3} b[], C c)", "SEQ(A a, ANY(B, D)+ b[], C c)",
    "SEQ(A+ a[], B+ b[], C c)", "SEQ(A a, B+ b[], C c, D+ d[])",
)  # fmt: skip
WINDOWS = ("", " WITHIN 4", " WITHIN 6 EVENTS", " WITHIN 9")


def events(random: Random, count: int = 13) -> list[dict[str, Any]]:
    """A stream with values that are often equal, and NULL at times."""
    kinds = random.choices("ABCD", (2, 6, 2, 1), k=count)
    values = [random.choice((0, 1, 2, 3, 4, None)) for _ in kinds]
    return [
        {"ts": n - n % random.choice((1, 1, 2)), "type": kind, "k": random.randrange(2), "v": value}
        for n, (kind, value) in enumerate(zip(kinds, values, strict=True))
    ]


def condition(random: Random, pattern: str) -> str:
    """A comparison of an extreme."""
    known = [each for each in OTHERS if each[0] not in "ac" or f" {each[0]}" in pattern]
    sides = [random.choice(EXTREMES), random.choice(known)]
    if "a[]" in pattern:
        sides[1] = sides[1].replace("a.v", "a[1].v")
    if random.random() < 0.15:
        return f"{sides[0]} BETWEEN 1 AND {random.randrange(4)}"
    random.shuffle(sides)
    return random.choice(OPERATORS).join(sides)


def query(random: Random) -> str:
    """A query with one or two of them."""
    pattern = random.choice(PATTERNS)
    parts = [condition(random, pattern) for _ in range(random.choice((1, 1, 2)))]
    parts += [random.choice(LENGTHS)] * (random.random() < 0.3)
    parts += ["[k]"] * (random.random() < 0.3)
    strategy = random.choice(("skip_till_any_match",) * 3 + ("skip_till_next_match",))
    window = random.choice(WINDOWS)
    return f"EVENT {pattern} WHERE {strategy} {{ {' AND '.join(parts)} }}{window}"


@pytest.mark.heavy
@pytest.mark.random
@pytest.mark.parametrize("part", range(4))
def test_what_is_decided_early_changes_no_match(part: int) -> None:
    small = Options(block=3, chunk=2, stack=2)
    for number in draw_numbers(160)[part::4]:
        random = Random(number)
        text, rows = query(random), sorted(events(random), key=lambda row: row["ts"])
        params = {"x": random.randrange(5)} if ":x" in text else None
        found = match(parse_query(text), rows, params=params)
        expected = [rows_of(each, set(re.findall(r"(\w)\[\][,)]", text))) for each in found]
        for recipe in RECIPES:
            plan = sase.compile(text, rows, plan=recipe, params=params)
            for options in (plan.options, small):
                got = replace(plan, options=options).run(rows, threads=1)
                assert got.rows.to_pylist() == expected, (number, recipe, text, rows)


def rows_of(found: Match, lists: set[str]) -> dict[str, Any]:
    """The row numbers of a match of the naive matcher, as the engine tells them."""
    bound = zip(found.names, found.events, strict=True)
    return {n: [*rows] if n in lists else (*rows, None)[0] for n, rows in bound}


# ---------------------------------------------------------------- their savings

ONE_C = "EVENT SEQ(A a, B+ b[], C c) WHERE {}"
PAPER = "A B6 B7 B9 C{}"


def stream(text: str) -> list[dict[str, Any]]:
    """Events by their types and values."""
    parts = [(each[0], int(each[1:]) if each[1:] else None) for each in text.split()]
    return [{"ts": n, "type": kind, "v": value} for n, (kind, value) in enumerate(parts)]


def counted(condition: str, text: str, recipe: str = "postponed_filters") -> dict[str, Any]:
    """The counters of a run, with its matches."""
    found = sase.match(ONE_C.format(condition), stream(text), plan=recipe)
    return {**dict(found.report.counters)["RunEvaluation"], "found": len(found)}


@pytest.mark.parametrize(
    ("condition", "text", "matches", "walks", "visited"),
    [
        ("c.v < max(b[].v)", PAPER.format(10), 0, 0, 0),
        ("c.v < max(b[].v)", PAPER.format(8), 4, 1, 14),
        ("max(b[..i].v) < 8", PAPER.format(8), 3, 1, 6),
        ("max(b[].v) < 8", PAPER.format(8), 3, 1, 6),
        ("min(b[].v) >= 7", PAPER.format(8), 3, 1, 6),
        ("max(b[].v) > 9", PAPER.format(8), 0, 0, 0),
        ("b.len <= 1", PAPER.format(8), 3, 1, 6),
        ("b[i].v > max(b[..i-1].v)", "A B9 B7 B6 C8", 3, 1, 9),
        ("b[i].v > b[i-1].v", "A B9 B7 B6 C8", 3, 1, 9),
    ],
)
def test_walks_and_what_they_look_at(
    condition: str, text: str, matches: int, walks: int, visited: int
) -> None:
    early, late = counted(condition, text), counted(condition, text, "postponed")
    assert (early["found"], early["walks"], early["visited"]) == (matches, walks, visited)
    assert late["found"] == matches
    assert late["walks"] == 1
    assert late["visited"] >= visited
    assert early["dismissed"] == 1 - walks


@pytest.mark.parametrize(
    ("condition", "text", "matches", "instances", "walks", "visited"),
    [
        # Each B is greater than all before it, so that none is a further one.
        ("b[i].v <= max(b[..i-1].v)", "A B1 B2 B3 C", 3, 5, 1, 6),
        ("b[i].v <= max(b[..i-1].v) AND b.len >= 2", "A B1 B2 B3 C", 0, 5, 0, 0),
        ("b[i].v >= min(b[..i-1].v)", "A B3 B2 B5 C", 5, 5, 1, 10),
        # None may be the first one, and none of the rest follows it.
        ("max(b[..i].v) > 5", "A B1 B2 B3 C", 0, 1, 0, 0),
        ("max(b[..i].v) > 5", "A B1 B6 B3 C", 2, 4, 1, 5),
        ("max(b[..i].v) > 5", "A B1 B B6 B C", 2, 4, 1, 5),
    ],
)
def test_an_event_that_no_candidate_before_it_allows_is_none(
    condition: str, text: str, matches: int, instances: int, walks: int, visited: int
) -> None:
    """SASE++, 5.2: of false-value consistent conditions on each event of a series."""
    early, late = counted(condition, text), counted(condition, text, "postponed")
    assert early["found"] == late["found"] == matches
    assert (early["instances"], early["walks"], early["visited"]) == (instances, walks, visited)
    assert late["walks"] == 1
    assert late["visited"] > visited


def test_an_event_is_kept_that_too_many_before_it_do_not_decide_on() -> None:
    """The condition on an event is bounded: a candidate far before it may allow it."""
    rows = stream("B9 " + "B1 " * 140 + "B5 C")
    query = (
        "EVENT SEQ(B+ b[], C c) WHERE b[i].v <= max(b[..i-1].v) AND b.len = 2 AND b[b.len].v = 5"
    )
    found = sase.compile(query, rows, plan="postponed_filters").run(rows).rows.to_pylist()
    assert found == [{"b": [0, 141], "c": 142}]


def test_a_condition_on_neighbours_does_not_filter() -> None:
    """SASE++, 5.2: a condition that an event fails may hold if it is not chosen."""
    values = (0.1, 0.2, 0.15, 0.19, 0.25)
    rows = [{"ts": n, "type": "B", "v": value} for n, value in enumerate(values)]
    rows += [{"ts": 9, "type": "C", "v": 0.0}]
    query = "EVENT SEQ(B+ b[], C c) WHERE b[i].v >= b[i-1].v"
    found = sase.match(query, rows, plan="postponed_filters").rows.to_pylist()
    assert [0, 2, 3, 4] in [each["b"] for each in found]


def test_what_is_safe_is_not_asked_again() -> None:
    """A walk that has many matches asks all candidates once; one candidate may make it unsafe."""
    many = "A " + "B3 B4 " * 4
    safe = counted("max(b[].v) < c.v", many + "C9")
    assert (safe["found"], safe["safe"], safe["failed"]) == (255, 1, 0)
    assert safe["bound"] == 7
    unsafe = counted("max(b[].v) < c.v", many + "B C9")
    assert (unsafe["found"], unsafe["safe"], unsafe["failed"]) == (510, 0, 1)
    assert unsafe["bound"] == 511


def test_what_others_decide_is_asked_where_some_are_safe() -> None:
    found = counted("max(b[].v) < c.v AND sum(b[].v) < 12", "A " + "B3 B4 " * 4 + "C9")
    late = counted("max(b[].v) < c.v AND sum(b[].v) < 12", "A " + "B3 B4 " * 4 + "C9", "postponed")
    assert found["found"] == late["found"] > 8
    assert (found["safe"], found["bound"]) == (1, 255)


@pytest.mark.parametrize(("stack", "least"), [(1, 7), (2, 5)])
def test_candidates_are_asked_within_the_memory_of_ways(
    stack: int, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the ways of a walk fill all room when it tests for safe conditions."""
    behind = list[Any]()

    def fenced(state: WalkBackEvaluationState) -> None:
        make_room(state)
        ways = np.append(state._walk.ways, np.full_like(state._walk.ways[:1], -7), axis=0)
        state._walk = state._walk._replace(ways=ways[:-1])
        behind.append(ways[-1])

    make_room = WalkBackEvaluationState._make_room
    monkeypatch.setattr(WalkBackEvaluationState, "_make_room", fenced)
    rows = stream("A1 " * (least + 8))
    query = f"EVENT A{{{least},}} a[] WHERE max(a[].v) < 2"
    plan = sase.compile(query, rows, plan="postponed_filters")
    found = replace(plan, options=Options(3, 2, stack)).run(rows)
    assert dict(found.report.counters)["RunEvaluation"]["safe"] > 0
    assert behind and (np.array(behind) == -7).all()


def test_a_stream_goes_on_from_where_no_walk_was() -> None:
    """A state is restored also where the last event had too few candidates before it."""
    events = [{"ts": ts, "type": "A"} for ts in range(3)]
    plan = sase.compile("EVENT A{2,} a[] WITHIN 9", events, plan="postponed_filters")
    matcher, found = plan.open(), list[Any]()
    for event in events:
        found += matcher.push([event]).rows.to_pylist()
        matcher = plan.restore(matcher.snapshot())
    assert [each["a"] for each in found] == [[0, 1], [1, 2], [0, 1, 2], [0, 2]]
