"""Matches that are held component by component are the same as those held match by match."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sase.engine.operators.bindings.bindings import Bindings
from sase.engine.operators.bindings.columnar import ColumnarBindings
from sase.engine.operators.bindings.forms import SeriesForm
from sase.engine.snapshots.saved_state import LiveEvents, Saved

Matches = list[tuple[list[int], ...]]


def by_match(matches: Matches, levels: int) -> Bindings:
    events = [event for match in matches for bound in match for event in bound]
    lengths = np.array([[len(match[level]) for match in matches] for level in range(levels)])
    ends = np.cumsum(lengths.sum(axis=0))
    return Bindings(np.array(events, np.int64), ends, lengths)


def by_component(matches: Matches, is_single: tuple[bool, ...]) -> ColumnarBindings:
    every = [[match[level] for match in matches] for level in range(len(is_single))]
    return ColumnarBindings(
        [np.array(sum(bound, []), np.int64) for bound in every],
        [
            None if is_one else np.cumsum([len(each) for each in bound])
            for bound, is_one in zip(every, is_single, strict=True)
        ],
    )


def are_equal(one: Bindings, other: Bindings) -> None:
    assert one.shape == other.shape
    for name in ("events", "ends", "lengths", "begins", "first", "last"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist(), name
    for level in range(one.shape[0]):
        for mine, others in zip(one.of_level(level), other.of_level(level), strict=True):
            assert mine.tolist() == others.tolist(), level


singles = st.lists(st.booleans(), min_size=1, max_size=4).map(tuple)


def matches_of(is_single: tuple[bool, ...]) -> st.SearchStrategy[Matches]:
    numbers = st.integers(0, 99)
    bound = [st.lists(numbers, min_size=1, max_size=1 if one else 3) for one in is_single]
    return st.lists(st.tuples(*bound), min_size=1, max_size=5)


@pytest.mark.parametrize("is_single", [(False,), (True, False), (False, True, True), (True,)])
def test_the_ends_of_two_matches(is_single: tuple[bool, ...]) -> None:
    match = tuple([level] for level in range(len(is_single)))
    are_equal(by_component([match, match], is_single), by_match([match, match], len(is_single)))


@given(st.data(), singles)
def test_both_say_the_same(data: st.DataObject, is_single: tuple[bool, ...]) -> None:
    levels = len(is_single)
    matches, more = data.draw(matches_of(is_single)), data.draw(matches_of(is_single))
    one, other = by_component(matches, is_single), by_match(matches, levels)
    are_equal(one, other)
    parts = [one, by_component(more, is_single)]
    whole = by_match(matches + more, levels)
    are_equal(Bindings.joined(parts), whole)
    are_equal(Bindings.joined([parts[0], by_match(more, levels)]), whole)
    keep = np.array([data.draw(st.booleans()) for _ in matches])
    are_equal(one[:, keep], other[:, keep])
    form = SeriesForm(levels)
    saved = Saved(form.checkpoint(one), live=LiveEvents(0, 10**6))
    are_equal(form.restored(saved), other)


def test_kernels_read_the_rows_of_a_matrix_of_which_some_matches_were_taken() -> None:
    taken = np.arange(12).reshape(3, 4)[:, np.array([3, 1])]
    assert not taken[-1].flags.c_contiguous
    found = ColumnarBindings([*taken], [None] * 3)
    for bound in (*found.by_levels, found.first, found.last):
        assert bound.flags.c_contiguous
    assert found.last.tolist() == [11, 9]
