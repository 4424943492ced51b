"""The narrowed scan of trees: it reads the events near a rare one, and misses no match."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sase
from sase.engine.kernels.scan.neighbours import admit_places, neighbours, search_rising
from sase.planning.engine_plan import Options

ROWS = 1500


def stream(seed: int, rare: int, *, texts: bool = False) -> pa.Table:
    """Events of A, B, C and N, with a few of R, some of the same time, some without a key."""
    random = np.random.default_rng(seed)
    kinds = random.choice(list("ABCN"), ROWS).astype(object)
    kinds[random.choice(ROWS, rare, replace=False)] = "R"
    keys: list[Any] = [None if each == 9 else int(each) for each in random.integers(0, 10, ROWS)]
    if texts:
        keys = [f"k{key}" for key in keys]
    times = np.sort(random.integers(0, 2 * ROWS // 3, ROWS))
    values = random.integers(0, 9, ROWS)
    return pa.table({"ts": times, "type": pa.array(kinds), "id": keys, "v": values})


def pattern(place: int, absent: int | None) -> str:
    """A pattern with R in a place, and optionally an absence before or behind some component."""
    parts = ["A a", "B b", "C c"]
    parts.insert(place, "R r")
    if absent is not None:
        parts.insert(absent, "!(N n)")
    return f"SEQ({', '.join(parts)})"


def both(query: str, events: pa.Table, **options: Any) -> tuple[list[Any], str]:
    """The matches, which are those of the walk; and the path that executed the tree."""
    found = sase.match(query, events, plan="tree_bushy", **options).rows.to_pylist()
    assert found == sase.match(query, events, plan="ais_windows", **options).rows.to_pylist()
    told = str(sase.explain(query, events, plan="tree_bushy", analyze=True))
    return found, " ".join(told.split("driven: ")[1].split())


WINDOWS = st.sampled_from(
    ("WITHIN 40", "WITHIN 40 INCLUSIVE", "WITHIN 90", "WITHIN 60 EVENTS", "WITHIN 5000")
)


@pytest.mark.heavy
@settings(max_examples=max(settings().max_examples // 2, 1))
@given(
    seed=st.integers(0, 2**32), place=st.integers(0, 3), absent=st.none() | st.integers(0, 4),
    rare=st.integers(1, 20), window=WINDOWS,
    test=st.sampled_from(("WHERE [id]", "", "WHERE a.v < b.v")),
    texts=st.booleans(), threads=st.sampled_from((1, 2)),
)  # fmt: skip
def test_it_finds_what_the_walk_finds(
    seed: int, place: int, absent: int | None, rare: int, window: str, test: str, texts: bool,
    threads: int,
) -> None:  # fmt: skip
    if window.endswith("EVENTS") and absent == 4:
        absent = None
    if absent == 0 and test != "WHERE [id]":
        # Nearly all sequences are forbidden, and there are not to be too many.
        window = window.replace("5000", "200")
    query = f"EVENT {pattern(place, absent)} {test} {window} LIMIT 500"
    events = stream(seed, rare, texts=texts)
    found = sase.match(query, events, plan="tree_bushy", threads=threads).rows.to_pylist()
    assert found == sase.match(query, events, plan="ais_windows").rows.to_pylist()


@given(seed=st.integers(0, 2**32), place=st.integers(0, 3), threads=st.integers(2, 7))
def test_slices_of_time_are_narrowed_each(seed: int, place: int, threads: int) -> None:
    """A match near a border is found by one slice, and by no other though it is seen there, too."""
    events = stream(seed, 9).slice(0, 600)
    plan = sase.compile(
        f"EVENT {pattern(place, None)} WHERE a.v < b.v WITHIN 15", events, plan="tree_bushy"
    )
    sliced = replace(plan, options=Options(block=64, chunk=1, stack=4))
    assert sliced.run(events, threads=threads).rows == plan.run(events).rows


@pytest.mark.parametrize("place", range(4))
def test_few_events_come_to_the_leaves(place: int) -> None:
    query = f"EVENT {pattern(place, None)} WHERE [id] WITHIN 200"
    events = stream(3, 5)
    _, executed = both(query, events)
    assert "by the narrowed scan, which took 1,500" in executed
    counted = dict(sase.match(query, events, plan="tree_bushy").report.counters)
    assert 5 <= counted["SequenceScan"]["events"] < ROWS // 4


def test_what_is_not_rare_is_left_to_blocks() -> None:
    _, executed = both("EVENT SEQ(A a, B b, C c) WHERE [id] WITHIN 20", stream(3, 5))
    assert "it does not hold that one component has few of the events" in executed


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("EVENT SEQ(A a, ANY b, R r) WITHIN 20", "a component is of any type"),
        (
            "EVENT SEQ(A a, R r) WHERE [id] WITHIN 9 EVENTS PER PARTITION",
            "events are ranked in their partitions",
        ),
    ],
)
def test_it_declines(query: str, reason: str) -> None:
    events = stream(1, 5)
    assert f"narrowed scan: {reason}" in str(
        sase.explain(query, events, plan="tree_bushy")
    ).replace("\n    ", " ")


def test_types_are_unseen_only_if_no_event_has_them() -> None:
    """An event of C far from any R is seen; of D there is none."""
    kinds = ["C", *["A"] * 400, "B", "R", *["A"] * 400]
    events = pa.table({"ts": range(len(kinds)), "type": kinds})
    query = "EVENT SEQ(A a, B b, !(C c), R r, !(D d)) WITHIN 5"
    warned = sase.match(query, events, plan="tree_bushy").report.warnings
    assert [each for each in warned if "`D`" in each]
    assert not [each for each in warned if "`C`" in each]


def test_explain_names_the_rarest() -> None:
    query = "EVENT SEQ(A a, R r, B b, C c) WHERE [id] WITHIN 30"
    told = str(sase.explain(query, stream(5, 3), plan="tree_bushy"))
    assert "the rarest is r, 0.2 % of all events" in told
    assert "loaded events by the narrowed scan" in told


@given(st.data())
def test_places_near_some_events(data: st.DataObject) -> None:
    """All in a range of one of the few with its key, and but for shared places no others."""
    count = data.draw(st.integers(1, 60))
    keys = np.array(data.draw(st.lists(st.integers(-9, 9), min_size=count, max_size=count)))
    few = np.unique(data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=9)))
    before, after = data.draw(st.integers(0, 20)), data.draw(st.integers(0, 20))
    begins, ends = np.maximum(few - before, 0), np.minimum(few + after + 1, count)
    out = np.empty(count + 1, np.int64)
    found = neighbours(keys, few, begins, ends, np.zeros(64, np.int64), out)
    near = [
        place
        for place in range(count)
        if any(
            begin <= place < end and keys[place] == keys[rare]
            for rare, begin, end in zip(few, begins, ends, strict=True)
        )
    ]
    assert out[:found].tolist() == near


@given(
    numbers=st.lists(st.integers(0, 40), max_size=60).map(sorted),
    bounds=st.lists(st.integers(-2, 43), max_size=12),
    data=st.data(),
)
def test_search_of_bounds(numbers: list[int], bounds: list[int], data: st.DataObject) -> None:
    found, count = np.empty(len(bounds), np.int64), len(bounds)
    near = data.draw(st.lists(st.integers(0, 60), min_size=count, max_size=count))
    arrays = (np.array(each, np.int64) for each in (numbers, bounds, near))
    search_rising(*arrays, found)
    assert found.tolist() == [sum(each < bound for each in numbers) for bound in bounds]


@given(st.lists(st.integers(-1, 2), min_size=1, max_size=30), st.data())
def test_places_of_admitted_events(types: list[int], data: st.DataObject) -> None:
    chosen = st.sets(st.integers(0, len(types) - 1)).map(sorted)
    places = np.array(data.draw(chosen), np.int64)
    states = np.array(data.draw(st.lists(st.integers(0, 3), min_size=4, max_size=4)), np.int64)
    out = np.empty((2, len(places) + 1), np.int64)
    count = admit_places(np.array(types, np.int8), states, places, out)
    found = [(place, states[types[place] + 1]) for place in places]
    assert out[:, :count].T.tolist() == [[place, state] for place, state in found if state]
