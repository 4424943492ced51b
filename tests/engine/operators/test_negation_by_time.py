"""Negation with an index in order of time alone: the naive matcher's matches, in any cuts."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random
from typing import Any

import pytest

import sase
from sase.lang.parser import parse_query
from sase.planning.engine_plan import Options
from sase.planning.plan.nodes import Negation, require
from tests.engine.series.test_early_filters import rows_of
from tests.naive import match
from tests.seeds import draw_numbers, share

PATTERNS = (
    "SEQ(A a, !(N n), B b)", "SEQ(!(N n), A a, B b)", "SEQ(A a, B b, !(N n))",
    "SEQ(A a, !(N n), B b, !(C m))", "SEQ(!(C m), A a, !(N n), B b)",
    "SEQ(A+ a[], !(N n), B b)", "SEQ(!(N n), A a, B* b[])", "SEQ(A a, B* b[], !(N n))",
    "SEQ(A a, B? b, !(N n), C? c)",
)  # fmt: skip


def query(random: Random) -> str:
    """A query with a key, and at times a condition between a negative component and the others."""
    pattern, parts = random.choice(PATTERNS), ["[k]"]
    if random.random() < 0.3:
        parts.append("n.v >= a[1].v" if "a[]" in pattern else "n.v >= a.v")
    if random.random() < 0.3:
        parts.append("[id]")
    window = random.choice((" WITHIN 4", " WITHIN 9", " WITHIN 6 INCLUSIVE"))
    return f"EVENT {pattern} WHERE {' AND '.join(parts)}{window}"


def events(random: Random) -> list[dict[str, Any]]:
    """A short stream with ties and NULL, of some partitions."""
    now, rows = 0, []
    for _ in range(18):
        now += random.choice((0, 1, 1, 1, 2))
        key, value = random.choice((1, 1, 2, None)), random.choice((0, 1, 2, None))
        kind, other = random.choice("AAABBBCNN"), random.choice((1, 1, 1, 2))
        rows.append({"ts": now, "type": kind, "k": key, "id": other, "v": value})
    return rows


@pytest.mark.random
@pytest.mark.parametrize("part", range(3))
def test_the_same_matches(part: int) -> None:
    for number in draw_numbers(share(110))[part::3]:
        random = Random(number)
        text, rows = query(random), events(random)
        lists = set(re.findall(r"(\w)\[\][,)]", text))
        expected = [rows_of(each, lists) for each in match(parse_query(text), rows)]
        plan = sase.compile(text, rows, plan="negation_by_time")
        assert require(plan.operators, Negation).by_time
        assert plan.run(rows).rows.to_pylist() == expected, (number, text, rows)
        small = replace(plan, options=Options(random.choice((1, 3, 20)), random.choice((1, 3)), 2))
        pieces, size, matcher = list[Any](), random.choice((1, 2, 5)), small.open()
        for begin in range(0, len(rows), size):
            pieces += matcher.push(rows[begin : begin + size]).rows.to_pylist()
            if random.random() < 0.3:
                matcher = small.restore(matcher.snapshot())
        assert pieces + matcher.finish().rows.to_pylist() == expected, (number, text, rows)
