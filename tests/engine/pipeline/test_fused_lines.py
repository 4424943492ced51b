"""Fused lines, against the same ones that go block by block."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sase
from sase.engine.pipeline.fused.lines import FusedLines
from sase.engine.pipeline.fused.open import open_pipeline
from sase.engine.pipeline.threads import search_by_key
from sase.planning.engine_plan import Options
from tests.engine.pipeline.unfused import unfused
from tests.seeds import draw_numbers, share

NEXT, STRICT = "skip_till_next_match", "strict_contiguity"
PARTITION = "partition_contiguity"
FAR = 2**61 - 1
GREATEST, LEAST = 2**63 - 1, -(2**63)
EXTREME = (GREATEST, GREATEST - 1, LEAST, LEAST + 1)
PATTERNS = {
    "A+ a[], B b": "a", "A a, B+ b[]": "b", "B+ b[]": "b", "A x, C y, B{2,3} b[], A z": "b",
    "A x, ANY{2,} c[], A z": "c", "A a, B b, A c": None, "ANY{1,2} c[], B b": "c",
}  # fmt: skip
GATES = [
    "{0}[i].v > {0}[i-1].v", "{0}[i].v >= {0}[i-1].v", "{0}[i].v < {0}[1].v",
    "{0}[i-1].v >= {0}[i].v", "{0}[i].v = {0}[i-1].v", "{0}[i].v != {0}[1].v",
    "{0}[i].name = {0}[1].name", "{0}[i].f < {0}[i-1].f", "{0}[i].f >= {0}[1].f", "",
]  # fmt: skip
WINDOWS = [
    "WITHIN 9",
    "WITHIN 30 EVENTS",
    "WITHIN 6 EVENTS PER PARTITION",
    "",
    "WITHIN 5 INCLUSIVE",
]
SIMPLE = [
    "", "AND {1}.v != 3", "AND {1}.v % 3 = 1", "AND {1}.v > 1 AND {1}.name = 'x'",
    "AND {1}.v < 1000", "AND {1}.v % 70000 = -2", "AND {1}.v IN (3, 300, -1, 5000000000)",
]  # fmt: skip


def stream(random: Random, count: int, ties: float, apart: int = 1) -> pa.Table:
    """Events in the order of time, with few keys, which may be far from each other."""
    steps = [0 if random.random() < ties else random.choice([1, 1, 2]) for _ in range(count)]
    kind, values = random.choice([pa.int8(), pa.int64()]), [*range(-2, 8)]
    if kind == pa.int64() and random.random() < 0.4:
        values = [*EXTREME, *values]
    values = random.choices(values, k=count)
    ids = pa.int16() if apart == 1 else pa.int64()
    columns = {
        "ts": pa.array(np.cumsum(steps), pa.int64()),
        "type": pa.array(random.choices("ABC", [4, 4, 1], k=count)).dictionary_encode(),
        "id": pa.array([random.choice([-1, 0, 3]) * apart for _ in range(count)], ids),
        "k": pa.array([random.randrange(2) for _ in range(count)], pa.uint8()),
        "v": pa.array(values, kind),
        "f": pa.array([random.choice([-0.0, 0.0, 0.5, float("inf"), v / 4]) for v in values]),
        "name": pa.array([random.choice("xy") for _ in range(count)]),
    }
    return pa.table(columns)


def query(random: Random) -> str:
    """One of those that may be fused."""
    pattern = random.choice([*PATTERNS])
    series, last = PATTERNS[pattern], pattern.split()[-1]
    strategy = random.choice([NEXT, NEXT, NEXT, STRICT, PARTITION])
    tests = random.choice(["[id]", "[id]", "[id, k]", "[k] AND [name]", ""])
    window = random.choice(WINDOWS)
    if "PER PARTITION" in window or strategy == PARTITION:
        tests = tests or "[id]"
    gate = random.choice(GATES).format(series) if series else ""
    event = f"{series}[1]" if series == last.rstrip("[]") else last
    simple = random.choice(SIMPLE).format("", event).removeprefix("AND ")
    conditions = " AND ".join(filter(None, [tests, gate, simple])) or "TRUE"
    return f"EVENT SEQ({pattern}) WHERE {strategy} {{ {conditions} }} {window}"


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Of the events of each run how many there were, and how many were fused."""
    over, found = FusedLines.run, list[tuple[int, int]]()

    def watched(self: FusedLines, events: Any) -> Any:
        reached = yield from over(self, events)
        found.append((len(events), reached))
        return reached

    monkeypatch.setattr(FusedLines, "run", watched)
    return found


