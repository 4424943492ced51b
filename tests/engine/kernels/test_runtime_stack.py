"""The runtime stack of the NFA: the cells of the paper's figure, and every sequence of streams."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sase.engine.kernels.baselines.nfa_stack import RuntimeStack, StackSearch, advance, search
from sase.engine.kernels.sentinels import ANY_SPAN, NOTHING
from tests.engine.kernels.opened import NfaRun, states
from tests.engine.kernels.streams import Event, arrivals, streams
from tests.engine.kernels.twins import Bounds, sequences

PAPERS = Path(__file__).parents[2] / "data" / "paper_cases.json"
CASES = {case["id"]: case for case in json.loads(PAPERS.read_text(encoding="utf-8"))["cases"]}


def figure_2() -> list[Event]:
    """a1 c2 b3 a4 d5 b6 d7 c8 d9, of which A, B and D have states."""
    return [
        Event(event["i"], 1 << "ABD".index(event["type"]), 0, event["ts"], event["ts"])
        for event in CASES["S005"]["events"]
        if event["type"] in "ABD"
    ]


@pytest.mark.parametrize("size", [1, 2, 7])
def test_figure_2(size: int) -> None:
    """The stack from left to right, the three sequences of d9, and seven in all."""
    run, events = NfaRun(3, stack=1, room=size), figure_2()
    found = [row for start in range(0, 7, size) for row in run.push(events[start : start + size])]
    assert run.cells() == [
        ("1", "1"),  # a1
        ("1", ""),  # c2
        ("12", "2"),  # b3
        ("12", "1"),  # a4
        ("123", "3"),  # d5
        ("123", "2"),  # b6
        ("123", "3"),  # d7
        ("123", ""),  # c8
        ("123", "3"),  # d9
    ]
    assert sorted(found) == sorted(map(tuple, CASES["S001"]["expected"]))
    assert [row for row in found if row[2] == 8] == [(3, 5, 8), (0, 5, 8), (0, 2, 8)]
    assert sorted(row for row in found if row[2] == 8) == [*map(tuple, CASES["S005"]["expected"])]


def test_the_kernels_alone() -> None:
    """Arrays in, arrays out: figure 2 with room for two sequences at a time."""
    numbers = arrivals(figure_2())
    stack = RuntimeStack._make(
        [*(np.full(16, 77, np.int64) for _ in range(5)), np.zeros(1, np.int64)]
    )
    advance(numbers, numbers.rows, 9, 3, stack)
    assert stack.sizes.tolist() == [9]
    assert stack.row[:9].tolist() == [0, NOTHING, 2, 3, 4, 5, 6, NOTHING, 8]
    walk = StackSearch(
        np.array([0, NOTHING]), np.zeros(3, np.int64), np.array([ANY_SPAN]), np.zeros(3, np.int64)
    )
    out, found = np.zeros((3, 2), np.int64), []
    while walk.at[0] < 9:
        found.append(out[:, : search(stack, walk, None, None, out, 0)].T.tolist())
    assert [rows for rows in found if rows] == [
        [[0, 2, 4], [3, 5, 6]],
        [[0, 5, 6], [0, 2, 6]],
        [[3, 5, 8], [0, 5, 8]],
        [[0, 2, 8]],
    ]


# ---------------------------------------------------------------- random streams

STATES = [1, 2, 4, 1, 2, 4, 3, 6, 7, 0]
CUTS = st.lists(st.integers(0, 14), max_size=4)


def alike(events: list[Event]) -> list[Event]:
    """In one partition: this stack knows no other."""
    return [event._replace(key=0) for event in events]


@pytest.mark.parametrize("levels", [1, 2, 3])
@given(
    events=streams(STATES, ends=True).map(alike),
    window=st.one_of(
        st.none(), st.builds(Bounds, st.sampled_from([1, 2, 4, 7, 2**63 - 1]), st.booleans())
    ),
    cuts=CUTS,
    stack=st.sampled_from([1, 2, 64]),
    room=st.integers(1, 3),
)
def test_every_sequence_once_and_in_order(
    levels: int, events: list[Event], window: Any, cuts: list[int], stack: int, room: int
) -> None:
    run = NfaRun(levels, stack=stack, room=room, built=window)
    found = run.through(events, cuts)
    assert found == sequences(events, levels, window)


@given(streams(STATES).map(alike), CUTS)
def test_active_states(events: list[Event], cuts: list[int]) -> None:
    """A state is active from when it is first entered on, for which the one before it has to be."""
    run = NfaRun(3, stack=1)
    run.through(events, cuts)
    by_row, active, expected = {event.row: event for event in events}, 0, []
    for cell in range(events[-1].row + 1):
        states_of = by_row[cell].states if cell in by_row else 0
        entered = [s for s in range(3) if states_of >> s & 1 and (s == 0 or active >> (s - 1) & 1)]
        bits = sum(1 << state for state in entered)
        active |= bits
        expected.append((states(active), states(bits)))
    assert run.cells() == expected
