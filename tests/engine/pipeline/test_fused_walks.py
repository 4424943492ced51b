"""All matches of series by stacks of rows, against the same ones block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import comb
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import sase
from sase.engine.operators.kleene import walked_stacks
from sase.errors import BudgetWarning
from sase.lang.parser import parse_query
from sase.planning.engine_plan import Options
from sase.planning.physical.drive import request_of
from sase.planning.physical.line_drives import FusedWalkDrive
from tests import naive
from tests.engine.pipeline.test_shared_lines import paths, stream
from tests.engine.pipeline.unfused import unfused
from tests.seeds import draw_numbers, share

PATTERNS = [
    "A+ a[], D d", "A a, B+ b[], D d", "A a, C{2,} c[], D d", "A{3,} a[], D d",
    "A a, B b, C+ c[], D d", "A+ a[], B+ b[], C c", "A{2,3} a[], B b",
    "A a, B{1,2} b[], C{2,} c[], D d", "A a, B b, D? d", "A a, B+ b[], D? d",
    "A{2,} a[], C c, D? d",
]  # fmt: skip
WINDOWS = ["WITHIN 9", "WITHIN 13", "WITHIN 10 INCLUSIVE", "WITHIN 12 EVENTS"]


def query(random: Random) -> str:
    """One with conditions on single events at most."""
    pattern = random.choice(PATTERNS)
    variable = random.choice(pattern.split()[1::2]).strip(",[]")
    event = f"{variable}[i]" if f"{variable}[]" in pattern else variable
    asked = [random.choice(["[id]", "[id]", "[id, k]", ""])]
    asked.append(random.choice(["", "", f"{event}.v > 2", f"{event}.v != 3", "[k = 1]"]))
    conditions = " AND ".join(filter(None, asked))
    return f"EVENT SEQ({pattern}) WHERE {conditions or 'TRUE'} {random.choice(WINDOWS)}"


def drawn(
    seed: int, kept: int, ties: tuple[float, ...] = (0, 0.3, 0.5)
) -> tuple[Random, pa.Table, sase.Plan]:
    """A table and a plan with drawn sizes, so that rooms are full in every place."""
    random = Random(seed)
    text, keys = query(random), random.choice([2, 3, 20])
    events = stream(random, keys, random.choice(ties))[:kept]
    if "[id" not in text:  # all matches of one key would be too many
        events = events[:40]
    sizes = Options(
        block=random.choice([1, 5, 64, 1000]), chunk=random.choice([1, 3, 64, 4096]),
        stack=random.choice([1, 4, 64]),
    )  # fmt: skip
    return random, events, replace(sase.compile(text, events), options=sizes)


def counted(matches: sase.Matches) -> list[int]:
    counters = dict(matches.report.counters)["RunEvaluation"]
    return [counters[key] for key in ("events", "instances", "matches", "bound")]


@pytest.mark.random
@pytest.mark.parametrize("seed", draw_numbers(share(120)))
def test_they_are_those_of_blocks(seed: int) -> None:
    """In the same order, also of simultaneous events, with ANALYZE, and by several threads."""
    random, events, plan = drawn(seed, 400)
    assert FusedWalkDrive.drives(request_of(plan.operators))
    expected, fused = unfused(plan).run(events, threads=1), plan.run(events, threads=1)
    assert fused.rows == expected.rows
    assert fused.to_arrow() == expected.to_arrow()
    assert counted(fused) == counted(expected)
    (use,) = fused.report.fused
    # Wide keys may go block by block, and events of few of the query's types do.
    is_rare = use.refused is not None and "third of the first events" in use.refused
    if max(events["id"].to_pylist()) < len(events) and not is_rare:
        assert paths(fused) == {"fused walks": len(events)}
    analyzed = replace(plan, options=replace(plan.options, analyze=True))
    found = analyzed.run(events, threads=1)
    assert (found.rows, counted(found)) == (expected.rows, counted(expected))
    assert paths(found) == paths(fused)
    assert plan.run(events, threads=random.choice([2, 4])).rows == expected.rows


@pytest.mark.random
@pytest.mark.parametrize("seed", draw_numbers(share(200)))
def test_they_are_those_of_the_naive_matcher(seed: int) -> None:
    """In its order, with ties, with keys that are NULL, and by several threads."""
    random, events, plan = drawn(seed, Random(seed).randrange(10, 45), (0, 0.3, 0.6, 0.9))
    if random.random() < 0.2:
        ids = [None if random.random() < 0.1 else each for each in events["id"].to_pylist()]
        events = events.set_column(2, "id", pa.array(ids, pa.int64()))
    known = naive.match(parse_query(plan.query), events.to_pylist())
    rows = plan.run(events, threads=random.choice([1, 1, 2, 4])).rows
    shown = [
        [of if isinstance(of, list) else [of] * (of is not None) for of in row.values()]
        for row in rows.to_pylist()
    ]
    assert shown == [[[*of] for of in each.events] for each in known]


def test_the_streams_are_worth_it() -> None:
    """Most have matches."""
    plans = [(events, plan) for _, events, plan in map(drawn, range(40), [400] * 40)]
    assert sum(len(plan.run(events)) > 0 for events, plan in plans) > 25


def alone(count: int) -> pa.Table:
    """A number of events of one type, and a last one."""
    types = pa.array([*"A" * count, "B"]).dictionary_encode()
    return pa.table({"ts": range(count + 1), "type": types, "id": [0] * (count + 1)})


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("window", ["", " WITHIN 9"])
def test_there_may_be_no_events(window: str, threads: int) -> None:
    """Then they have no range of keys."""
    text = f"EVENT SEQ(A+ a[], B b) WHERE [id]{window}"
    assert len(sase.match(text, alone(2), threads=threads)) == 3
    assert not len(sase.match(text, alone(2).slice(0, 0), threads=threads))


def runs_of(text: str, events: Any) -> Iterator[sase.Matches]:
    """Runs with usual room and with little."""
    for options in (Options(), Options(block=64, chunk=2, stack=1)):
        yield replace(sase.compile(text, events), options=options).run(events, threads=1)


def test_room_for_long_series(monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps of a walk grow, and so does the room for the events of a match."""
    monkeypatch.setattr(walked_stacks, "STEPS", 2)
    events = alone(10)
    for found in runs_of("EVENT SEQ(A{9,} a[], B b) WHERE [id] WITHIN 1000", events):
        lengths = [len(row["a"]) for row in found.rows.to_pylist()]
        assert sorted(lengths) == [9] * 10 + [10]
        assert paths(found) == {"fused walks": 11}


