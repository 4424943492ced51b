"""The events of a block that a component admits, and their ranks in partitions."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sase.engine.kernels.expressions.checks import UNDECLARED
from sase.engine.kernels.scan.admission import (
    PLACE,
    STATE,
    TIME,
    admit,
    is_rising,
    look_up_states,
    rank,
    reject_rows,
    select_rows,
)
from sase.engine.kernels.sentinels import NOTHING

# By the code of a type plus one; a bare ANY has a bit for events without a type, too.
STATES = st.lists(st.sampled_from([0, 1, 2, 5, 1 << 62]), min_size=4, max_size=4)
TYPES = st.lists(st.integers(-1, 2), max_size=20)


@given(TYPES, st.sampled_from([np.int8, np.int16]))
def test_states_of_types(types: list[int], kind: type) -> None:
    """Of no type too, with a state before all others; the values around them are not read."""
    around = np.array([9, 7, 1, 2, 5, 9], np.uint8)
    states = np.full(len(types), 77, np.uint8)
    look_up_states(around[1:5], np.array(types, kind), states)
    assert states.tolist() == [[7, 1, 2, 5][code + 1] for code in types]


@given(TYPES, STATES, st.integers(0, 1000), st.integers(1, 20), st.data())
def test_admitted_events(
    types: list[int], states: list[int], first: int, room: int, data: st.DataObject
) -> None:
    times = data.draw(
        st.lists(st.integers(-(2**63), 2**63 - 1), min_size=len(types), max_size=len(types))
    )
    given_states = np.array(states, np.int64)
    out = np.full((3, room), 77, np.int64)
    count = admit(np.array(types, np.int16), np.array(times, np.int64), given_states, first, out)
    admitted = [place for place, code in enumerate(types) if states[code + 1]][:room]
    assert count == len(admitted)
    assert out[PLACE, :count].tolist() == [first + place for place in admitted]
    assert out[STATE, :count].tolist() == [states[types[place] + 1] for place in admitted]
    assert out[TIME, :count].tolist() == [times[place] for place in admitted]


@given(st.lists(st.sampled_from([-1, 0, 1, 2, 5, 1 << 62]), max_size=20), st.integers(0, 63))
def test_events_of_a_component(states: list[int], bit: int) -> None:
    rows = np.full(len(states), 77, np.int64)
    count = select_rows(np.array(states, np.int64), bit, rows)
    assert rows[:count].tolist() == [row for row, each in enumerate(states) if (each >> bit) & 1]


@given(st.lists(st.tuples(st.integers(0, 7), st.booleans()), max_size=20), st.integers(0, 4))
def test_events_that_do_not_pass(events: list[tuple[int, bool]], bit: int) -> None:
    states = np.array([state for state, _ in events], np.int64)
    passes = np.array([passed for _, passed in events], np.bool_)
    failing = [state >> bit & 1 and not passed for state, passed in events]
    assert reject_rows(states, bit, passes) == sum(map(bool, failing))
    assert states.tolist() == [state if passed else state & ~(1 << bit) for state, passed in events]


@given(st.lists(st.integers(0, 3) | st.sampled_from([-(2**63), 2**63 - 1]), max_size=5))
def test_times_that_rise(times: list[int]) -> None:
    assert is_rising(np.array(times, np.int64)) == (times == sorted(set(times)))


@given(st.lists(st.lists(st.sampled_from([UNDECLARED, NOTHING, 0, 1, 3]), max_size=8), max_size=4))
def test_ranks_count_through_blocks(blocks: list[list[int]]) -> None:
    counts, found = np.zeros(4, np.int64), list[int]()
    for codes in blocks:
        ranks = np.full(len(codes), 77, np.int64)
        rank(np.array(codes, np.int64), counts, ranks)
        found += ranks.tolist()
    every = [code for codes in blocks for code in codes]
    assert found == [
        NOTHING if code < 0 else every[:place].count(code) for place, code in enumerate(every)
    ]
