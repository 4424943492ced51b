"""Events that are fused, against the same ones that go block by block."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from time import perf_counter_ns
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sase
from sase.engine.kernels.jit.intrinsics import NO_CLOCK
from sase.engine.kernels.scan.fused_scan import CODES
from sase.engine.operators.active_stacks import ActiveStacks
from sase.engine.pipeline.analyze import analyzed
from sase.engine.pipeline.fused import keys as keys_of_events
from sase.engine.pipeline.fused import scan
from sase.engine.pipeline.fused.scan import FusedScan
from sase.planning.driver import RewriteCall, Trace
from sase.planning.engine_plan import Options
from tests.engine.pipeline.unfused import unfused, whole_stacks
from tests.seeds import draw_numbers, share, tries

TYPES = ["A", "B", "C", "D"]
QUERIES = [
    "EVENT SEQ(A a, B b) WHERE [id] WITHIN 9",
    "EVENT SEQ(A a, B b, C c) WHERE [id, k] WITHIN 40 EVENTS",
    "EVENT SEQ(A a, !(C x), B b) WHERE [id] WITHIN 12",
    "EVENT SEQ(!(C x), A a, ANY(B, D) b) WHERE [id, name] WITHIN 7",
    "EVENT SEQ(A a, A b, ANY(A, B) c) WHERE [name] WITHIN 6 INCLUSIVE",
    "EVENT SEQ(A a, B b) WITHIN 4",
    "EVENT ANY(A, B) a",
    "EVENT SEQ(A a, B b) WHERE [id]",
]
UNIONS = [
    "EVENT SEQ(A a, (B b OR C c), A d) WHERE [id] WITHIN 9",
    "EVENT SEQ((A a OR B b), !(C x), (A c OR B d)) WHERE [id, name] WITHIN 12",
    "EVENT A a OR SEQ(B b) OR D d",
]
Taken = list[tuple[int, int]]
FAR = 2**47 + 1
WHOLE = [pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.uint32(), pa.int64()]


def stream(random: Random, count: int, ties: float, apart: int = 1) -> pa.Table:
    """Events in the order of time, with few keys, some of them far from the others, or all."""
    steps = [0 if random.random() < ties else random.choice([1, 1, 2]) for _ in range(count)]
    key = random.choice(WHOLE) if apart == 1 else pa.int64()
    far = [] if key.bit_width == 8 else [30_000]
    ids = [random.choice([*[0, 1, 2, 3, 5] * count, *far]) for _ in range(count)]
    types = random.choices(TYPES, [4, 4, 1, 1], k=count)
    columns = {
        "ts": pa.array(np.cumsum(steps), pa.int64()),
        "type": pa.array(types).dictionary_encode(),
        "id": pa.array([number * apart for number in ids], key),
        "k": pa.array([random.randrange(2) for _ in range(count)], pa.int16()),
        "name": pa.array([random.choice("xy") for _ in range(count)]),
    }
    return pa.table(columns)


PAIRS = "EVENT SEQ(A a, B b) WHERE [id, other] WITHIN 100000"


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Of the events of each piece how many there were, and how many were fused."""
    over, found = FusedScan.run, list[tuple[int, int]]()

    def watched(self: FusedScan, events: Any) -> Any:
        reached = yield from over(self, events)
        found.append((len(events), reached))
        return reached

    monkeypatch.setattr(FusedScan, "run", watched)
    return found


def found(plan: sase.Plan, events: pa.Table, **how: Any) -> tuple[pa.Table, Any]:
    """The rows of a run, and the counters, but for those that depend on the batches."""
    matches = plan.run(events, **how)
    counted = [
        (operator, {key: value for key, value in each.items() if not key.startswith("most_")})
        for operator, each in matches.report.counters
    ]
    return matches.rows, counted


