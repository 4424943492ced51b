"""Thousands of events with windows of tens: a forgotten event must not be needed any more."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import cycle
from math import factorial
from operator import add
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import sase
from sase.lang.parser import parse_query
from sase.planning.engine_plan import Options
from sase.planning.recipes import read_recipe, recipe_names
from tests import naive
from tests.engine.matching.long_streams import (
    Expected,
    Oracle,
    Pattern,
    events_of,
    patterns,
    table_of,
)

SOME = settings(
    max_examples=2 * settings().max_examples // 5, suppress_health_check=[HealthCheck.too_slow]
)
SIZES = st.builds(add, st.sampled_from([100, 1000, 2000, 3000]), st.integers(0, 999))
SEEDS = st.integers(0, 2**32 - 1)
KEYS = st.sampled_from(["few", "integers", "strings"])
OPTIONS = st.builds(
    Options,
    block=st.sampled_from([1, 13, 100, 1000]),
    chunk=st.sampled_from([1, 5, 50, 1000]),
    stack=st.sampled_from([1, 2, 64]),
)
KEYED = {"use_active_instance_stacks", "evaluate_runs"}
PUSHES = st.lists(st.sampled_from([1, 7, 0, 30, 2, 150, 400]), min_size=1, max_size=4)


@given(patterns(), SEEDS, st.integers(12, 20), KEYS)
def test_the_oracle_is_the_naive_matcher(pattern: Pattern, seed: int, size: int, keys: str) -> None:
    events = events_of(seed, size, keys)
    found = naive.match(parse_query(pattern.text), [event._asdict() for event in events])
    wanted = [Expected(m.detected_at, tuple(row for (row,) in m.events)) for m in found]
    assert Oracle(pattern, events).matches() == wanted


@SOME
@given(
    patterns(), SEEDS, SIZES, KEYS, st.sampled_from(recipe_names()), OPTIONS,
    st.one_of(st.none(), PUSHES),
)  # fmt: skip
def test_long_streams(
    pattern: Pattern, seed: int, size: int, keys: str, recipe: str, options: Options,
    pushes: list[int] | None,
) -> None:  # fmt: skip
    most = most_events(pattern, keys, recipe, 200_000 if options.chunk >= 50 else 20_000)
    events = events_of(seed, min(size, most), keys)
    expected = Oracle(pattern, events).matches()
    table = table_of(events, keys)
    plan = replace(sase.compile(pattern.text, table, plan=recipe), options=options)
    found = told(plan.run(table)) if pushes is None else pushed(plan.open(), table, pushes)
    assert found == expected


def most_events(pattern: Pattern, keys: str, recipe: str, sequences: int) -> int:
    """More events than a plan could try that tries every sequence of them."""
    rewrites = {call.rewrite for call in read_recipe(recipe).calls}
    length = len(pattern.names)
    is_narrow = pattern.window is not None and "push_window_into_scan" in rewrites
    # Which a plan without instance stacks or runs has nothing of.
    has_keys = "partition_stacks" in rewrites and bool(rewrites & KEYED)
    is_split = pattern.is_keyed and keys != "few" and has_keys
    if length == 1 or is_split or (is_narrow and "PARTITION" not in pattern.unit):
        return 4000
    return int(4 * (sequences * factorial(length)) ** (1 / length))


def pushed(matcher: Any, table: pa.Table, sizes: list[int]) -> list[Expected]:
    """The output of the pushes, none of it before its time."""
    times, start, found = table["ts"].to_pylist(), 0, list[Expected]()
    for size in cycle([*sizes, 17]):
        more = told(matcher.push(table.slice(start, size)))
        start = min(start + size, len(times))
        assert all(match.detected_at <= times[start - 1] for match in more)
        found += more
        if start == len(times):
            return found + told(matcher.finish())
    raise AssertionError


def told(matches: Any) -> list[Expected]:
    rows = zip(*(column.to_pylist() for column in matches.rows.columns), strict=True)
    times = matches.to_arrow()["detected_at"].to_pylist()
    return [Expected(time, row) for time, row in zip(times, rows, strict=True)]


# The least of two hundred examples with a match.
LEAST = {
    "many": 50, "keys that are soon gone": 15, "equal by conditions": 10, "negated start": 20,
    "negated middle": 20, "negated end": 15, "EVENTS": 15, "PER PARTITION": 5, "no window": 5,
}  # fmt: skip


@pytest.mark.heavy
def test_the_patterns_have_matches() -> None:
    """In most streams, and whatever they use."""
    census: Counter[str] = Counter()

    @settings(max_examples=200, derandomize=True, database=None, phases=[Phase.generate])
    @given(patterns(), SEEDS, SIZES, KEYS)
    def collect(pattern: Pattern, seed: int, size: int, keys: str) -> None:
        events = events_of(seed, min(size, most_events(pattern, keys, "pais", 20_000)), keys)
        matches = len(Oracle(pattern, events).matches())
        census["found"] += matches > 0
        census["many"] += matches > 100
        census.update(constructs(pattern, keys) if matches else ())

    collect()
    assert census["found"] >= 150
    assert {name: census[name] for name in LEAST if census[name] < LEAST[name]} == {}


def constructs(pattern: Pattern, keys: str) -> list[str]:
    negated = [part.negated for part in pattern.parts]
    present = {
        "keys that are soon gone": pattern.is_keyed and keys != "few",
        "equal by conditions": pattern.keys == "conditions",
        "negated start": negated[0],
        "negated middle": any(negated[1:-1]),
        "negated end": negated[-1],
        "EVENTS": pattern.unit == "EVENTS",
        "PER PARTITION": "PARTITION" in pattern.unit,
        "no window": pattern.window is None,
    }
    return [name for name, is_there in present.items() if is_there]
