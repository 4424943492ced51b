"""The index of negative components: its search, and the table of docs/semantics.md, Negation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sase.engine.kernels.expressions.checks import UNDECLARED, Checks
from sase.engine.kernels.scan.negation_index import (
    Gap,
    NegativeIndex,
    Stored,
    drop,
    forbid,
    insert,
    last_with_less,
)
from sase.engine.kernels.sentinels import ANY_SPAN, NOTHING
from tests.engine.kernels.checked import ROOM, checks_of
from tests.engine.kernels.streams import EARLIEST, LATEST, Event, Rows, arrivals, ranked, streams
from tests.engine.kernels.twins import Absent, Bounds, in_gap, tuples


def empty(room: int, keys: int) -> NegativeIndex:
    arrays = [np.full(room, 77, np.int64) for _ in range(6)]
    return NegativeIndex._make([*arrays, np.full(keys, NOTHING), np.zeros(2, np.int64)])


# ---------------------------------------------------------------- the search


@numba.njit  # type: ignore[misc, unused-ignore]
def found_by_search(index: Any, by: Any, key: int, limits: Any, out: Any) -> None:
    for place in range(limits.shape[0]):
        out[place] = last_with_less(index, by, key, limits[place])


def by_search(index: NegativeIndex, by: Any, key: int, limits: Sequence[int]) -> list[int | None]:
    """The events, or none where that is dropped which would have been found."""
    out = np.full(len(limits), 77, np.int64)
    found_by_search(index, by, key, np.array(limits, np.int64), out)
    mask, tail = len(by) - 1, index.sizes[1]
    return [int(index.row[number & mask]) if number >= tail else None for number in out]


def linear(alive: Sequence[Event], field: str, key: int, limit: int) -> int | None:
    """The last event of a key with less."""
    fits = [e.row for e in alive if e.key == key and getattr(e, field) < limit]
    return max(fits, default=None)


STEPS = st.lists(
    st.tuples(
        st.lists(
            st.tuples(st.sampled_from([0, 0, 0, 1, NOTHING, UNDECLARED]), st.integers(0, 2)),
            max_size=9,
        ),
        st.integers(0, 12),
    ),
    max_size=12,
)


@given(STEPS, st.sampled_from([EARLIEST, -5, 0, LATEST - 700]), st.integers(1, 3))
def test_the_last_with_less(steps: list[Any], begin: int, pace: int) -> None:
    """As a linear search finds it, whatever was dropped, in room that is used again and again."""
    index, alive = empty(16, 2), list[Event]()
    row, tie = 0, 0
    for batch, keep in steps:
        events = []
        for key, gap in batch:
            row, tie = row + 1, tie + gap
            events.append(Event(row, 2, key, begin + pace * tie, tie))
        bound = begin + pace * (tie - keep)
        while len(alive) + len(events) > 16:
            bound, _ = alive[0].measure + 1, alive.pop(0)
        drop(index, max(bound, EARLIEST))
        alive = [event for event in alive if event.measure >= bound]
        insert(arrivals(events), 1, index)
        alive += [event for event in events if event.key >= 0]
        assert index.sizes[0] - index.sizes[1] == len(alive)
        ties = range(-1, tie + 3)
        measures = [begin + pace * each for each in ties if begin + pace * each >= EARLIEST]
        for key in (0, 1):
            assert by_search(index, index.tie, key, ties) == [
                linear(alive, "tie", key, limit) for limit in ties
            ]
            assert by_search(index, index.measure, key, [*measures, EARLIEST, LATEST]) == [
                linear(alive, "measure", key, limit) for limit in [*measures, EARLIEST, LATEST]
            ]


@pytest.mark.parametrize("dropped", [0, 1, 700, 999, 1000])
def test_a_long_list_is_searched_in_few_steps(dropped: int) -> None:
    """Jumps skip the events that a linear search would visit: 2 log2 n steps and some more."""
    index, count = empty(1024, 1), 1000
    insert(arrivals([Event(n, 1, 0, n, n) for n in range(count)]), 0, index)
    drop(index, dropped)
    for limit in range(count + 1):
        at, steps, tail = count - 1, 0, int(index.sizes[1])
        while at >= tail and index.tie[at] >= limit:
            jump = int(index.jump[at])
            at = jump if jump >= tail and index.tie[jump] >= limit else int(index.below[at])
            steps += 1
        assert steps <= 4 * count.bit_length()
        assert by_search(index, index.tie, 0, [limit]) == [limit - 1 if limit > dropped else None]


# -------------------------------------------------- the table of docs/semantics.md, Negation

NEGATIVE = 3  # its bit among the states
STATES = [1, 2, 4, 1, 2, 4, 8, 8, 9, 12, 7]


def gap_of(absent: Absent, window: Bounds | None, falls: bool = True) -> Gap:
    """As the operator describes a component's place."""
    before = NOTHING if absent.before is None else absent.before
    after = {None: LEVELS_OF - 1, 0: NOTHING}.get(absent.before, before - 1)
    bounds = [ANY_SPAN, EARLIEST, 0, 0, 1]
    if window is not None:
        least = EARLIEST + (not window.inclusive)
        bounds = [window.span, least, window.length, window.inclusive, falls]
    return Gap(np.array([after, before], np.int64), np.array(bounds, np.int64))


