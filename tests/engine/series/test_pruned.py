"""Matches that do not overlap, where HAVING or an absence decides which of them is the first."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from random import Random
from typing import Any

import pytest

import sase
from sase.lang.parser import parse_query
from sase.planning.engine_plan import Options
from sase.planning.plan.nodes import Transformation, require
from tests.engine.series.test_early_filters import rows_of
from tests.naive import match
from tests.seeds import draw_numbers

PRUNED = ("optimized", "nfab", "postponed", "postponed_filters")
POSITIVE = ("A+ a[]", "SEQ(A+ a[], B b)", "SEQ(A a, B* b[], C? c)", "SEQ(A{1,2} a[], B+ b[])")
NEGATIVE = (
    "SEQ(A+ a[], !(N n), B b)", "SEQ(!(N n), A+ a[])", "SEQ(!(N n), A a, !(C m), B+ b[])",
    "SEQ(A a, !(N n), B* b[], ANY(A, B) c)", "SEQ(A+ a[], !(C m), !(N n), B{2,} b[])",
)  # fmt: skip
HAVING = ("a.len >= 2", "sum(a[].v) > 2", "max(a[].v) = 2", "a[a.len].v > a[1].v", "b.len = 1")
STRATEGIES = ("skip_till_any_match", "skip_till_next_match", "partition_contiguity")


def query(random: Random) -> str:
    """A query, most with HAVING, a negative component or both."""
    pattern, having, parts = random.choice(POSITIVE + NEGATIVE), "", ["[k]"]
    if " a[]" in pattern and random.random() < 0.6:
        having = random.choice([each for each in HAVING if " b[]" in pattern or "b." not in each])
    if "N n" in pattern and random.random() < 0.3:
        parts.append(
            random.choice(("n.v > 0", "n.v = a.v" if "A a," in pattern else "n.v = a[1].v"))
        )
    if " b[]" in pattern and random.random() < 0.3:
        parts.append("b[i].v >= b[i-1].v")
    strategy = random.choice(("skip_till_any_match", *STRATEGIES))
    window = random.choice(("", " WITHIN 4", " WITHIN 9")) if "(!(" not in pattern else " WITHIN 4"
    having = f" HAVING {having}" if having else ""
    limit = random.choice(("", "", "", " LIMIT 2"))
    return f"EVENT {pattern} WHERE {strategy} {{ {' AND '.join(parts)} }}{window}{having}{limit}"


def events(random: Random) -> list[dict[str, Any]]:
    """A short stream with ties and NULL, of two partitions."""
    now, rows = 0, []
    for _ in range(14):
        now += random.choice((0, 1, 1, 1, 2))
        kind, value = random.choice("AAAABBBCN"), random.choice((0, 1, 2, 3, None))
        rows.append({"ts": now, "type": kind, "k": random.choice((1, 1, 2)), "v": value})
    return rows


@pytest.mark.heavy
@pytest.mark.random
@pytest.mark.parametrize("part", range(4))
def test_the_first_that_passes_ends_others(part: int) -> None:
    for number in draw_numbers(80)[part::4]:
        random = Random(number)
        text, rows = query(random), events(random)
        found = match(parse_query(text), rows, output="non_overlap")
        lists = set(re.findall(r"(\w)\[\][,) ]", text))
        expected = [rows_of(each, lists) for each in found]
        for recipe in (*PRUNED, "backtrack_reread"):
            plan = sase.compile(text, rows, output="non_overlap", plan=recipe)
            small = replace(
                plan, options=Options(random.choice((1, 3, 20)), random.choice((1, 2, 3)), 2)
            )
            for each in (plan, small):
                got = each.run(rows, threads=1)
                assert got.rows.to_pylist() == expected, (number, recipe, text, rows)
            pieces, size, matcher = list[Any](), random.choice((1, 2, 5)), small.open()
            for begin in range(0, len(rows), size):
                pieces += matcher.push(rows[begin : begin + size]).rows.to_pylist()
                if random.random() < 0.3:
                    matcher = small.restore(matcher.snapshot())
            assert pieces + matcher.finish().rows.to_pylist() == expected, (number, recipe, text)


def test_a_room_that_is_too_small_for_one_match_grows_until_it_is_not() -> None:
    """It is made to fit how many matches are taken, but not while none is written."""
    text = "EVENT SEQ(A+ a[], !(N n), B b) WHERE partition_contiguity { [k] } LIMIT 2"
    types = ["A"] * 40 + ["B"]
    rows = [{"ts": ts, "type": name, "k": 1} for ts, name in enumerate(types)]
    for output, recipe in product(("all", "non_overlap"), PRUNED):
        plan = sase.compile(text, rows, output=output, plan=recipe)
        small = replace(plan, options=Options(1, 1, 2))
        found = small.run(rows, threads=1, timeout=60).rows.to_pylist()
        assert found == plan.run(rows).rows.to_pylist() and found


@pytest.mark.parametrize("recipe", PRUNED)
@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("EVENT A+ a[] WHERE [k] HAVING a.len >= 2", [[n, n + 1] for n in range(0, 40, 2)]),
        ("EVENT SEQ(!(X x), A+ a[]) WHERE [k] WITHIN 90 LIMIT 3", [[0], [1], [2]]),
        ("EVENT SEQ(A+ a[], !(X x), A b) WHERE [k]", [[n] for n in range(0, 40, 2)]),
    ],
)
def test_forty_events_take_no_time(recipe: str, text: str, rows: list[list[int]]) -> None:
    """They would have some 2 ** 40 matches."""
    stream = [{"ts": ts, "type": "A", "k": 1} for ts in range(40)]
    plan = sase.compile(text, stream, output="non_overlap", plan=recipe)
    found = plan.run(stream)
    assert require(plan.operators, Transformation).prunes
    assert found.rows["a"].to_pylist() == rows
    assert dict(found.report.counters)["RunEvaluation"]["matches"] < 2000


def test_backtracking_stops_at_the_first() -> None:
    stream = [{"ts": ts, "type": "A", "k": 1} for ts in range(40)]
    text = "EVENT SEQ(A+ a[], A b) WHERE [k]"
    found = sase.match(text, stream, output="non_overlap", plan="backtrack_reread", timeout=60)
    assert found.rows["a"].to_pylist() == [[n] for n in range(0, 40, 2)]
    assert dict(found.report.counters)["RunEvaluation"]["matches"] < 2000
