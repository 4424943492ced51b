"""Sets that nobody could list."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from itertools import islice, pairwise
from time import process_time

import numpy as np
import pyarrow as pa
import pytest

import sase
from sase.engine.match_graph import Edge, MatchSet
from sase.engine.match_graph.options import GRAPH_OPTIONS, GraphOptions
from sase.engine.match_graph.totals import EndCount
from sase.engine.resources import Check
from tests.engine.match_graph.sizes import SERIES, enclosed, events, series


def test_sixty_events_are_counted_and_sampled_at_once():
    enclosed(3).sample(1)
    series(3).count()  # compiled code stays compiled
    took = []
    for _ in range(3):
        start = process_time()
        count, counted = enclosed(60).count(), process_time()
        sample, sampled = enclosed(60).sample(1_000, seed=1), process_time()
        took.append((counted - start, sampled - counted))
    assert count == 2**60 - 1
    assert len(set(sample)) == 1_000
    # The bounds are 10 ms and 50 ms, of CPU time: others may use the machine.
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
    apart = series(400, edge=lambda earlier, later, _: later - earlier >= 2)
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
    """No walk into events that cannot finish: one A among many, far before the series."""
    start = process_time()
    first = list(islice(enclosed(60), 1_000))
    assert process_time() - start < 1
    assert len(set(first)) == 1_000
    assert first[0].places == tuple(range(62))


def test_many_long_series_make_no_graph():
    """A join of its slots would take minutes: their number is that of all components."""
    events = [{"ts": number, "type": "A"} for number in range(3)]
    parts = ", ".join(f"A{{1000}} a{number}[]" for number in range(60))
    query = f"EVENT SEQ({parts})"
    said = str(sase.explain(query, events, output="count"))
    assert "its components count up to 60,000 events" in said
    assert sase.match(query, events, output="count") == 0


class Over(Exception):
    pass


@pytest.mark.parametrize("edge", [None, lambda earlier, later, _pair: later > earlier])
def test_passes_ask_between_blocks_whether_to_go_on(edge: Edge | None) -> None:
    """In kernels, modulo primes, and in integers of any size."""
    small = replace(GRAPH_OPTIONS, steps=1 << 5)
    for options, least in (
        (small, 100),
        (replace(small, in_int64=False), 100),
        (replace(small, in_int64=False, modular_bits=0), 100),
    ):
        asked = list[int]()
        counts = [end.count for end in counted(400, 12, edge, options, asked.append)]
        assert counts == [2 ** min(place, 12) for place in range(400)]
        assert asked.count(0) > least
        assert max(asked) >= 8 * 400  # the bytes of a column, before they are taken


@pytest.mark.parametrize("at", [0, 1, 5, 30])
def test_passes_are_broken_off(at: int) -> None:
    asked = list[int]()

    def check(more: int) -> None:
        asked.append(more)
        if len(asked) > at:
            raise Over

    with pytest.raises(Over):
        counted(400, 12, None, replace(GRAPH_OPTIONS, steps=1 << 7), check)
    assert len(asked) == at + 1


@pytest.mark.parametrize("edge", [None, lambda earlier, later, _pair: later > earlier])
def test_what_matches_hold_is_marked_block_by_block(edge: Edge | None) -> None:
    """From the last event of a match back, also where one window has all events."""
    asked = list[int]()
    options = replace(GRAPH_OPTIONS, steps=1 << 5)
    found = MatchSet.over(SERIES, events([1] * 400, [1] * 400, edge), None, options, asked.append)
    assert found.count() == 2**400 - 1
    asked.clear()
    assert found.aggregate("max", 0, [range(400)]) == 399
    assert asked.count(0) > 12  # of 32 places at most
    assert max(asked) >= 400  # the bytes of the marks, before they are taken
    asked.clear()
    held = [lists.places for lists in found.collapsed()]
    assert held == [([*range(end + 1)],) for end in range(400)]
    assert asked.count(0) > 400 * 5


def test_marks_are_broken_off() -> None:
    """Behind the passes that have counted, of which the marks of one match are the last."""
    left = [10**9]

    def check(more: int) -> None:
        left[0] -= 1
        if not left[0]:
            raise Over

    options = replace(GRAPH_OPTIONS, steps=1 << 5)
    found = MatchSet.over(SERIES, events([1] * 400, [1] * 400, None), None, options, check)
    assert found.count() == 2**400 - 1
    left[0] = 5
    with pytest.raises(Over):
        found.aggregate("max", 0, [range(400)])


def counted(
    size: int, span: int, edge: Edge | None, options: GraphOptions, check: Check
) -> list[EndCount]:
    found = MatchSet.over(SERIES, events([1] * size, [1] * size, edge), span, options, check)
    return list(found.counts_by_end())


def test_a_list_ends_between_two_matches() -> None:
    """Also where all matches have the same last event."""
    made, looks = list[object](), list[int]()
    stream = events([1] * 20, [1] * 20, None)
    found = MatchSet.over(SERIES, stream, None, GRAPH_OPTIONS, lambda more: looks.append(len(made)))
    for match in islice(found, 10_000):
        made.append(match)
    between = [later - sooner for sooner, later in pairwise([*looks, len(made)])]
    assert max(between) <= 1_000
    assert len({*looks}) == 10


def test_a_count_ends_in_time_within_a_pass() -> None:
    """Windows of many events, of which a pass is long: the time is kept within it."""
    table = pa.table({"ts": range(400_000), "type": ["A"] * 400_000})
    query = "EVENT A+ a[] WHERE skip_till_any_match {a[i].ts > 0} WITHIN 100000"
    begin = process_time()
    with pytest.raises(sase.TimeLimitError):
        sase.match(query, table, output="count", timeout=1)
    assert process_time() - begin < 20