def test_a_walk_pauses() -> None:
    """A walk of 16 million steps that finds little lets limits be checked on the way."""
    events, few = alone(24), sum(comb(24, length) for length in range(21, 25))
    text = "EVENT SEQ(A{21,} a[], B b) WHERE [id] WITHIN 1000"
    assert len(sase.match(text, events, threads=1)) == few
    with pytest.warns(BudgetWarning), pytest.raises(sase.BudgetError, match="timeout"):
        len(sase.match(text.replace("21", "55"), alone(60), threads=1, timeout="300 ms"))


@pytest.mark.parametrize(
    "text",
    [
        "SEQ(A+ a[], B b) WHERE [id] AND a[i].v > a[i-1].v WITHIN 9",
        "SEQ(A+ a[], B b) WHERE [id] AND b.v > a[i].v WITHIN 9",
        "SEQ(A+ a[], B b) WHERE [id] AND a[1].v > 2 WITHIN 9",
        "SEQ(A a, B+ b[]) WHERE [id] WITHIN 9",
        "SEQ(A a, B* b[], C c) WHERE [id] WITHIN 9",
        "SEQ(A a, B b, C* c[]) WHERE [id] WITHIN 9",
        "SEQ(A a, B? b) WHERE [id] WITHIN 9",
        "SEQ(A+ a[], ANY(A, B) b) WHERE [id] WITHIN 9",
        "SEQ(A+ a[], B b) WHERE [id] WITHIN 4 EVENTS PER PARTITION",
        "SEQ(A+ a[], B b) WHERE [id] WITHIN 9 RETURN count(a[]) AS n",
        "SEQ(A+ a[], !(C x), B b) WHERE [id] WITHIN 9",
    ],
)
def test_other_queries_go_block_by_block(text: str) -> None:
    """With the same matches."""
    events = stream(Random(1), 3, 0)
    plan = sase.compile(f"EVENT {text}", events)
    found = plan.run(events)
    assert found.to_arrow() == unfused(plan).run(events).to_arrow()
    assert len(found) > 0
    assert "fused walks" not in paths(found)
    assert not FusedWalkDrive.drives(request_of(plan.operators))
