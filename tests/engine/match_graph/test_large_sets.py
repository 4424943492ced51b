"""Sets that nobody could list."""

from __future__ import annotations

import tracemalloc
from itertools import islice
from time import perf_counter

import numpy as np
import pytest

import sase
from tests.engine.match_graph.sizes import enclosed, series


def test_sixty_events_are_counted_and_sampled_at_once():
    enclosed(3).sample(1)
    series(3).count()  # what is compiled is compiled
    took = []
    for _ in range(3):
        start = perf_counter()
        count, counted = enclosed(60).count(), perf_counter()
        sample, sampled = enclosed(60).sample(1_000, seed=1), perf_counter()
        took.append((counted - start, sampled - counted))
    assert count == 2**60 - 1
    assert len(set(sample)) == 1_000
    # The bounds are 10 ms and 50 ms.
    assert min(each for each, _ in took) < 0.010
    assert min(each for _, each in took) < 0.050


def test_sixty_events_need_little_memory():
    enclosed(60).count()
    tracemalloc.start()
    assert enclosed(60).count() == 2**60 - 1
    _, counting = tracemalloc.get_traced_memory()
    enclosed(60).sample(1_000)
    _, sampling = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert counting < 100_000
    assert sampling < 1_000_000


@pytest.mark.parametrize("size", [59, 60, 61, 62, 63, 64, 500, 5_000])
def test_numbers_of_every_size_are_exact(size):
    assert series(size).count() == 2**size - 1
    assert enclosed(size).count() == 2**size - 1
    counts = [end.count for end in series(size).counts_by_end()]
    assert counts == [2**place for place in range(size)]
    values = [list(range(size))]
    # Each event is in half of the choices of all others.
    assert series(size).aggregate("sum", 0, values) == sum(range(size)) * 2 ** (size - 1)
    assert series(size).aggregate("avg", 0, values) == (size - 1) / 2


@pytest.mark.parametrize("span", [30, 70, 200])
def test_windows_over_many_events_are_exact(span):
    size = 3_000
    expected = [2 ** min(place, span) for place in range(size)]
    assert [end.count for end in series(size, span).counts_by_end()] == expected


def test_tested_neighbours_are_counted_exactly_where_numbers_are_large():
    """Every second event at most: Fibonacci numbers."""
    apart = series(400, edge=lambda earlier, _, later, __: later - earlier >= 2)
    one, other = 1, 1
    for end in apart.counts_by_end():
        assert end.count == one
        one, other = other, one + other
    assert end.count.bit_length() > 250


def test_samples_of_a_large_set_are_spread():
    """Each event is in about half of the matches, also where numbers have thousands of bits."""
    matches = series(3_000).sample(40, seed=5)
    held = np.zeros(3_000)
    for match in matches:
        held[list(match.places)] += 1
        assert 1_300 < len(match.places) < 1_700
    assert 19 < held.mean() < 21
    assert (held[:512].mean(), held[-512:].mean()) == pytest.approx((20, 20), abs=0.7)


def test_the_first_matches_come_at_once():
    """No walk into what cannot be finished: one A among many, far before the series."""
    start = perf_counter()
    first = list(islice(enclosed(60), 1_000))
    assert perf_counter() - start < 1
    assert len(set(first)) == 1_000
    assert first[0].places == tuple(range(62))


def test_many_long_series_make_no_graph():
    """What joins its slots would take minutes: their number is that of all components."""
    events = [{"ts": number, "type": "A"} for number in range(3)]
    parts = ", ".join(f"A{{1000}} a{number}[]" for number in range(60))
    query = f"EVENT SEQ({parts})"
    said = str(sase.explain(query, events, output="count"))
    assert "its components count up to 60,000 events" in said
    assert sase.match(query, events, output="count") == 0
