"""No default plan takes more than 1.5 times the steps of the best recipe, whatever is expected.

Steps are counted, and not timed: events, instances pushed, visited, and given to each operator of a
plan that scans. The statistics are those of a stream of twelve million events at the same rates.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter_ns
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sase.api.compiled_query import compile_query
from sase.binding.input_options import InputOptions
from sase.engine.pipeline.analyze import analyzed
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.sources.discovered import Discovered
from sase.planning.plan.nodes import SequenceScan, find
from sase.planning.recipes import read_recipe, recipe_names
from sase.planning.statistics import Statistics

PATTERNS = (
    "SEQ(A a, B b) WHERE [k]",
    "SEQ(A a, B b) WHERE [k] AND a.x < b.x",
    "SEQ(A a, B b, C c) WHERE [k]",
    "SEQ(A a, B b, C c) WHERE [k] AND a.x < c.x AND b.x < c.x",
    "SEQ(A a, B b) WHERE [k, x]",
    "SEQ(A a, !(B n), A c) WHERE [k]",
    "SEQ(A a, !(B n), A c) WHERE [k] AND n.x < a.x",
    "SEQ(!(C n), A a, B b) WHERE [k]",
)
ROWS, LARGE, LIMIT = 2_000, 12_000_000, 1.5


def stream(types: int, keys: int) -> pa.Table:
    rng = np.random.default_rng(types * keys)
    return pa.table(
        {
            "ts": np.arange(ROWS),
            "type": np.array([*"ABCDEF"])[rng.integers(0, types, ROWS)],
            "k": rng.integers(0, keys, ROWS),
            "x": rng.integers(0, 50, ROWS),
        }
    )


def as_if_large(found: Statistics) -> Statistics:
    """Of a stream that continues as long as twelve million events take."""
    times = LARGE // ROWS
    assert found.span is not None
    types = tuple(replace(each, rows=each.rows * times) for each in found.types)
    return replace(found, rows=LARGE, first=0, last=found.span * times - 1, types=types)


def steps(plan: Any, table: pa.Table) -> int:
    """The counters of events and sequences that come to all operators of a plan."""
    _, report = analyzed(plan.engine, table, clock=perf_counter_ns)
    names = ("events", "window_events", "pushed", "visited", "in")
    counts = (each.get(name, 0) for _, each in report.counters for name in names)
    return sum(sum(count) if isinstance(count, list) else int(count) for count in counts)


@pytest.mark.parametrize(("types", "keys", "window"), [(2, 5, 20), (2, 50, 200), (6, 5, 50)])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_default_plan_takes_few_steps(pattern: str, types: int, keys: int, window: int) -> None:
    query, table = f"EVENT {pattern} WITHIN {window}", stream(types, keys)
    known = compile_query(query, Discovered.of(table, InputOptions()))
    statistics = known.measured(Pipeline(known.unoptimized).load(table)[1], ROWS)
    made = known.plan(known.optimized(as_if_large(statistics), loaded=True))
    recipes = (replace(known, recipe=read_recipe(name)) for name in recipe_names())
    every = [each.plan(each.optimized()) for each in recipes]
    scanning = {plan.operators: plan for plan in every if find(plan.operators, SequenceScan)}
    fewest = min(steps(plan, table) for plan in scanning.values())
    assert steps(made, table) <= LIMIT * fewest
