"""Stream order: sorted only where it is needed, stable, and simultaneous events have one rank."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sase.engine.columns import order
from sase.engine.columns.order import looked_at, sorted_rows, stream_order
from sase.engine.resources import no_check

KEYS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), max_size=40)


def expected(keys: list[Any]) -> tuple[list[int] | None, list[int] | None]:
    rows = sorted(range(len(keys)), key=keys.__getitem__)
    ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}
    tie = [ranks[keys[row]] for row in rows]
    is_sorted, are_distinct = rows == list(range(len(rows))), len(ranks) == len(keys)
    return None if is_sorted else rows, None if are_distinct else tie


def found(ts: list[int], seq: list[int] | None) -> tuple[list[int] | None, list[int] | None]:
    rows, tie = stream_order(
        np.array(ts, np.int64), None if seq is None else np.array(seq, np.int64)
    )
    return None if rows is None else rows.tolist(), None if tie is None else tie.tolist()


LOWS = st.sampled_from([0, -(2**63), 2**63 - 7])


@given(KEYS, st.booleans(), LOWS)
def test_a_plain_sort(keys: list[tuple[int, int]], is_sorted: bool, low: int) -> None:
    """By time alone and with a sequence number, near both ends of int64."""
    given_keys = [(time + low, seq) for time, seq in (sorted(keys) if is_sorted else keys)]
    ts, seqs = [time for time, _ in given_keys], [seq for _, seq in given_keys]
    assert found(ts, None) == expected(ts)
    assert found(ts, seqs) == expected(given_keys)


@pytest.mark.parametrize("steps_back", [1, 10**6])
@given(st.lists(st.integers(0, 20), min_size=1), LOWS.map(lambda low: low - 14 if low > 0 else low))
def test_both_ways_of_sorting(steps_back: int, times: list[int], low: int) -> None:
    """Merging runs, and sorting times with their rows packed into them."""
    ts = np.array(times, np.int64) + low
    rows = sorted(range(len(times)), key=times.__getitem__)
    assert sorted_rows(ts, steps_back).tolist() == rows


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(0, 3), LOWS)
def test_nearly_sorted_rows(late: list[int], step: int, low: int) -> None:
    """A small window: rows near their places are sorted, and others are never sorted wrongly."""
    steps = np.arange(len(late)) * step - late
    ts = np.minimum(steps, 6) + low if low > 0 else steps - steps.min() + low
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(order, "NEAR", 4)
        patch.setattr(order, "ROW_BITS", 5)
        rows = order.nearly_sorted_rows(ts, no_check)
    is_near = max(late) <= 3 * step
    assert rows is not None or not is_near
    assert rows is None or rows.tolist() == np.argsort(ts, kind="stable").tolist()


def test_rows_that_are_far_from_their_places_are_left_to_another_sort() -> None:
    near = np.arange(3 * order.NEAR) // 2
    for place, time in ((-1, -1), (0, 2**62)):
        ts = near.copy()
        ts[place] = time
        assert order.nearly_sorted_rows(ts, no_check) is None
    ts = near[np.argsort(near + np.random.default_rng(1).integers(0, 2000, len(near)))]
    rows = order.nearly_sorted_rows(ts, no_check)
    assert rows is not None
    assert rows.tolist() == np.argsort(ts, kind="stable").tolist()
    found, tie = stream_order(ts, None)
    assert found is not None
    assert tie is not None
    assert (found == rows).all()


def test_ranks_are_packed_where_times_cannot_be() -> None:
    rng = np.random.default_rng(1)
    ts = rng.integers(-(2**61), 2**61, 500)[rng.integers(0, 500, 5000)]
    assert (sorted_rows(ts, 2000) == np.argsort(ts, kind="stable")).all()


@pytest.mark.parametrize("size", [1, 3, 10])
@given(KEYS.filter(bool), st.booleans(), LOWS, st.integers(0, 3))
def test_a_sort_in_pieces(
    size: int, keys: list[tuple[int, int]], with_seq: bool, low: int, alike: int
) -> None:
    """Small pieces, times that many share, and both ends of int64."""
    ts = np.array([max(time, alike) + low for time, _ in keys], np.int64)
    columns = [ts, np.array([seq for _, seq in keys], np.int64)] if with_seq else [ts]
    rows = order.sorted_in_pieces(columns, 10**6, no_check, size)
    assert rows.tolist() == np.lexsort(columns[::-1]).tolist()


@pytest.mark.parametrize("with_seq", [True, False])
def test_no_step_of_a_sort_takes_many_rows(with_seq: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is checked before, and between pieces whether to continue."""
    monkeypatch.setattr(order, "SORTED", 1000)
    monkeypatch.setattr(order, "PACKED", 1000)
    sizes, asked = list[int](), list[int]()
    sort, lexsort = order.sorted_rows, np.lexsort

    def sorted_rows(ts: Any, back: int) -> Any:
        sizes.append(len(ts))
        return sort(ts, back)

    def lexsorted(keys: Any) -> Any:
        sizes.append(len(keys[0]))
        return lexsort(keys)

    monkeypatch.setattr(order, "sorted_rows", sorted_rows)
    monkeypatch.setattr(np, "lexsort", lexsorted)
    random = np.random.default_rng(5)
    ts, seq = random.integers(0, 10**9, 50_000), random.integers(0, 9, 50_000)
    ts[: 5_000 if with_seq else 0] = 7
    rows, _ = stream_order(ts, seq if with_seq else None, check=asked.append)
    assert rows is not None
    monkeypatch.undo()
    assert (rows == np.lexsort([seq, ts] if with_seq else [ts])).all()
    assert max(sizes) <= 3_000
    assert asked[0] == order.BYTES * 50_000
    assert len(asked) > 50


def test_a_sort_is_broken_off() -> None:
    class Over(Exception):
        pass

    def check(more: int) -> None:
        if not more:
            raise Over

    ts = np.random.default_rng(1).integers(-(2**62), 2**62, 3 * order.SORTED)
    with pytest.raises(Over):
        stream_order(ts, None, check=check)


def test_times_too_far_apart_to_be_packed() -> None:
    rng = np.random.default_rng(1)
    ts = rng.integers(-(2**63), 2**63 - 1, 5000)
    rows, tie = stream_order(ts, None)
    assert rows is not None
    assert tie is None
    assert (rows == np.argsort(ts, kind="stable")).all()


def test_many_runs() -> None:
    ts = np.random.default_rng(1).integers(0, 3000, 5000)
    rows, _ = stream_order(ts, None)
    assert rows is not None
    assert (rows == np.argsort(ts, kind="stable")).all()


def test_sorted_and_distinct_is_as_it_was() -> None:
    assert found([], None) == found([1], None) == found([1, 2], None) == (None, None)
    assert found([1, 1], [1, 2]) == (None, None)
    assert found([1, 1], None) == (None, [0, 0])


@given(st.integers(1, 4), st.integers(0, 20), st.integers(0, 19))
def test_times_are_compared_across_pieces(piece: int, count: int, back: int) -> None:
    """At whichever place of whichever piece one does not rise."""
    times = list(range(count))
    if back < count:
        times[back] -= 1
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(order, "PIECE", piece)
        patched.setattr(order, "ENOUGH", piece)
        assert found(times, None) == expected(times)
        for threads in (1, 3):
            with looked_at(np.array(times, np.int64), threads) as is_rising:
                assert is_rising() == (times == sorted(set(times)))
