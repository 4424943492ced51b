"""Trees that the optimizer chose find the matches of the naive matcher, in every way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sase
from sase.api.compiled_query import compile_query
from sase.api.plan import Plan
from sase.binding.input_options import InputOptions
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.sources.discovered import Discovered
from sase.lang.parser import parse_query
from sase.planning.engine_plan import Options
from sase.planning.plan.nodes import SequenceConstruction, require
from sase.planning.statistics import Statistics
from tests import naive

ROWS, OTHERS = 140, 26
Rows = list[dict[str, Any]]


def stream(random: Random) -> Rows:
    """One or two events of R in many; few of those around are of the query, some of no key."""
    kinds = ["R"] * random.randint(1, 2) + random.choices("ABCN", k=OTHERS)
    kinds += ["X"] * (ROWS - len(kinds))
    random.shuffle(kinds)
    times = sorted(random.randrange(ROWS) for _ in kinds)
    return [
        {
            "ts": time, "type": kind,
            "id": random.choice((0, 0, 1, 1, 2, None)), "v": random.randrange(5),
        }
        for time, kind in zip(times, kinds, strict=True)
    ]  # fmt: skip


def pattern(random: Random) -> str:
    """Three or four components with R anywhere, and perhaps a negative one."""
    parts = [f"{kind} {kind.lower()}" for kind in random.sample("ABC", random.randint(2, 3))]
    parts.insert(random.randint(0, len(parts)), "R r")
    if random.random() < 0.5:
        parts.insert(random.randint(0, len(parts)), "!(N n)")
    where = [] if random.random() < 0.2 else ["[id]"]
    first, second = random.sample(sorted(set("ABCR") & {part[0] for part in parts}), 2)
    conditions = ("a.v > 1", f"{first.lower()}.v <= {second.lower()}.v", "r.v + 1 < 5")
    where += [each for each in conditions if random.random() < 0.3 and named(each, parts)]
    window = random.choice(("WITHIN 40", "WITHIN 70", "WITHIN 60 INCLUSIVE", "WITHIN 55 EVENTS"))
    within = "WITHIN 50" if parts[-1].startswith("!") or parts[0].startswith("!") else window
    clause = f" WHERE {' AND '.join(where)}" if where else ""
    return f"EVENT SEQ({', '.join(parts)}){clause} {within}"


def named(condition: str, parts: Sequence[str]) -> bool:
    """Whether the variable that a condition begins with is in the pattern."""
    return any(part.endswith(f" {condition[0]}") for part in parts)


def longer(statistics: Statistics, times: int) -> Statistics:
    """The statistics of a stream that continues like this for a number of times as long."""
    assert statistics.first is not None
    assert statistics.span is not None
    return replace(
        statistics,
        rows=statistics.rows * times,
        last=statistics.first + statistics.span * times - 1,
        types=tuple(replace(each, rows=each.rows * times) for each in statistics.types),
    )


def of_long_stream(query: str, table: pa.Table) -> Statistics:
    """The statistics of a long stream of that kind."""
    known = compile_query(query, Discovered.of(table, InputOptions()))
    return longer(known.measured(Pipeline(known.unoptimized).load(table)[1], len(table)), 10_000)


def chosen(query: str, table: pa.Table) -> Plan:
    """The plan that the optimizer chooses by the statistics of a long stream of that kind."""
    known = compile_query(query, Discovered.of(table, InputOptions()))
    return known.plan(known.optimized(of_long_stream(query, table), loaded=True))


def is_tree(plan: Plan) -> bool:
    return bool(require(plan.operators, SequenceConstruction).joins)


def batch(plan: Plan, table: pa.Table, random: Random) -> Iterator[Any]:
    yield plan.run(table, threads=random.randint(1, 4))


def pushed(plan: Plan, table: pa.Table, random: Random) -> Iterator[Any]:
    """Pushed in any cuts, and now and then taken up again from a snapshot."""
    matcher, begin = plan.open(), 0
    while begin < len(table):
        end = begin + random.randint(1, 60)
        yield matcher.push(table.slice(begin, end - begin))
        if random.random() < 0.4:
            matcher = plan.restore(matcher.snapshot())
        begin = end
    yield matcher.finish()


@given(st.integers(0, 2**32), st.sampled_from((batch, pushed)))
def test_chosen_trees_find_what_the_naive_matcher_finds(seed: int, way: Any) -> None:
    random = Random(seed)
    rows, query = stream(random), pattern(random)
    table = pa.Table.from_pylist(rows)
    with patch("sase.planning.cost.tree_choice.LEAD", 0):
        plan = chosen(query, table)
    assert is_tree(plan)
    plan = replace(plan, options=Options(block=random.choice((7, 64)), chunk=3, stack=4))
    found = [row for part in way(plan, table, random) for row in part.rows.to_pylist()]
    expected = naive.match(parse_query(query), rows)
    assert [tuple(row.values()) for row in found] == [
        tuple(row for (row,) in match.events) for match in expected
    ]


def frequent_but_one(seed: int) -> pa.Table:
    """One event of R in many of other types."""
    random = Random(seed)
    kinds = [*"ABCMN" * 800, "R"]
    random.shuffle(kinds)
    rows = [{"ts": n, "type": kind, "id": random.randrange(20)} for n, kind in enumerate(kinds)]
    return pa.Table.from_pylist(rows)


@pytest.mark.parametrize(("place", "absent"), [(0, 2), (1, None), (2, 1), (3, 4), (3, None)])
def test_a_tree_is_chosen_where_a_component_is_rare(place: int, absent: int | None) -> None:
    parts = ["A a", "B b", "C c"]
    parts.insert(place, "R r")
    if absent is not None:
        parts.insert(absent, "!(M m)")
    query = f"EVENT SEQ({', '.join(parts)}) WHERE [id] WITHIN 20"
    table = frequent_but_one(place)
    assert is_tree(chosen(query, table))
    assert not is_tree(chosen(query.replace("R r", "N r"), table))
    assert chosen(query, table).run(table).rows == sase.match(query, table, plan="pais").rows


RARE = "EVENT SEQ(A a, B b, C c, R r) WHERE [id] WITHIN 20"


def explained(query: str = RARE, **options: Any) -> str:
    table = frequent_but_one(1)
    statistics = of_long_stream(query, table)
    return sase.explain(query, table, stats=statistics, **options).to_text(verbose=True)


def test_explain_says_what_is_expected_of_joins_and_of_the_walk() -> None:
    text = explained()
    assert "joins of leaf buffers" in text
    assert "note: joins are expected to take" in text


@pytest.mark.parametrize(
    ("query", "options", "reason"),
    [
        (RARE, {"limit": 3}, "LIMIT may end the walk early"),
        (RARE.replace("R r", "N n"), {}, "no component is so rare"),
        (RARE.replace("20", "2000"), {}, "joins are expected to take"),
        (RARE, {"analyze": True, "pushed": 900}, "joins pay where all events are at hand"),
    ],
)
def test_explain_says_why_the_walk_is_kept(
    query: str, options: dict[str, Any], reason: str
) -> None:
    text = explained(query, **options)
    assert "joins of leaf buffers" not in text
    (line,) = (line for line in text.splitlines() if "join_by_tree" in line and "declined" in line)
    assert f"declined: {reason}" in line


def test_a_plan_that_may_be_pushed_to_has_no_tree() -> None:
    table = frequent_but_one(1)
    assert not is_tree(sase.compile(RARE, table, stats=of_long_stream(RARE, table)))


def test_match_draws_a_sample_where_a_component_is_very_rare() -> None:
    """The number of events from which it has statistics, by which a tree may be taken."""
    table = frequent_but_one(1)
    with (
        patch("sase.planning.cost.tree_choice.LEAD", 0),
        patch("sase.api.execution.ENOUGH_FOR_RARE", len(table)),
    ):
        paths = [
            [use.path for use in sase.match(query, table).report.fused]
            for query in (RARE, RARE.replace("R r", "N n"), f"{RARE} LIMIT 3")
        ]
    assert paths[:2] == [["narrowed scan"], ["fused scan"]]
    assert "narrowed scan" not in paths[2]
