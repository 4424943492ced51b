"""Backtracking: the order in which runs meet events changes neither matches nor the met events."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

import sase
from sase.planning.engine_plan import Options

RANDOM = Random(3)
EVENTS = [
    {"ts": n, "type": "S", "k": RANDOM.randrange(2), "v": RANDOM.randrange(9)} for n in range(120)
]
STRATEGIES = ("skip_till_next_match", "partition_contiguity")
CONDITIONS = ("", "AND a[i].v > a[i-1].v", "AND a[i].v > min(a[..i-1].v)")


def ran(query: str, recipe: str, block: int, **rest: Any) -> tuple[list[Any], dict[str, Any]]:
    plan = sase.compile(query, EVENTS, plan=recipe, **rest)
    matches = replace(plan, options=Options(block=block, chunk=3, stack=2)).run(EVENTS, threads=1)
    return matches.rows.to_pylist(), dict(matches.report.counters)["RunEvaluation"]


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_runs_meet_the_same_events(strategy: str, condition: str) -> None:
    query = f"EVENT SEQ(S+ a[], S b) WHERE {strategy} {{[k] {condition} AND b.v < 4}} WITHIN 12"
    for block in (1, 64):
        known, counted = ran(query, "nfab", block)
        found, there = ran(query, "backtrack", block)
        assert found == known and len(found) > 50
        for name in ("runs", "initiated", "split", "steps", "matches"):
            assert there[name] == counted[name], name


def test_it_goes_back_where_a_run_might_have_stayed() -> None:
    """Only under skip till any match may a run ignore an event that it might have taken."""
    counted = [
        ran(f"EVENT SEQ(S a, S b, S c) WHERE {strategy} {{[k] AND a.v < 3 AND b.v < 3}} WITHIN 6",
            "backtrack", 64)[1]["backtracked"]
        for strategy in ("partition_contiguity", "skip_till_next_match", "skip_till_any_match")
    ]  # fmt: skip
    assert counted[0] == counted[1] == 0 < counted[2]


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_run_that_is_put_off_reads_its_event_once_more(strategy: str, condition: str) -> None:
    """The number of runs is as otherwise, and runs see one event more for each that is put off."""
    query = f"EVENT SEQ(S+ a[], S b) WHERE {strategy} {{[k] {condition} AND b.v < 4}} WITHIN 9"
    for block in (1, 64):
        known, counted = ran(query, "nfab", block)
        found, there = ran(query, "backtrack_reread", block)
        assert found == known and len(found) > 50
        for name in ("runs", "initiated", "split"):
            assert there[name] == counted[name], name
        assert there["steps"] == counted["steps"] + there["backtracked"] > counted["steps"]


def trace(recipe: str) -> tuple[int, int, int]:
    """Of a stream like that of the paper's Figure 7: steps, runs put off, and events read again."""
    events = [{"ts": n, "type": "S", "v": v} for n, v in enumerate((1, 2, 3, 2, 3, 9), 1)]
    query = (
        "EVENT SEQ(S+ a[], S b, S c) WHERE strict_contiguity {a[1].v = 1 AND b.v = 3 AND c.v > 5}"
    )
    matches = sase.compile(query, events, plan=recipe).run(events, threads=1)
    assert matches.rows.to_pylist() == [{"a": [0, 1, 2, 3], "b": 4, "c": 5}]
    counted = dict(matches.report.counters)["RunEvaluation"]
    return counted["steps"], counted["backtracked"], counted["reread"]


def test_the_trace_of_the_paper() -> None:
    """Of e1 … e6 ρ1 takes e2, has e3 as b, and fails at e4.

    ρ2 was put off at e3: it takes e3 and e4, which it reads again, has e5 as b, and is a match with
    e6. ρ3 was put off at e5: it takes e5 and e6, which it reads again.
    """
    assert trace("backtrack_reread") == (3 + 4 + 2, 2, 2 + 2)
    # Here a run that takes e3 does not look at it again.
    assert trace("backtrack") == (7, 0, 2)


def test_a_run_reads_no_further_than_the_first_match_where_they_lie_apart() -> None:
    query = "EVENT SEQ(S+ a[], S b) WHERE skip_till_any_match {[k] AND b.v > 5} WITHIN 14"
    for block in (1, 64):
        known, _ = ran(query, "postponed", block, output="non_overlap")
        found, there = ran(query, "backtrack_reread", block, output="non_overlap")
        assert found == known and len(found) > 10
        assert there["matches"] == len(found)
        assert 5 * there["steps"] < ran(query, "backtrack", block)[1]["steps"]