LEVELS_OF = 3


class Kept:
    """The values of events that operators keep in the store, by place."""

    def __init__(self, events: Sequence[Event], keyed: bool) -> None:
        self.arrays = np.full((3, ROOM), 77, np.int64)
        for event in events:
            self.arrays[:, event.row % ROOM] = event.tie, event.measure, event.key
        self.keyed = keyed

    @property
    def stored(self) -> Stored:
        tie, measure, key = self.arrays
        return Stored(tie, measure, key if self.keyed else np.zeros(0, np.int64))


def passing(
    index: NegativeIndex, gap: Gap, kept: Kept, checks: Checks, chosen: Sequence[Any]
) -> Rows:
    """The sequences that no event of the index forbids; every third is out already."""
    rows = [tuple(event.row for event in each) for each in chosen]
    keep = np.array([place % 3 != 2 for place in range(len(rows))], np.bool_)
    numbers = np.array(rows, np.int64).reshape(-1, LEVELS_OF).T.copy()
    forbid(index, gap, kept.stored, checks, None, numbers, keep)
    return [row for row, passes in zip(rows, keep.tolist(), strict=True) if passes]


def expected(chosen: Sequence[Any], forbids: Any) -> Rows:
    return [
        tuple(event.row for event in each)
        for place, each in enumerate(chosen)
        if place % 3 != 2 and not forbids(each)
    ]


LENGTHS = st.sampled_from([1, 2, 3, 5, 9, LATEST])
WINDOWS = st.builds(Bounds, LENGTHS, st.booleans())
PLACES = st.sampled_from([None, 0, 1, 2])
NO_CHECKS = checks_of([], [1] * ROOM, [])


@given(streams(STATES, ends=True), PLACES, WINDOWS, st.booleans())
def test_the_table(
    events: list[Event], before: int | None, window: Bounds, has_window: bool
) -> None:
    """Start, middle and end, exclusive and inclusive, by key, at the ends of int64."""
    absent = Absent(before, NEGATIVE)
    known = window if has_window or before in (None, 0) else None
    index = empty(16, 2)
    insert(arrivals(events), NEGATIVE, index)
    chosen = tuples(events, LEVELS_OF)
    found = passing(index, gap_of(absent, known), Kept(events, keyed=True), NO_CHECKS, chosen)
    assert found == expected(
        chosen,
        lambda each: any(
            event.has(NEGATIVE) and event.key == each[0].key and in_gap(each, before, event, known)
            for event in events
        ),
    )


TIMES = [EARLIEST, EARLIEST + 1, EARLIEST + 2, -1, 0, 1, LATEST - 2, LATEST - 1, LATEST]