def found(plan: sase.Plan, events: pa.Table, **how: Any) -> tuple[pa.Table, pa.Table, Any]:
    """The rows of a run in their order, their shown form, and the counters."""
    matches = plan.run(events, **how)
    counted = {name: {**counters} for name, counters in matches.report.counters}
    return matches.rows, matches.to_arrow(), counted


def in_two_threads(plan: sase.Plan, events: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The rows of a run, and their shown form; by key if there is no window to cut by."""
    split = plan.engine.split
    if split.before is not None or not split.by_key:
        return found(plan, events, threads=2)[:2]
    pipeline = open_pipeline(plan.engine)
    inputs, loaded = pipeline.load(events)
    loaded = pipeline.coded(loaded, 2)
    matches = sase.Matches(
        lambda: search_by_key(pipeline, inputs, loaded, 2, watch=lambda rows: None)
    )
    return matches.rows, matches.to_arrow()


@pytest.mark.random
@pytest.mark.parametrize("seed", draw_numbers(share(150)))
def test_it_finds_and_counts_what_blocks_do(seed: int, taken: list[tuple[int, int]]) -> None:
    """In the same order, with any room, and by key in threads, though that is not worth while."""
    random = Random(seed)
    text = query(random)
    # Without a window matches grow with the square of the events, and each is written out.
    count = 400 if "WITHIN" in text else 250
    block = random.choice([1, 5, 64, 1000])
    # Keys far apart are coded first, where there are more than a block of events.
    apart = random.choice([1, FAR]) if block < count else 1
    events = stream(random, count, random.choice([0, 0.2]), apart)
    sizes = Options(
        block=block, chunk=random.choice([1, 3, 64, 4096]),
        stack=random.choice([1, 4, 64]),
    )  # fmt: skip
    plan = replace(sase.compile(text, events), options=sizes)
    expected = found(unfused(plan), events, threads=1)
    assert taken == []
    rows, shown, counted = found(plan, events, threads=1)
    assert (rows, shown) == expected[:2]
    # Lines that share their events count fewer.
    every = expected[2]
    assert counted == {
        name: {key: every[name][key] for key in each} for name, each in counted.items()
    }
    assert len(counted["RunEvaluation"]) in (3, len(every["RunEvaluation"]))
    assert taken == [(count, count)]
    assert in_two_threads(plan, events) == expected[:2]
    assert all(size == reached for size, reached in taken)


def test_it_takes_one_thread(taken: list[tuple[int, int]]) -> None:
    """Where there is no window in time, as parts by key are copies."""
    count = 1_000
    events = pa.table({
        "ts": range(count), "type": ["A", "A", "B", "C"] * (count // 4),
        "id": [7 * n % 5 for n in range(count)],
    })  # fmt: skip
    text = "EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match {[id]}"
    several = sase.match(text, events, threads=2)
    assert len(several) > 100
    assert taken == [(count, count)]
    (note,) = several.report.notes
    assert note.startswith("one thread searched: to part these events by key takes longer")
    assert several.rows == sase.match(text, events, threads=1).rows
    less = sase.match(text.replace("[id]", "[id] AND a.len < 4"), events, threads=2)
    assert less.report.notes == ()


def test_the_streams_are_worth_it() -> None:
    shares = []
    for seed in range(30):
        random = Random(seed)
        events, text = stream(random, 400, random.choice([0, 0.2])), query(random)
        shares.append(len(sase.match(text, events)) > 0)
    assert np.mean(shares) > 0.8


def test_room_for_long_lines_and_many_of_them(taken: list[tuple[int, int]]) -> None:
    """Places in the heap are moved to larger ones, and used again."""
    count = 5_000
    events = pa.table({"ts": range(count), "type": ["A", "A", "A", "B"] * (count // 4)})
    text = "EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match { a[1].ts % 100 = 0 } WITHIN 900"
    plan = sase.compile(text, events)
    expected = unfused(plan).run(events).rows
    assert plan.run(events).rows == expected
    assert len(expected) > 8_000
    small = replace(plan, options=Options(block=512, chunk=2, stack=1))
    assert small.run(events).rows == expected
    assert taken == [(count, count)] * 2


@pytest.mark.parametrize("threads", [1, 3])
def test_lines_of_keys_that_never_come_again(threads: int, taken: list[tuple[int, int]]) -> None:
    """Those that a window has ended go although no event of their key comes."""
    count = 50_000
    events = pa.table(
        {"ts": range(count), "type": ["A", "B"] * (count // 2), "id": np.arange(count) // 2}
    )
    plan = sase.compile(
        "EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match { [id] } WITHIN 10", events
    )
    # They are counted one by one where all is.
    plan = replace(plan, options=Options(block=1000, analyze=True))
    matches = plan.run(events, threads=threads)
    assert len(matches) == count // 2
    assert all(reached == size for size, reached in taken)
    counted = dict(matches.report.counters)["RunEvaluation"]
    assert counted["expired"] > count // 2 - 600 * threads
    assert counted["most_alive"] < 1100 or threads > 1


@pytest.mark.parametrize(
    ("types", "values", "order", "matches"),
    [
        ("AABB", [0, GREATEST, 0, 0], ">", 4),
        ("AABB", [0, GREATEST - 1, 0, 0], ">", 4),
        ("ACCB", [LEAST, LEAST, LEAST + 1, 0], ">=", 1),
        ("ACCB", [GREATEST, GREATEST, GREATEST - 1, 0], "<=", 1),
    ],
)
def test_the_bar_where_numbers_end(
    types: str, values: list[int], order: str, matches: int, taken: list[tuple[int, int]]
) -> None:
    """Events that may change lines of any value reach it; C continues them, and begins none."""
    names, kinds = [*types], [*types.replace("C", "A")]
    events = pa.table({"ts": range(4), "type": kinds, "id": [7] * 4, "v": values, "name": names})
    condition = f"[id] AND a[1].name = 'A' AND a[i].v {order} a[i-1].v"
    text = f"EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match {{ {condition} }} WITHIN 9"
    plan = sase.compile(text, events)
    expected = unfused(plan).run(events).rows
    assert plan.run(events).rows == expected
    assert len(expected) == matches
    assert taken[-1] == (4, 4)


@pytest.mark.parametrize(("others", "keys"), [(1, 100), (9, 100), (1, 100_000)])
def test_it_is_done_where_it_pays(others: int, keys: int, taken: list[tuple[int, int]]) -> None:
    """Not where most events are of types that the query does not name, or keys are very many."""
    types = [*"AB", *(f"X{n}" for n in range(2 * others - 1))]
    events = pa.table({"ts": range(1000), "type": (types * 1000)[:1000], "id": [0, keys - 1] * 500})
    condition = "[id] AND a[i].ts > a[i-1].ts"
    text = f"EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match {{ {condition} }} WITHIN 50"
    expected = unfused(sase.compile(text, events)).run(events).rows
    assert sase.match(text, events).rows == expected
    assert taken == ([(1000, 1000)] if (others, keys) == (1, 100) else [(1000, 0)])


@pytest.mark.parametrize(
    "text",
    [
        "EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match { [id] AND a[i].v > avg(a[..i-1].v) }",
        "EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match { [id] AND b.v > a[1].v }",
        "EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match { [id] AND a[i].v > a[i-1].k }",
        "EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match { [id] AND a.len + 0 > 1 }",
        "EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match { a[i].w > a[i-1].w }",
        "EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match { [w] }",
        "EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match { [id] AND b.v + b.ts > 3 }",
        "EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match { [id] } LIMIT 3",
        "EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match { [id] } RETURN b.v AS v",
        "EVENT SEQ(A+ a[], B b) WHERE skip_till_next_match { [id] } HAVING a.len + 0 > 1",
        "EVENT SEQ(A+ a[], !(C c), B b) WHERE skip_till_next_match { [id] }",
        "EVENT SEQ(A+ a[], C* c[], B b) WHERE skip_till_next_match { [id] }",
    ],
)  # fmt: skip
def test_what_asks_more_is_not_swept(text: str, taken: list[tuple[int, int]]) -> None:
    events = stream(Random(1), 200, 0)
    values = [None if place % 50 == 7 else place % 9 for place in range(200)]
    events = events.append_column("w", pa.array(values))
    assert len(sase.match(text, events)) > 0
    assert not any(reached for _, reached in taken)
