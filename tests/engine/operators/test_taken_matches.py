"""Matches that do not overlap: the first of a partition ends the runs, or the walk, of others."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

import sase
from sase.engine.blocks import key_dictionary
from sase.planning import cost_values as dense_codes
from sase.planning.engine_plan import Options
from tests.engine.operators.plans import told
from tests.seeds import draw_numbers, share

PRUNED = ("optimized", "nfab", "postponed", "postponed_filters")
QUERIES = [
    "EVENT A{1,2} a[] WHERE [id]",
    "EVENT A{2} a[] WHERE [id] WITHIN 9",
    "EVENT SEQ(A+ a[], B b) WHERE [id] AND a[i].v <= b.v",
    "EVENT SEQ(A a, B* b[], ANY c) WHERE [id] AND c.v != a.v WITHIN 5",
    "EVENT SEQ(A? a, B+ b[]) WHERE skip_till_next_match { [id] }",
    "EVENT SEQ(A+ a[], B+ b[]) WHERE partition_contiguity { [id] }",
]


def counted(matches: sase.Matches) -> Any:
    return dict(matches.report.counters)["RunEvaluation"]


@pytest.mark.parametrize("recipe", PRUNED)
def test_others_are_not_found(recipe: str) -> None:
    """Of forty events there would be 2 ** 40 - 1 matches."""
    events = [{"ts": ts, "type": "A", "k": 1} for ts in range(40)]
    query = "EVENT A+ a[] WHERE skip_till_any_match { [k] }"
    found = sase.match(query, events, output="non_overlap", plan=recipe)
    assert found.rows.to_pylist() == [{"a": [row]} for row in range(40)]
    assert counted(found)["matches"] == 40


@pytest.mark.parametrize("recipe", PRUNED)
def test_what_is_ended_is_forgotten(recipe: str) -> None:
    """Also where no window ends it: a match ends sixteen runs or events that are remembered."""
    kinds = ("A" * 4 + "B") * 200
    events = [{"ts": ts, "type": kind, "k": ts % 2} for ts, kind in enumerate(kinds)]
    query = "EVENT SEQ(A+ a[], B b) WHERE [k]"
    matcher = sase.compile(query, events, output="non_overlap", plan=recipe).open()
    found = list[Any]()
    for begin in range(0, len(events), 10):
        found += matcher.push(events[begin : begin + 10]).rows.to_pylist()
        matcher.pipeline.evict()
        counters, kept = matcher.pipeline.operators[0].counters(), matcher.pipeline.context.buffer
        assert counters["alive"] <= 16 and kept.next - kept.first <= 16
    assert len(found) == 200


@pytest.mark.random
@pytest.mark.parametrize("recipe", PRUNED)
@pytest.mark.parametrize("seed", draw_numbers(share(40)))
def test_keys_that_are_used_again(seed: int, recipe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A taken match counts for simultaneous events, pushed later or after a restart, alone."""
    for name, value in {"ROOM": 1, "WIDEST": 2}.items():
        monkeypatch.setattr(key_dictionary, name, value)
    for name in ("FEWEST_BITS", "MOST_BITS"):
        monkeypatch.setattr(dense_codes, name, 1)
    random, now, last, events = Random(seed), 0, 0, list[dict[str, Any]]()
    for _ in range(random.choice([6, 15, 30])):
        now += random.choice([0, 0, 1, 2])
        last += random.choice([0, 0, 1])
        key = random.choice([last, last, max(last - 1, 0)]) * 2**40
        row = {"ts": now, "type": random.choice("AAB"), "id": key, "v": random.randrange(3)}
        events.append(row)
    query = random.choice(QUERIES)
    expected = told(sase.match(query, events, output="non_overlap", plan="basic"))
    plan = sase.compile(query, events, output="non_overlap", plan=recipe)
    plan = replace(plan, options=Options(random.choice([1, 3]), random.choice([1, 2]), 1))
    assert plan.operators.prunes  # type: ignore[union-attr]
    assert told(plan.run(events)) == expected
    matcher, found, size = plan.open(), list[Any](), random.choice([1, 1, 2, 3])
    for begin in range(0, len(events), size):
        found += told(matcher.push(events[begin : begin + size]))
        if random.random() < 0.5:
            matcher = plan.restore(matcher.snapshot())
    assert found + told(matcher.finish()) == expected
