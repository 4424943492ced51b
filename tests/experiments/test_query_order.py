"""Runs over events in query order find the matches of imprecise time."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

import sase
from experiments.core.ways import listed
from experiments.figures.imprecise import TIME, query
from experiments.figures.pp_costs import CONSTRUCTION, MATCHING
from experiments.figures.query_order import (
    CONFIDENCE,
    SORTING,
    by_runs,
    collapsed,
    in_query_order,
)

LONGEST = 4
WINDOWS = (3, 5, 8)


def stream(seed: int, events: int = 40, at_once: int = 3) -> pa.Table:
    """Intervals that overlap, some with the same end; every third value fails the condition."""
    rng = np.random.default_rng(seed)
    until = np.arange(events) // at_once
    kinds = pa.DictionaryArray.from_arrays(
        rng.choice(4, events, p=(0.15, 0.25, 0.15, 0.45)).astype(np.int8), ["A", "B", "C", "D"]
    )
    values = rng.choice([100, 700, 900], events)
    return pa.table({"lo": until - (LONGEST - 1), "hi": until, "type": kinds, "v": values})


STREAMS = [stream(seed) for seed in range(4)]


def matches(table: pa.Table, window: int) -> Iterator[tuple[int, ...]]:
    rows = sase.match(query(window), table, time=TIME, threads=1).rows
    for a, b, c in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        yield a, *b, c


@pytest.mark.parametrize("window", WINDOWS)
def test_runs_and_worlds_find_the_matches_of_the_engine(window: int) -> None:
    found = 0
    for table in STREAMS:
        outcomes = []
        for make in (listed(query(window), time=TIME), by_runs(window, LONGEST)):
            way = make(table)
            outcomes.append(way.told(way.run()))
        engine, runs = outcomes
        assert (engine.matches, engine.check) == (runs.matches, runs.check)
        assert runs.figures[SORTING] > 0 and runs.figures[CONFIDENCE] >= 0
        found += runs.matches
    assert found > 20


@pytest.mark.parametrize("window", WINDOWS)
def test_the_collapsed_form_has_the_events_of_each_match(window: int) -> None:
    found = 0
    for table in STREAMS:
        ordered = in_query_order(table, LONGEST)
        rows = [
            {int(ordered.rows[row]) for part in each.values() for row in part}
            for each in collapsed(window, LONGEST)(table).run()["rows"].to_pylist()
        ]
        for match in matches(table, window):
            assert any(set(match) <= each for each in rows)
            found += 1
    assert found > 20


def test_only_events_of_the_pattern_are_ordered() -> None:
    ordered = in_query_order(STREAMS[0], LONGEST)
    kinds = STREAMS[0]["type"].to_pylist()
    assert sorted(ordered.rows) == [row for row, kind in enumerate(kinds) if kind != "D"]
    assert ordered.table["type"].to_pylist() == [kinds[row] for row in ordered.rows]


def test_the_stages_of_sase_plus_are_measured() -> None:
    way = by_runs(5, LONGEST)(STREAMS[0])
    assert way.probe is not None
    assert {MATCHING, CONSTRUCTION} <= set(way.probe())