@pytest.mark.random
@pytest.mark.parametrize("seed", draw_numbers(share(15)))
@pytest.mark.parametrize("text", QUERIES + UNIONS)
def test_it_finds_and_counts_what_blocks_do(
    text: str, seed: int, taken: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the same order, however many are gone through at a time, and in threads."""
    for number in tries(seed):
        if len(compared(text, Random(number), taken, monkeypatch)) > 3:
            return


def compared(text: str, random: Random, taken: Taken, monkeypatch: pytest.MonkeyPatch) -> pa.Table:
    """The rows that were found, the same in every way."""
    taken.clear()
    # Keys far apart are coded first, where there are more than a block of events.
    events = stream(random, 400, random.choice([0, 0.2]), random.choice([1, 1, FAR, -FAR]))
    sizes = Options(
        block=random.choice([1, 5, 64, 200]), chunk=random.choice([1, 3, 64]),
        stack=random.choice([1, 4, 64]), analyze=random.random() < 0.5,
        many_keys=random.choice([1, 3, 1 << 13]),
    )  # fmt: skip
    plan = replace(sase.compile(text, events), options=sizes)
    # An instance that is dropped early is not counted as forbidden: it is dropped no earlier than
    # by blocks, but where steps are shorter than these, as stacks are.
    is_shorter = 2 * sizes.stack < sizes.block
    most = 1000 if sizes.block > 5 else random.choice([sizes.block, 50, 1000])
    monkeypatch.setattr(scan, "MOST", most)
    expected = found(unfused(plan), events, threads=1)
    assert taken == []
    rows = whole_stacks(monkeypatch)
    by_fused = found(plan, events, threads=1)
    for _, counters in [*expected[1], *by_fused[1]]:
        if is_shorter:
            counters.pop("forbidden", None)
        if rows:  # the stacks of a whole input are gone behind it
            counters.pop("evicted", None)
            counters.pop("alive", None)
    assert by_fused == expected
    assert taken == [(400, 400)]
    assert found(plan, events, threads=3)[0] == expected[0]
    assert all(reached == count for count, reached in taken)
    return expected[0]


ROWS = [
    *QUERIES[:6],
    "EVENT SEQ(A a, !(C x), !(D y), B b, A c) WHERE [id] WITHIN 30",
    "EVENT SEQ(!(C x), !(D y), A a, B b) WHERE [id, k] WITHIN 25 INCLUSIVE",
    "EVENT SEQ(A a, B b, !(D x), A c, B d) WHERE [k] WITHIN 9 EVENTS",
    QUERIES[7],
]


@pytest.mark.random
@pytest.mark.parametrize("seed", draw_numbers(share(8)))
@pytest.mark.parametrize("text", ROWS)
def test_stacks_of_rows_find_the_same(
    text: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With and without simultaneous events, with any room, and in threads."""
    rows = whole_stacks(monkeypatch)
    for number, ties in enumerate((0, 0.2, 0.9)):
        random = Random(3 * seed + number)
        events = stream(random, 200, ties)
        sizes = Options(
            block=random.choice([5, 64]), chunk=random.choice([1, 3, 64]),
            stack=random.choice([1, 4, 64]), many_keys=1,
        )  # fmt: skip
        monkeypatch.setattr(scan, "MOST", random.choice([50, 1000]))
        plan = replace(sase.compile(text, events), options=sizes)
        expected = found(unfused(plan), events, threads=1)
        rows.clear()
        by_rows = found(plan, events, threads=1)
        for _, counters in [*expected[1], *by_rows[1]]:
            for name in ("evicted", "alive"):
                counters.pop(name, None)
        assert by_rows == expected
        assert found(plan, events, threads=3)[0] == expected[0]
        assert rows


def test_a_window_that_the_scan_lacks_is_that_of_the_walk() -> None:
    """Rows have one window; a plan may push it into the construction alone."""
    events = [{"ts": n, "type": t, "id": 1} for n, t in enumerate("ABBABB")]
    basic = sase.compile("EVENT SEQ(A a, B b) WHERE [id] WITHIN 2", events, plan="basic")
    calls = ("use_active_instance_stacks", "partition_stacks", "push_window_into_construction")
    pushed = Trace.of(basic.operators).after([RewriteCall(name) for name in calls]).plan
    plan = replace(basic, operators=pushed, options=Options(many_keys=1))
    rows = [(each["a"]["ts"], each["b"]["ts"]) for each in plan.run(events, threads=1).to_pylist()]
    assert rows == [(0, 1), (3, 4)]


@pytest.mark.parametrize("index", [pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32()])
@pytest.mark.parametrize("kinds", ["A", "H", "ABCH", "ACF", "ACEG", "ABCDEFGH", "", "X"])
def test_types_of_any_codes(kinds: str, index: pa.DataType, taken: list[tuple[int, int]]) -> None:
    """In some ranges or many, and also where one of the query's types never occurs."""
    random = Random(len(kinds))
    codes = pa.array([random.randrange(8) for _ in range(500)], index)
    types = pa.DictionaryArray.from_arrays(codes, pa.array([*"ABCDEFGH"]))
    events = pa.table({"ts": range(500), "type": types})
    among = f"ANY({', '.join(kinds)})" if kinds else "ANY"
    plan = sase.compile(f"EVENT SEQ({among} a, {among} b) WITHIN 9", events.schema)
    expected = unfused(plan).run(events, threads=1).rows
    assert plan.run(events, threads=1).rows == expected
    assert taken == [(500, 500)]
    assert (len(expected) > 40) == (kinds != "X")


@pytest.mark.random
@pytest.mark.parametrize("seed", draw_numbers(share(8)))
@pytest.mark.parametrize("text", QUERIES + UNIONS)
def test_streams_of_both(text: str, seed: int, taken: list[tuple[int, int]]) -> None:
    """Pieces that can be fused and pieces with NULLs take turns, through snapshots."""
    wanted = {"name" not in text, False}
    for number in tries(seed):
        seen = whether_whole(text, Random(number), taken)
        if "[id" not in text or seen == wanted:
            return
        assert seen < wanted


def whether_whole(text: str, random: Random, taken: Taken) -> set[bool]:
    """Whether pieces of a stream with NULLs were fused whole: the matches are the same."""
    taken.clear()
    events = stream(random, 300, 0.1)
    absent = pa.array([random.random() < 0.01 for _ in range(300)])
    ids = pa.compute.if_else(absent, None, events["id"])
    events = events.set_column(2, "id", ids)
    plan = replace(sase.compile(text, events), options=Options(block=7, chunk=3, stack=4))
    matcher, rows, start = plan.open(), list[Any](), 0
    while start < 300:
        size = random.randrange(1, 40)
        # Two chunks, so that a piece does not go straight.
        part = pa.concat_tables([events.slice(start, 1), events.slice(start + 1, size - 1)])
        rows += matcher.push(part).rows.to_pylist()
        start += size
        if random.random() < 0.3:
            matcher = plan.restore(matcher.snapshot())
    rows += matcher.finish().rows.to_pylist()
    expected = unfused(plan).run(events, threads=1).rows.to_pylist()
    assert rows == expected
    return {count == reached for count, reached in taken if count}


@pytest.mark.parametrize("text", QUERIES)
def test_the_most_that_were_alive(text: str) -> None:
    """At the end of each step, instances out of the window by their first event are left out."""
    events = stream(Random(3), 300, 0.1)
    options = Options(block=1, stack=1, analyze=True)
    plan = replace(sase.compile(text, events), options=options)
    most = dict(plan.run(events, threads=1).report.counters)["SequenceScan"]["most_alive"]
    by_block = dict(unfused(plan).run(events, threads=1).report.counters)["SequenceScan"][
        "most_alive"
    ]
    assert most == by_block


def test_the_time_of_each_part(taken: list[tuple[int, int]], monkeypatch: Any) -> None:
    """By a clock that the kernel reads; where there is none it is blocks that are timed."""
    events = stream(Random(4), 2000, 0)
    plan = sase.compile(QUERIES[0], events).engine
    for has_clock in (True, False):
        if not has_clock:
            monkeypatch.setattr("sase.engine.pipeline.fused.open.CLOCK", NO_CLOCK)
        start = perf_counter_ns()
        matches, report = analyzed(plan, events, clock=perf_counter_ns)
        passed = perf_counter_ns() - start
        names, spent = zip(*report.timings, strict=True)
        assert names == ("BlockBuilder", "SequenceScan", "SequenceConstruction", "Transformation")
        assert min(spent) > 0
        assert sum(spent) < passed
        assert len(matches) == len(sase.match(QUERIES[0], events))
    assert taken[:1] == [(2000, 2000)]
    assert len(taken) == 3  # and those that were matched


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("least", [0, 100_000, -(2**40)])
def test_keys_from_anywhere_on(least: int, threads: int, taken: list[tuple[int, int]]) -> None:
    """The least of all need not be among the first."""
    ids = least + 40_000 - np.arange(80_000) // 2
    events = pa.table({"ts": range(80_000), "type": ["A", "B"] * 40_000, "id": ids})
    plan = sase.compile("EVENT SEQ(A a, B b) WHERE [id] WITHIN 10", events)
    assert len(plan.run(events, threads=threads)) == 40_000
    assert all(reached == count for count, reached in taken)


def test_the_time_goes_on_where_much_is_found() -> None:
    """The watcher of a run gets each step, and the stacks are no larger than they must be."""
    events = pa.table({"ts": range(5000), "type": ["A", "B"] * 2500})
    plan = sase.compile("EVENT SEQ(A a, B b) WITHIN 6", events)
    plan, told = replace(plan, options=Options(block=100, chunk=8)), list[int]()
    assert len(plan.run(events, threads=1, watch=told.append)) == 7497
    assert told == sorted({*told})
    assert max(np.diff([0, *told])) <= 200
    assert told[-1] == 5000


def test_what_admits_nothing_leaves_nothing_behind() -> None:
    """Of a negated start it is remembered where it begins in each piece that has such events."""
    events = pa.table({"ts": range(300), "type": ["D"] * 300, "id": [1] * 300})
    matcher = sase.compile(QUERIES[2].replace("A a, !(C x)", "!(C x), A a"), events).open()
    for start in range(0, 300, 3):
        matcher.push(events.slice(start, 3))
    assert not matcher.pipeline.operators[0].stacks._blocks


def test_keys_that_come_to_be_far_apart(taken: list[tuple[int, int]]) -> None:
    """As long as codes can be made of them events are fused; the rest are run block by block."""
    ids = np.append(np.arange(30_000) // 2, [2**40] * 2).repeat(2)
    events = pa.table({"ts": range(len(ids)), "type": ["A", "B"] * (len(ids) // 2), "id": ids})
    plan = sase.compile("EVENT SEQ(A a, B b) WHERE [id] WITHIN 10", events)
    assert len(plan.run(events, threads=1)) == 15_000 * 3 + 3
    ((count, reached),) = taken
    assert count == len(ids)
    assert count - 4 - scan.STEP < reached <= count - 4  # up to the step in which they are


@pytest.fixture
def coded(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The keys that get codes from a table before the search, run by run."""
    found, uncoded = list[list[str]](), FusedScan.uncoded
    monkeypatch.setattr(
        FusedScan, "uncoded", lambda *given: found.append(uncoded(*given)) or found[-1]
    )
    return found


def pairs(first: Any, second: Any) -> pa.Table:
    """Events of two types with these parts of a key, which lie far apart."""
    count = len(first)
    columns = {"id": first * 1_000_003, "other": second * 1_000_003}
    return pa.table({"ts": range(count), "type": ["A", "B"] * (count // 2), **columns})


def test_pairs_that_hardly_come_again_get_no_codes(
    monkeypatch: pytest.MonkeyPatch, coded: list[list[str]]
) -> None:
    """Each of their parts comes again, but a table of all pairs would be too large."""
    monkeypatch.setattr(keys_of_events, "MANY", 60_000)
    rng, count = np.random.default_rng(1), 3 << 16
    first, second = rng.integers(0, 1_000, (2, count))
    for other in (second, first):
        events = pairs(first, other)
        assert len(sase.compile(PAIRS, events).run(events, threads=1)) > 0
    assert coded == [[], ["id", "other"]]


@pytest.mark.parametrize("values, is_coded", [(600, True), (1_000, True), (2_500, False)])
def test_codes_of_parts_that_are_too_many_together_are_not_made(
    values: int, is_coded: bool, coded: list[list[str]], taken: list[tuple[int, int]]
) -> None:
    """Codes of each part would be dense, but those of pairs would have too much state."""
    count = 3 << 16
    numbers = np.random.default_rng(1).integers(0, values, count)
    events = pairs(numbers, numbers[::-1])
    plan = sase.compile(PAIRS, events)
    expected = unfused(plan).run(events, threads=1).rows
    assert plan.run(events, threads=1).rows == expected
    assert len(expected) > 0
    assert coded == [["id", "other"] if is_coded else []]
    assert sum(reached for _, reached in taken) == (count if is_coded else 0)


@pytest.mark.parametrize("share, is_dense", [(1.0, True), (0.02, False)])
def test_more_codes_are_dense_where_events_are_many(
    share: float, is_dense: bool, taken: list[tuple[int, int]]
) -> None:
    """State of two million keys pays for 200,000 events, but not if few of them are admitted."""
    rng, count = np.random.default_rng(1), 200_000
    columns = {"id": rng.integers(0, 100_000, count), "other": rng.integers(0, 10, count)}
    is_admitted = rng.random(count) < share
    types = np.where(is_admitted, np.array(["A", "B"])[rng.integers(0, 2, count)], "D")
    events = pa.table({"ts": range(count), "type": types.tolist(), **columns})
    plan = sase.compile(PAIRS, events)
    assert plan.run(events, threads=1).rows == unfused(plan).run(events, threads=1).rows
    assert sum(reached for _, reached in taken) == (count if is_dense else 0)


def test_nothing_is_lost_where_something_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Places on the stacks, codes of keys, and room for matches: each stops the kernel."""
    lacking, sweeping = set[int](), ActiveStacks.push_columns

    def watched(self: ActiveStacks, *arguments: Any) -> Any:
        found = sweeping(self, *arguments)
        lacking.add(min(found.lacks, 1))
        return found

    monkeypatch.setattr(ActiveStacks, "push_columns", watched)
    # The last one is admitted by nothing, and too far from the others for them all to be seen,
    # as the first ones do not tell.
    monkeypatch.setattr(scan, "FEW", 8)
    types, ids = [*["A", "B"] * 100, "C"], [*[i * i for i in range(40)] * 5, 2**40]
    events = pa.table({"ts": range(201), "type": types, "id": ids})
    plan = sase.compile("EVENT SEQ(ANY(A, B) a, ANY(A, B) b) WHERE [id]", events)
    plan = replace(plan, options=Options(block=16, chunk=8, stack=1))
    assert len(plan.run(events, threads=1)) == 40 * 10
    assert lacking == {CODES, 0, 1}


@pytest.mark.parametrize(
    "more",
    [
        "WHERE [id] AND a.k > 0 WITHIN 9", "WHERE [id] AND a.k < b.k WITHIN 9",
        "WITHIN 9 RETURN a.k AS k", "WITHIN 9 LIMIT 3", "WHERE [id] WITHIN 9 EVENTS PER PARTITION",
    ],
)  # fmt: skip
def test_what_asks_more_is_not_swept(more: str, taken: list[tuple[int, int]]) -> None:
    events = stream(Random(1), 50, 0)
    assert len(sase.match(f"EVENT SEQ(A a, B b) {more}", events)) > 0
    assert taken == []


@pytest.mark.parametrize("most", [200, 5_000, 60_000])
@pytest.mark.parametrize("threads", [1, 2])
def test_keys_that_grow(most: int, threads: int, taken: list[tuple[int, int]]) -> None:
    """The range of the first ones is known; a key beyond is learnt when it comes, and taken."""
    ids = np.arange(80_000) // 2 * most // 40_000
    events = pa.table({"ts": range(80_000), "type": ["A", "B"] * 40_000, "id": ids})
    plan = sase.compile("EVENT SEQ(A a, B b) WHERE [id] WITHIN 10", events)
    expected = unfused(plan).run(events, threads=threads).rows
    assert plan.run(events, threads=threads).rows == expected
    assert len(expected) > 30_000
    assert sum(reached for _, reached in taken) >= 80_000
