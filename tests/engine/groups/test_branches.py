"""Repeated groups in patterns of several branches: the matches of the naive matcher, in order."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest

import sase
from sase.lang.parser import parse_query
from tests import naive
from tests.drawing.examples import example

QUERIES = {
    "one has a group": "SEQ(X x, (A a)+ g[]) OR SEQ(X x, B b) WHERE g.len = 1 AND a.ts < 50",
    "two groups": "SEQ(X x, (SEQ(A a, B b))+ g[]) OR SEQ(X x, (SEQ(A e, C c) OR B d)+ h[], Y y)",
    "a group in both": """
        SEQ(X x, (SEQ(A a, B b))+ g[], Y y) OR SEQ(X x, (SEQ(A a, C c) OR B b)+ g[], Y y)
        WHERE a.v <= b.v HAVING g.len < 3""",
    "the same events": "SEQ(ANY(A, B) p, (ANY(A,B) a)+ g[]) OR SEQ((ANY(A,B) a)+ g[], ANY(A,B) p)",
    "lengths": "SEQ((ANY(A,B)+ a[])+ g[], X x) OR SEQ((ANY(A,B)+ a[])+ g[], B b, X x)",
    "returned": """
        SEQ(A a, (B b OR SEQ(C c, X x))* g[], (Y y)?) WITHIN 9
        RETURN g.len AS n, g[1].b.v AS v, y.v AS w, sum(g[].c.v) AS s""",
    "an absence at one end": """
        SEQ(A a, (SEQ(B b, X x))+ g[], !(Y y)) OR SEQ(A a, (SEQ(B b, X x))+ g[], C c) WITHIN 6""",
    "the same mapping": """
        SEQ(A a, (B b)+ g[]) OR SEQ(A a, (B b)+ g[], C? c) WHERE skip_till_next_match""",
}


def events(seed: int) -> list[dict[str, Any]]:
    random = Random(seed)
    return [
        {
            "ts": n // 2 if seed % 2 else n,
            "type": random.choice("ABCXYAB"),
            "v": random.randrange(4),
        }
        for n in range(10)
    ]


def _rows(bound: Any) -> Any:
    """Rows as the naive matcher has them, however deep they stand."""
    match bound:
        case None:
            return ()
        case dict():
            return tuple(map(_rows, bound.values()))
        case list():
            return tuple(_rows(each) if isinstance(each, dict) else each for each in bound)
    return (bound,)


@pytest.mark.heavy
@pytest.mark.parametrize("name", QUERIES)
def test_the_engine_finds_what_the_naive_matcher_finds(name: str) -> None:
    query, found = f"EVENT {QUERIES[name]}", 0
    for seed in range(14):
        given = events(seed)
        wanted = naive.match(parse_query(query), given, time="ts", type="type", seq=None)
        matches = sase.match(query, given)
        assert [_rows(each) for each in matches.rows.to_pylist()] == [m.events for m in wanted]
        if wanted and wanted[0].values is not None:
            returned = [[row[each] for each in wanted[0].values] for row in matches]
            assert repr(returned) == repr([list((m.values or {}).values()) for m in wanted])
        found += len(wanted)
    assert found >= 3


@pytest.mark.parametrize("name", QUERIES)
def test_pushes_and_snapshots_in_between_find_the_same(name: str) -> None:
    query, given = f"EVENT {QUERIES[name]}", events(4)
    plan = sase.compile(query, given)
    matcher, found = plan.open(), list[Any]()
    for row in given:
        found += matcher.push([row]).to_pylist()
        matcher = plan.restore(matcher.snapshot())
    found += matcher.finish().to_pylist()
    assert repr(found) == repr(sase.match(query, given).to_pylist())


@pytest.mark.parametrize(
    ("form", "least"),
    [("groups", 60), ("groups in branches", 60), ("groups that look back", 160)],
)
def test_conditions_mention_other_iterations_in_an_or(form: str, least: int) -> None:
    asked = [
        conditions
        for number in range(300)
        if " OR " in (conditions := " AND ".join(example(number, form).query.conditions))
        and re.search(r"g\d\[(1|i-1)\]", conditions)
    ]
    assert len(asked) >= least
    assert sum(".len" in text for text in asked) >= least // 10
