"""The recipe that lists a compressed set block by block."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

import sase
from sase.planning.engine_plan import Options
from sase.planning.plan.nodes import RunEvaluation, require

RANDOM = Random(3)
EVENTS = [
    {"ts": n, "type": RANDOM.choice("ABC"), "k": RANDOM.randrange(2), "v": RANDOM.randrange(9)}
    for n in range(300)
]
QUERY = (
    "EVENT SEQ(A a, B+ b[], C c) WHERE [k] AND b[i].v > b[i-1].v AND b.len < 4"
    " WITHIN {window} HAVING sum(b[].v) > 3"
)


def test_a_single_event_is_in_any_window() -> None:
    """Of ranks in several partitions, which are in one list, those to come may be less."""
    query = "EVENT A a WHERE [k] WITHIN 3 EVENTS PER PARTITION"
    count = sum(event["type"] == "A" for event in EVENTS)
    assert sase.match(query, EVENTS, output="compressed").count() == count
    assert len(sase.match(query, EVENTS, plan="collapsed")) == count


@pytest.mark.parametrize("window", ["20", "20 EVENTS", "12 EVENTS PER PARTITION"])
def test_it_lists_what_the_set_has_and_keeps_what_the_window_reaches(window: str) -> None:
    query = QUERY.format(window=window)
    plan = sase.compile(query, EVENTS, plan="collapsed")
    assert require(plan.operators, RunEvaluation).algorithm == "expanded"
    found = replace(plan, options=Options(block=16, chunk=3, stack=2)).run(EVENTS, threads=1)
    rows = found.rows.to_pylist()
    compressed = sase.match(query, EVENTS, output="compressed", plan="collapsed")
    assert rows == compressed.expand().rows.to_pylist()
    assert rows == sase.match(query, EVENTS, plan="nfab").rows.to_pylist()
    assert len(rows) > 100
    counted = dict(found.report.counters)["RunEvaluation"]
    assert counted["candidates"] < 40 < counted["events"]
    assert counted["matches"] >= len(rows)
