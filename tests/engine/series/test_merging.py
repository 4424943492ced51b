"""Merged runs: fewer steps, the same matches, and no more memory than a window needs."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

import sase
from sase.planning.engine_plan import Options

RANDOM = Random(3)
EVENTS = [
    {"ts": n, "type": "S", "k": RANDOM.randrange(2), "v": RANDOM.randrange(9)} for n in range(400)
]
OPTIONS = Options(block=64, chunk=3, stack=2)


def ran(
    query: str, recipe: str, events: list[dict[str, Any]] = EVENTS, options: Options = OPTIONS
) -> tuple[list[Any], dict[str, Any]]:
    plan = replace(sase.compile(query, events, plan=recipe), options=options)
    matches = plan.run(events, threads=1)
    return matches.rows.to_pylist(), dict(matches.report.counters)["RunEvaluation"]


@pytest.mark.parametrize("window", ["12", "7 EVENTS", "6 EVENTS PER PARTITION"])
@pytest.mark.parametrize(
    ("condition", "share"),
    [("", 0.6), ("AND a[i].v > a[i-1].v", 0.9), ("AND a[i].v > min(a[..i-1].v)", 0.95)],
)
def test_fewer_runs_meet_fewer_events(condition: str, share: float, window: str) -> None:
    """The share of the steps that is left, at most."""
    query = f"EVENT SEQ(S+ a[], S b) WHERE skip_till_next_match {{[k] {condition}}} WITHIN {window}"
    known, counted = ran(query, "nfab")
    found, merged = ran(query, "nfab_merged")
    assert found == known and len(found) > 100
    assert merged["merged"] > 20
    assert merged["steps"] < share * counted["steps"]
    assert merged["runs"] < counted["runs"]
    assert merged["initiated"] == counted["initiated"] <= 400


def test_all_runs_that_overlap_are_merged_where_nothing_tells_them_apart() -> None:
    """SASE+, Table 3, p1: but the last one of a partition, each joins the one there was."""
    query = "EVENT SEQ(S+ a[], S b) WHERE skip_till_next_match {[k] AND b.v = 5} WITHIN 30"
    _, merged = ran(query, "nfab_merged")
    assert merged["initiated"] == 400 == merged["merged_alive"] + 2
    # A match ends alike for all runs of its partition.
    assert merged["merged"] == merged["merged_alive"]


def test_runs_that_only_end_alike_do_not_go_on_as_one() -> None:
    """Each event begins two runs that end with the next one of the other type."""
    events = [{"ts": n, "type": "AAB"[n % 3]} for n in range(30)]
    query = "EVENT SEQ(A a, B b) WHERE skip_till_next_match WITHIN 9"
    _, merged = ran(query, "nfab_merged", events)
    counts = [merged[name] for name in ("initiated", "split", "merged", "merged_alive")]
    assert counts == [20, 0, 10, 0]


def test_what_is_still_read_keeps_runs_apart() -> None:
    """Each event begins a run, and all take the following ones; then c reads where it began."""
    for condition, most in (("b.v > 3", 1), ("b.v > a[1].v", 12)):
        query = f"EVENT SEQ(S+ a[], S b) WHERE skip_till_next_match {{{condition}}} WITHIN 12"
        known, _ = ran(query, "nfab")
        found, merged = ran(query, "nfab_merged")
        assert found == known and found
        assert most <= merged["most_alive"] <= most + 1


def test_under_skip_till_any_match_runs_do_not_double() -> None:
    query = "EVENT SEQ(S+ a[], S b) WHERE b.v = 7 WITHIN 9"
    known, counted = ran(query, "nfab")
    found, merged = ran(query, "nfab_merged")
    assert found == known and len(found) > 5_000
    assert merged["runs"] < 900 < 20_000 < counted["runs"]


@pytest.mark.parametrize("window", ["20", "20 EVENTS PER PARTITION"])
def test_what_began_too_early_is_forgotten(window: str) -> None:
    """There is a run without end, which new ones join all the time."""
    query = f"EVENT SEQ(S+ a[], T b) WHERE skip_till_next_match {{[k]}} WITHIN {window}"
    held = []
    for count in (2_000, 20_000):
        events = [{"ts": n, "type": "S", "k": n % 2} for n in range(count)]
        events += [{"ts": count, "type": "T", "k": 0}]
        options = Options(block=128, stack=64, analyze=True)
        found, counted = ran(query, "nfab_merged", events, options)
        assert len(found) == (20 if "EVENTS" in window else 10) - 1
        held.append((counted["most_bytes"], counted["most_stored_bytes"]))
    assert held[0] == held[1]
