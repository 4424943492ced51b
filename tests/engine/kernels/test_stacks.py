"""Active instance stacks: the paper's figures, and every sequence of random streams."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sase.engine.kernels.scan.construction import FRESH, Walk, construct
from sase.engine.kernels.scan.stacks import (
    BEFORE_TIE,
    COUNT,
    DROPPED,
    FIELDS,
    HEAD,
    MASK,
    RIP,
    ROW,
    StackArrays,
    scan,
)
from sase.engine.kernels.sentinels import ANY_SPAN, NOTHING
from tests.engine.kernels.opened import Run
from tests.engine.kernels.streams import Event, Rows, arrivals, blocks, ranked, streams
from tests.engine.kernels.twins import Absent, Bounds, sequences

PAPERS = Path(__file__).parents[2] / "data" / "paper_cases.json"
CASES = {case["id"]: case for case in json.loads(PAPERS.read_text(encoding="utf-8"))["cases"]}


def events_of(case: str, types: str, key: str | None = None) -> list[Event]:
    """The events of a paper's figure that have types with a level, partitioned on an attribute."""
    return [
        Event(event["i"], 1 << types.index(event["type"]), event[key] if key else 0,
              event["ts"], event["ts"])
        for event in CASES[case]["events"]
        if event["type"] in types
    ]  # fmt: skip


# ---------------------------------------------------------------- the paper


def test_figure_3_active_instance_stacks() -> None:
    """b3 remembers a1 and b6 remembers a4; three sequences are built for d9, seven in all."""
    run = Run(levels=3)
    found = run.push(events_of("S005", "ABD"))
    assert run.instances(0) == [(0, None), (3, None)]
    assert run.instances(1) == [(2, 0), (5, 3)]
    assert run.instances(2) == [(4, 2), (6, 5), (8, 5)]
    assert sorted(found) == sorted(map(tuple, CASES["S001"]["expected"]))
    assert [row for row in found if row[2] == 8] == [(3, 5, 8), (0, 5, 8), (0, 2, 8)]


def test_figure_4_partitioned_stacks() -> None:
    """With a stack for each value of attr1 one sequence is built for d9."""
    run = Run(levels=3)
    found = run.push(events_of("S006", "ABD", key="attr1"))
    assert run.instances(1) == [(2, 0), (5, 3)]
    assert run.instances(2) == [(4, 2), (6, 2), (8, 5)]
    assert [row for row in found if row[2] == 8] == [(3, 5, 8)]


def test_the_kernels_alone() -> None:
    """Arrays in, arrays out: figure 3 with room for two sequences at a time."""
    stacks = StackArrays(
        np.zeros((3, 4, FIELDS), np.int64),
        np.zeros((1, 2 * HEAD), np.int64),
        np.repeat([[0], [0], [0], [0], [-1], [3]], 3, axis=1),
    )
    scan(arrivals(events_of("S005", "ABD")), stacks, None, ANY_SPAN)
    assert stacks.ends[:BEFORE_TIE].tolist() == [[2, 2, 3], [0, 0, 0], [0, 0, 0]]
    assert stacks.cells[1, :2, ROW].tolist() == [2, 5]
    assert stacks.cells[:, :2, RIP].tolist() == [[NOTHING, NOTHING], [0, 1], [0, 1]]
    walk = Walk(
        np.array([0, FRESH]), np.zeros((2, 3), np.int64), np.array([ANY_SPAN, 0, ANY_SPAN, 0])
    )
    out, found = np.zeros((3, 2), np.int64), []
    while walk.at[0] < stacks.ends[COUNT, 2]:
        written = construct(stacks, walk, None, None, out, 0)
        found.append(out[:, :written].T.tolist())
    assert found == [
        [[0, 2, 4], [3, 5, 6]],
        [[0, 5, 6], [0, 2, 6]],
        [[3, 5, 8], [0, 5, 8]],
        [[0, 2, 8]],
    ]


def test_transition_filtering_drops_what_nothing_leads_to() -> None:
    """An event with an empty partition at the level before is remembered nowhere."""
    run = Run(levels=2)
    run.push([Event(0, 1, 0, 0, 0), Event(1, 2, 1, 1, 1), Event(2, 2, 0, 2, 2)])
    assert run.instances(1) == [(2, 0)]
    assert run.stacks.stacks.ends[DROPPED].tolist() == [0, 1]


def test_the_window_keeps_out_what_reaches_too_far_back() -> None:
    """Windows in SS: b7 has only a1 before it, which is too old."""
    run = Run(levels=2, scanned=Bounds(5))
    assert run.push([Event(0, 1, 0, 1, 1), Event(1, 2, 0, 5, 5), Event(2, 2, 0, 7, 7)]) == [(0, 1)]
    assert run.instances(1) == [(1, 0)]
    assert run.stacks.counters()["filtered"] == [0, 1]


# ---------------------------------------------------------------- every sequence, in order

LENGTHS = st.sampled_from([None, 1, 2, 4, 7, 2**63 - 1])
WINDOWS = st.one_of(st.none(), st.builds(Bounds, LENGTHS.filter(bool), st.booleans()))
CUTS = st.lists(st.integers(0, 14), max_size=4)
POSITIVE = [1, 2, 4, 1, 2, 4, 3, 6, 7, 0]


