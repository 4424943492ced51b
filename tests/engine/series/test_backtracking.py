"""Backtracking: the order in which runs meet events changes neither matches nor what runs meet."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

import sase
from sase.engine.options import Options

RANDOM = Random(3)
EVENTS = [
    {"ts": n, "type": "S", "k": RANDOM.randrange(2), "v": RANDOM.randrange(9)} for n in range(200)
]
CONDITIONS = ("", "AND a[i].v > a[i-1].v", "AND a[i].v > min(a[..i-1].v)")


def ran(query: str, recipe: str, block: int) -> tuple[list[Any], dict[str, Any]]:
    plan = sase.compile(query, EVENTS, plan=recipe)
    matches = replace(plan, options=Options(block=block, chunk=3, stack=2)).run(EVENTS, threads=1)
    return matches.rows.to_pylist(), dict(matches.report.counters)["RunEvaluation"]


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("strategy", ["skip_till_next_match", "partition_contiguity"])
def test_runs_meet_the_same_events(strategy: str, condition: str) -> None:
    query = f"EVENT SEQ(S+ a[], S b) WHERE {strategy} {{[k] {condition} AND b.v < 4}} WITHIN 12"
    for block in (1, 64):
        known, counted = ran(query, "nfab", block)
        found, there = ran(query, "backtrack", block)
        assert found == known and len(found) > 50
        for name in ("runs", "steps", "matches"):
            assert there[name] == counted[name], name


def test_it_goes_back_where_a_run_might_have_stayed() -> None:
    """What a run might have taken it may ignore under skip till any match alone."""
    counted = [
        ran(f"EVENT SEQ(S a, S b, S c) WHERE {strategy} {{[k] AND a.v < 3 AND b.v < 3}} WITHIN 6",
            "backtrack", 64)[1]["backtracked"]
        for strategy in ("partition_contiguity", "skip_till_next_match", "skip_till_any_match")
    ]  # fmt: skip
    assert counted[0] == counted[1] == 0 < counted[2]
