"""Multi-PAIS: stacks for every attribute, and which events the filter across them keeps out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sase.engine.kernels.scan.stacks import COUNT, DROPPED
from tests.engine.kernels.opened import MultiRun, Run
from tests.engine.kernels.streams import Event, Rows, streams
from tests.engine.kernels.twins import Bounds, sequences

PAPERS = Path(__file__).parents[2] / "data" / "paper_cases.json"
(FIGURE_5,) = [
    case for case in json.loads(PAPERS.read_text(encoding="utf-8"))["cases"] if case["id"] == "S008"
]


def figure_5() -> list[Event]:
    return [
        Event(e["i"], 1 << "AB".index(e["type"]), e["attr1"], e["ts"], e["ts"], (e["attr2"],))
        for e in FIGURE_5["events"]
    ]


@pytest.mark.parametrize("size", [1, 5])
def test_figure_5(size: int) -> None:
    """b5 is filtered, though each test alone lets it pass; for b6 two sequences are built."""
    run, events, found = MultiRun(2), figure_5(), Rows()
    for start in range(0, 5, size):
        found += run.push(events[start : start + size])
    assert run.instances(0) == [(0, None), (1, None), (2, None)]
    assert run.instances(1) == [(4, 2)]
    assert run.stacks.stacks.ends[DROPPED].tolist() == [0, 1]
    # PAIS 1 has a1 and a3 in partition 1, a2 in 2; PAIS 2 has a1 in 2, a2 and a3 in 3.
    assert [run.stack(0, 0, key) for key in (1, 2, 3)] == [[2, 0], [1], []]
    assert [run.stack(1, 0, key) for key in (1, 2, 3)] == [[], [0], [2, 1]]
    assert [run.stack(1, 1, key) for key in (2, 3)] == [[], [4]]
    # The stacks of the first attribute match b6 with a1, too: a selection drops that one.
    assert found == [(2, 4), (0, 4)]


def test_a_single_attribute_would_not_filter_b5() -> None:
    run = Run(2)
    run.push(figure_5())
    assert run.instances(1) == [(3, 1), (4, 2)]


# ---------------------------------------------------------------- random streams


def is_led_to(events: list[Event], place: int, level: int) -> bool:
    """Whether a chain of earlier events leads to one, each agreeing with the next on everything."""
    event = events[place]
    if min(event.key, *event.others) < 0:
        return False
    return level == 0 or any(
        other.has(level - 1)
        and other.tie < event.tie
        and (other.key, other.others) == (event.key, event.others)
        and is_led_to(events, before, level - 1)
        for before, other in enumerate(events[:place])
    )


@pytest.mark.parametrize("others", [1, 2])
@given(
    data=st.data(),
    window=st.one_of(st.none(), st.builds(Bounds, st.sampled_from([1, 2, 4, 7]), st.booleans())),
    cuts=st.lists(st.integers(0, 14), max_size=4),
    stack=st.sampled_from([1, 2, 64]),
    room=st.integers(1, 3),
)
def test_no_sequence_is_lost(
    others: int, data: Any, window: Bounds | None, cuts: list[int], stack: int, room: int
) -> None:
    """The additional sequences are those of the first attribute's stacks."""
    events = data.draw(streams([1, 2, 4, 1, 2, 4, 3, 6, 7], others=others))
    run = MultiRun(3, others, stack=stack, room=room, scanned=window, built=window)
    found = run.through(events, cuts)
    expected = sequences(events, 3, window)
    first = sequences([e._replace(others=()) for e in events if min(e.others) >= 0], 3, window)
    assert [row for row in found if row in set(expected)] == expected
    assert found == [row for row in first if row in set(found)]


@given(streams([1, 2, 4, 7], others=1), st.lists(st.integers(0, 14), max_size=4))
def test_which_events_are_filtered(events: list[Event], cuts: list[int]) -> None:
    """Those that no chain of earlier ones leads to."""
    run = MultiRun(3, stack=1)
    run.through(events, cuts)
    led = [
        [event.row for place, event in enumerate(events)
         if event.has(level) and is_led_to(events, place, level)]
        for level in range(3)
    ]  # fmt: skip
    assert [[row for row, _ in run.instances(level)] for level in (0, 1)] == led[:2]
    assert run.stacks.stacks.ends[COUNT].tolist() == [len(rows) for rows in led]
    for level in (0, 1):
        for key in (0, 1):
            rows = {event.row for event in events if event.others == (key,)}
            stack = run.stack(1, level, key) if key < run.context.dictionary.known else []
            assert stack == [row for row in reversed(led[level]) if row in rows]