@pytest.mark.parametrize("levels", [1, 2, 3])
@given(
    events=streams(POSITIVE, ends=True),
    window=WINDOWS,
    place=st.sampled_from(["scan", "construction", "both"]),
    cuts=CUTS,
    stack=st.sampled_from([1, 2, 4, 64]),
    room=st.integers(1, 3),
)
def test_every_sequence_once_and_in_order(
    levels: int, events: list[Event], window: Bounds | None, place: str, cuts: list[int],
    stack: int, room: int,
) -> None:  # fmt: skip
    """Whatever the window and who checks it, the cuts into blocks, and the room for both ends."""
    run = Run(
        levels, stack=stack, room=room,
        scanned=None if place == "construction" else window,
        built=None if place == "scan" else window,
    )  # fmt: skip
    found = run.through(events, cuts)
    expected = sequences(events, levels, window)
    if place != "scan":
        assert found == expected
        return
    # The scan alone lets some pass that a selection would have to drop.
    every = sequences(events, levels)
    assert found == [row for row in every if row in set(found)]
    assert [row for row in found if row in set(expected)] == expected


@given(streams(POSITIVE), WINDOWS, CUTS, st.integers(1, 3))
def test_positions_in_partitions(
    events: list[Event], window: Bounds | None, cuts: list[int], room: int
) -> None:
    """They grow within a stack, which is all that the walk needs."""
    events = ranked(events)
    run = Run(3, stack=1, room=room, built=window)
    found = run.through(events, cuts)
    assert found == sequences(events, 3, window)


@given(streams([1, 2, 4, 7], most=40), st.integers(1, 5), st.lists(st.integers(0, 40)))
def test_what_is_forgotten_is_not_needed(events: list[Event], length: int, cuts: list[int]) -> None:
    """No sequence has an event from before those that the stacks keep; they stay small."""
    window = Bounds(length)
    run, oldest, found = Run(3, stack=1, scanned=window, built=window), 0, Rows()
    for start, end in blocks(len(events), cuts):
        rows = run.push(events[start:end])
        assert all(row[0] >= oldest for row in rows)
        found += rows
        if end < len(events):
            run.stacks.evict(events[end].measure - window.span)
            first = run.stacks.free()
            known = [row for level in (0, 1) for row, _ in run.instances(level)]
            assert first == min(known, default=None)
            oldest = events[end].row if first is None else first
    assert found == sequences(events, 3, window)


@given(streams([1, 2, 4, 7], most=40), st.integers(1, 5))
def test_stacks_use_their_places_again(events: list[Event], length: int) -> None:
    """Event by event there is never more room than twice the events of a window."""
    run, window = Run(3, stack=1, scanned=Bounds(length)), Bounds(length)
    run.through(events, range(len(events)))
    within = max(
        sum(window.holds(other.measure, event.measure) and other.row <= event.row
            for other in events)
        for event in events
    )  # fmt: skip
    assert (run.stacks.stacks.ends[MASK] < 2 * (within + 1)).all()


def test_each_level_has_a_ring_of_its_own_size() -> None:
    """A rare component takes no more memory because another one is frequent."""
    run, count = Run(3, stack=1), 1000
    for row in range(count):
        run.push([Event(row, 1, tie=row)])
    assert run.stacks.stacks.ends[MASK].tolist() == [1023, 0, 0]
    assert run.stacks.nbytes < 1100 * FIELDS * 8
    found = run.push([Event(count, 2, tie=count)]) + run.push([Event(count + 1, 4, tie=count + 1)])
    assert sorted(found) == [(row, count, count + 1) for row in range(count)]


# ---------------------------------------------------------------- negative components

# Bits 3 and 4 are those of negative components; events may be both.
WITH_NEGATIVES = [1, 2, 4, 1, 2, 4, 8, 16, 24, 9, 20, 7]


def negatives(levels: int) -> st.SearchStrategy[list[Absent]]:
    """Up to three in the gaps and at the start, also two in one."""
    gap = st.integers(0, levels - 1)
    return st.lists(st.builds(Absent, gap, st.sampled_from([3, 4])), min_size=1, max_size=3)


@pytest.mark.parametrize("levels", [1, 2, 3])
@given(data=st.data(), cuts=CUTS, stack=st.sampled_from([1, 4]), room=st.integers(1, 3))
def test_negative_components_make_the_walk_narrower(
    levels: int, data: Any, cuts: list[int], stack: int, room: int
) -> None:
    events = data.draw(streams(WITH_NEGATIVES, ends=True))
    absences = data.draw(negatives(levels))
    has_start = any(absent.before == 0 for absent in absences)
    window = data.draw(WINDOWS.filter(bool) if has_start else WINDOWS)
    scanned = window if data.draw(st.booleans()) else None
    run = Run(levels, stack=stack, room=room, scanned=scanned, built=window, absences=absences)
    found = run.through(events, cuts)
    assert found == sequences(events, levels, window, absences)


def test_a_negated_start_at_the_beginning_of_time() -> None:
    """`ts(en) − T` saturates: the least time is in no window but an inclusive one."""
    least = -(2**63)
    events = [Event(0, 4, 0, least, 0), Event(1, 1, 0, least + 1, 1), Event(2, 2, 0, least + 2, 2)]
    found = {}
    for inclusive in (False, True):
        window = Bounds(2, inclusive)
        run = Run(2, scanned=window, built=window, absences=[Absent(0, 2)])
        found[inclusive] = run.push(events)
    assert found == {False: [(1, 2)], True: []}