@pytest.mark.parametrize("length", [1, 2, 3, LATEST - 1, LATEST])
@pytest.mark.parametrize("inclusive", [False, True])
@pytest.mark.parametrize("before", [None, 0])
def test_every_pair_at_the_ends_of_time(before: int | None, inclusive: bool, length: int) -> None:
    """`ts ± T` saturates: of a match at the least time, of one at the greatest, and of others."""
    window, gap = Bounds(length, inclusive), Absent(before, NEGATIVE)
    for number, measure in enumerate(TIMES):
        for other, absent in enumerate(TIMES):
            event = Event(0, 1, 0, measure, 3 * number)
            forbidding = Event(1, 1 << NEGATIVE, 0, absent, 3 * other)
            index, keep = empty(1, 1), np.ones(1, np.bool_)
            insert(arrivals([forbidding]), NEGATIVE, index)
            place = gap_of(gap, window)
            if before is None:
                place.levels[0] = 0
            stored = Kept([event, forbidding], keyed=False).stored
            forbid(index, place, stored, NO_CHECKS, None, np.zeros((1, 1), np.int64), keep)
            assert keep[0] != in_gap([event], before, forbidding, window), (measure, absent)


CODES = st.sampled_from([0, 0, 1, 1, UNDECLARED, NOTHING])
VALUES = st.sampled_from([1, 2, 3, None])


@given(streams(STATES), PLACES, WINDOWS, st.data())
def test_agreement_and_conditions(
    events: list[Event], before: int | None, window: Bounds, data: Any
) -> None:
    """Where no key divides the list: tests by codes, ranks that do not fall along it, and P−."""
    codes = (data.draw(st.lists(CODES, min_size=1, max_size=6)) * ROOM)[:ROOM]
    values = (data.draw(st.lists(VALUES, min_size=1, max_size=6)) * ROOM)[:ROOM]
    other = data.draw(st.sampled_from([None, 0, 1, 2]))
    by_ranks = before is not None and data.draw(st.booleans())
    events = ranked(events) if by_ranks else events
    chosen = tuples(events, LEVELS_OF)
    index = empty(16, 1)
    # An event without a rank lies in no window that counts.
    listed = [
        e._replace(key=0, measure=EARLIEST if by_ranks and e.key < 0 else e.measure) for e in events
    ]
    insert(arrivals(listed), NEGATIVE, index)
    pairs = [(LEVELS_OF, other)] if other is not None else []
    checks = checks_of([codes], values, [pairs])
    gap = gap_of(Absent(before, NEGATIVE), window, falls=not by_ranks)
    found = passing(index, gap, Kept(events, keyed=False), checks, chosen)

    def forbids(each: Sequence[Event]) -> bool:
        return any(
            event.has(NEGATIVE)
            and in_gap(each, before, event, window)
            and all(agree(codes[event.row], codes[bound.row]) for bound in each)
            and (other is None or less(values[event.row], values[each[other].row]))
            for event in listed
        )

    assert found == expected(chosen, forbids)


def agree(left: int, right: int) -> bool:
    return UNDECLARED in (left, right) or (left == right and left != NOTHING)


def less(left: int | None, right: int | None) -> bool:
    return left is not None and right is not None and left < right


@given(streams(STATES, ends=True), st.sampled_from([0, 1, 2]), WINDOWS, st.lists(st.booleans()))
def test_what_is_dropped_forbids_nothing(
    events: list[Event], before: int, window: Bounds, drops: list[bool]
) -> None:
    """Event by event: sequences in the window are decided when they end, and old events go."""
    index, kept, found = empty(16, 2), Kept(events, keyed=True), Rows()
    gap, chosen = gap_of(Absent(before, NEGATIVE), window), tuples(events, LEVELS_OF)
    within = [each for each in chosen if window.holds(each[0].measure, each[-1].measure)]
    for place, event in enumerate(events):
        insert(arrivals([event]), NEGATIVE, index)
        for each in within:
            if each[-1] is event:
                found += passing(index, gap, kept, NO_CHECKS, [each])
        if place < len(drops) and drops[place]:
            drop(index, max(event.measure - window.span, EARLIEST))
    assert found == [
        tuple(e.row for e in each)
        for each in within
        if not any(
            event.has(NEGATIVE) and event.key == each[0].key and in_gap(each, before, event, window)
            for event in events
        )
    ]
