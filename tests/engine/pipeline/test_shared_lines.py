"""Lines that share their events, against the same ones block by block."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sase
from sase.engine.kernels.kleene.line_scan import PIECE
from sase.engine.operators.kleene.shared_line_store import SharedLineStore
from sase.engine.pipeline.fused import keys as keys_of_events
from sase.lang.parser import parse_query
from sase.planning.engine_plan import Options
from sase.planning.physical.drive import request_of
from sase.planning.physical.line_drives import SharedLinesDrive
from tests import naive
from tests.engine.pipeline import test_fused_lines as fused_lines
from tests.engine.pipeline.unfused import unfused
from tests.seeds import draw_numbers, share

PATTERNS = [
    "A a, B b", "A a, B b, C c", "A a, B b, C c, D d", "A+ a[], D d", "A a, B+ b[], D d",
    "A a, C{2,} c[], D d", "A{3,} a[], D d", "A a, B b, C+ c[], D d",
]  # fmt: skip
WINDOWS = ["WITHIN 9", "WITHIN 40", "WITHIN 25 INCLUSIVE", "WITHIN 30 EVENTS", "WITHIN 200", ""]
KEYS = ["[id]", "[id, k]", "TRUE", "[id] AND [k = 1]", "[id] AND b.v > 3", "[k = 0] AND a.v > 2"]
COUNT = 400
# An odd number, which makes keys wide integers that differ.
WIDE = 0x1E3779B97F4A7C15


def stream(random: Random, keys: int, ties: float, count: int = COUNT) -> pa.Table:
    """Events in the order of time."""
    # Of wide integers codes are given out by a table.
    apart = random.choice([1, 1, WIDE])
    steps = [0 if random.random() < ties else random.choice([1, 1, 2]) for _ in range(count)]
    return pa.table({
        "ts": np.cumsum(steps),
        "type": pa.array(random.choices("ABCDX", [4, 3, 3, 2, 1], k=count)).dictionary_encode(),
        "id": [random.randrange(keys) * apart % 2**62 for _ in range(count)],
        "k": [random.randrange(2) for _ in range(count)],
        "v": [random.randrange(10) for _ in range(count)],
    })  # fmt: skip


def query(random: Random) -> str:
    """One without a condition on several events."""
    pattern = random.choice(PATTERNS)
    variable = random.choice(pattern.split()[1::2]).strip(",[]")
    is_series = f"{variable}[]" in pattern
    event = random.choice([f"{variable}[1]", f"{variable}[i]"]) if is_series else variable
    simple = random.choice(["", "", f"{event}.v > 2", f"{event}.v != 3"])
    conditions = " AND ".join(
        filter(None, [random.choice(["[id]", "[id]", "[id, k]", "[id] AND [k = 1]", ""]), simple])
    )
    within = random.choice(WINDOWS)
    return f"EVENT SEQ({pattern}) WHERE skip_till_next_match {{ {conditions or 'TRUE'} }} {within}"


def paths(matches: sase.Matches) -> dict[str, int]:
    """How many events each fused path took."""
    return {use.path: use.events for use in matches.report.fused}


def found(matches: sase.Matches) -> list[Any]:
    """The rows of a run in their order, their shown form, and the counters."""
    counted = dict(matches.report.counters)["RunEvaluation"]
    numbers = [counted[key] for key in ("events", "initiated", "matches")]
    return [matches.rows, matches.to_arrow(), numbers]


@pytest.mark.random
@pytest.mark.parametrize("seed", draw_numbers(share(60)))
@pytest.mark.parametrize("ties", [0, 0.3, 0.8])
def test_they_are_those_of_blocks(seed: int, ties: float) -> None:
    """In the same order, with any room, also of simultaneous events."""
    random = Random(seed)
    events, text = stream(random, random.choice([1, 3, 20]), ties), query(random)
    sizes = Options(
        block=random.choice([1, 5, 64, 1000]), chunk=random.choice([1, 3, 64, 4096]),
        stack=random.choice([1, 64]),
    )  # fmt: skip
    plan = replace(sase.compile(text, events), options=sizes)
    assert SharedLinesDrive.drives(request_of(plan.operators))
    expected, fused = found(unfused(plan).run(events, threads=1)), plan.run(events, threads=1)
    assert found(fused) == expected
    assert paths(fused) == {"shared lines": COUNT}
    if plan.engine.split.before is not None:
        assert found(plan.run(events, threads=2))[:2] == expected[:2]


@pytest.mark.random
@pytest.mark.parametrize("seed", draw_numbers(share(200)))
def test_they_are_those_of_the_naive_matcher(seed: int) -> None:
    """In its order, with ties, with keys that are NULL, and by several threads."""
    random = Random(seed)
    kept = slice(0, random.randrange(8, 35))
    events, text = (
        stream(random, random.choice([1, 2, 3]), random.choice([0, 0.3, 0.6, 0.9])),
        query(random),
    )
    events = events[kept]
    if random.random() < 0.2:
        ids = [None if random.random() < 0.1 else each for each in events["id"].to_pylist()]
        events = events.set_column(2, "id", pa.array(ids, pa.int64()))
    sizes = Options(
        block=random.choice([1, 3, 64]), chunk=random.choice([1, 3, 64]),
        stack=random.choice([1, 4]),
    )  # fmt: skip
    plan = replace(sase.compile(text, events), options=sizes)
    known = naive.match(parse_query(text), events.to_pylist())
    rows = plan.run(events, threads=random.choice([1, 1, 2, 4])).rows
    shown = [
        [of if isinstance(of, list) else [of] for of in row.values()] for row in rows.to_pylist()
    ]
    assert shown == [[[*of] for of in each.events] for each in known]


@pytest.mark.random
@pytest.mark.parametrize("seed", draw_numbers(share(20)))
@pytest.mark.parametrize("ties", [0, 0.3, 0.9])
def test_windows_of_some_pieces_and_of_a_part_of_one(seed: int, ties: float) -> None:
    """The bounds of a window move once for each piece, and it ends between two of its events.

    Events may be tested by themselves, by a fixed value of a key or by a condition.
    """
    random, count = Random(seed), 6 * PIECE
    events = stream(random, random.choice([1, 30, 3000]), ties, count)
    pattern, key = random.choice(PATTERNS), random.choice(KEYS)
    if "b.v" in key and "B b" not in pattern or "a.v" in key and "A a" not in pattern:
        key = "[id]"
    length = random.choice([5, PIECE // 3, PIECE, 2 * PIECE + 100])
    within = f"WITHIN {length} EVENTS" if random.random() < 0.3 else f"WITHIN {length}"
    text = f"EVENT SEQ({pattern}) WHERE skip_till_next_match {{ {key} }} {within}"
    plan = sase.compile(text, events)
    expected, fused = found(unfused(plan).run(events, threads=1)), plan.run(events, threads=1)
    assert found(fused) == expected
    assert paths(fused) == {"shared lines": count}


def test_the_streams_are_worth_it() -> None:
    """Most have matches."""
    shares = []
    for seed in range(40):
        random = Random(seed)
        events, text = stream(random, random.choice([1, 3, 20]), 0), query(random)
        shares.append(len(sase.match(text, events)) > 0)
    assert np.mean(shares) > 0.7


def test_room_for_many_lines_and_long_series() -> None:
    """Rings of levels grow, one by one, and so does the room for a series and for matches."""
    count = 6_000
    types = ["A"] * 4_000 + ["B", "C"] * 1_000
    events = pa.table({"ts": range(count), "type": types, "id": [0] * count})
    text = "EVENT SEQ({}) WHERE skip_till_next_match {{ [id]{} }} WITHIN 5800"
    for pattern, condition in (("A a, B b, C c", ""), ("A+ a[], C c", " AND a[1].ts % 1600 = 9")):
        plan = sase.compile(text.format(pattern, condition), events)
        expected = unfused(plan).run(events).rows
        assert plan.run(events).rows == expected
        small = replace(plan, options=Options(block=512, chunk=2, stack=1))
        assert small.run(events).rows == expected
        assert len(expected) > 1_000
        assert paths(small.run(events)) == {"shared lines": count}


def test_codes_of_keys_that_never_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are given out once more, so that the state by key stays small."""
    monkeypatch.setattr(keys_of_events, "MANY", 60_000)  # else all get codes by a table of all
    over, known = SharedLineStore.make_room_for_keys, list[int]()

    def watched(self: SharedLineStore, keys: int) -> None:
        known.append(keys)
        over(self, keys)

    monkeypatch.setattr(SharedLineStore, "make_room_for_keys", watched)
    count = 60_000
    keys = [number // 3 * WIDE % 2**62 for number in range(count)]
    events = pa.table({"ts": range(count), "type": [*"ABC"] * (count // 3), "id": keys})
    text = "EVENT SEQ(A a, B b, C c) WHERE skip_till_next_match { [id] } WITHIN 40"
    plan = replace(sase.compile(text, events), options=Options(block=256, stack=256))
    assert len(plan.run(events, threads=1)) == count // 3
    assert max(known) < 1 << 13


@pytest.mark.parametrize(
    "text",
    [
        "SEQ(A a, B b) WHERE skip_till_next_match { [id] AND a.v < b.v } WITHIN 50",
        "SEQ(A+ a[], B b) WHERE skip_till_next_match { [id] AND a[i].v > a[i-1].v } WITHIN 50",
        "SEQ(A+ a[], B b) WHERE partition_contiguity { [id] } WITHIN 50",
        "SEQ(A{1,2} a[], B b) WHERE skip_till_next_match { [id] } WITHIN 50",
        "SEQ(A a, B+ b[]) WHERE skip_till_next_match { [id] } WITHIN 50",
        "SEQ(A a, ANY(A, B) b) WHERE skip_till_next_match { [id] } WITHIN 50",
        "SEQ(A a, B b) WHERE skip_till_next_match { [id] } WITHIN 9 EVENTS PER PARTITION",
    ],
)  # fmt: skip
def test_what_asks_more_keeps_lines_apart(text: str) -> None:
    """Each line of its own, with the same matches."""
    events = stream(Random(1), 3, 0)
    plan = sase.compile(f"EVENT {text}", events)
    assert plan.run(events).rows == unfused(plan).run(events).rows
    assert len(plan.run(events)) > 0
    assert "shared lines" not in paths(plan.run(events))
    assert not SharedLinesDrive.drives(request_of(plan.operators))


@pytest.mark.random
@pytest.mark.parametrize("seed", draw_numbers(share(60)))
def test_costs_know_which_plans_share(seed: int) -> None:
    """Of other fused lines, too."""
    random = Random(seed)
    ties = random.choice([0, 0.3])
    events, text = fused_lines.stream(random, 60, ties), fused_lines.query(random)
    text = f"{text} HAVING TRUE" if random.random() < 0.1 else text
    plan = sase.compile(text, events)
    taken = paths(plan.run(events, threads=1))
    is_shared = SharedLinesDrive.drives(request_of(plan.operators))
    assert is_shared == ("shared lines" in taken), taken
