"""Where the default plan has match windows, and which branches share a scan."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sase
from sase.api import execution
from sase.api.compiled_query import compile_query
from sase.binding.input_options import InputOptions
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.sources.discovered import Discovered
from sase.planning.branches import placed_operators, shared_scans
from sase.planning.plan.nodes import SequenceScan, require

PLENTY, RARE = "ABD" * 8000, "C"
TOOK = "match windows hand on about"


def events(keys: int) -> pa.Table:
    """Many events of three types and a few of one, over a number of keys."""
    kinds = [RARE if n % 6000 == 700 else kind for n, kind in enumerate(PLENTY)]
    numbers = range(len(kinds))
    return pa.table({"ts": numbers, "type": kinds, "id": [n % keys for n in numbers]})


def why(query: str, given: object) -> str:
    """The plan that statistics of all events choose."""
    known = sase.explain(query, given).statistics
    return str(sase.explain(query, given, stats=known))


@pytest.mark.parametrize(
    "pattern",
    [
        "SEQ(A a, B+ b[], C c) WHERE skip_till_next_match { b[i].id >= a.id } WITHIN 600",
        "SEQ(A a, B+ b[], C c) WHERE earliest_maximal WITHIN 300",
        "SEQ(SET(A a, B+ b[]), C c) WHERE skip_till_any_match { b[i].id > b[i-1].id } WITHIN 60",
        "SET(A a, B+ b[], D d, C c) WHERE earliest_maximal WITHIN 60",
    ],
)
def test_runs_with_a_rare_component_have_them(pattern: str) -> None:
    given, query = events(9), f"EVENT {pattern}"
    assert TOOK in why(query, given)
    found = sase.match(query, given)
    assert found.rows.equals(sase.match(query, given, plan="basic").rows)


@pytest.mark.parametrize(
    "query",
    [
        "EVENT SEQ(A a, B b, C c) WITHIN 60",  # stacks
        "EVENT SEQ(A a, B+ b[], D d) WHERE earliest_maximal WITHIN 60",  # none is rare
        "EVENT SEQ(A a, B+ b[], C? c, D d) WHERE earliest_maximal WITHIN 60",  # may be empty
        "EVENT SEQ(A a, B+ b[], C c) WHERE earliest_maximal",  # no window
        "EVENT SEQ(A a, B+ b[], C c) WHERE partition_contiguity { [id] } WITHIN 60",  # few runs
    ],
)
def test_others_have_none(query: str) -> None:
    assert "match windows" not in why(query, events(1000))


@pytest.mark.parametrize(
    ("keys", "window", "has_windows"),
    [
        (1_000, 20, True),  # an event hardly meets a run of its key
        (1_000, 100_000, False),  # it meets many
        (1_000_000, 20, False),  # the counters of all keys are cleared for each block
    ],
)
def test_runs_that_few_events_meet_have_them(keys: int, window: int, has_windows: bool) -> None:
    count = max(400_000, keys)
    rng = np.random.default_rng(1)
    columns = {"id": rng.integers(0, keys, count), "x": rng.integers(0, 1000, count)}
    given = pa.table({"ts": range(count), "type": ["A", "B"] * (count // 2), **columns})
    where = "skip_till_any_match { [id] AND b[i].x > a.x }"
    query = f"EVENT SEQ(A a, B+ b[], A c) WHERE {where} WITHIN {window}"
    known = compile_query(query, Discovered.of(given, InputOptions()))
    statistics = known.measured(Pipeline(known.unoptimized).load(given)[1], 20_000)
    chosen = known.plan(known.optimized(statistics, loaded=True))
    assert chosen.engine.is_narrowed == has_windows
    if window == 20:
        plain = known.plan(known.optimized())
        assert len(chosen.run(given)) == len(plain.run(given))


@pytest.mark.parametrize(("last", "has_windows"), [("C", True), ("D", False)])
def test_a_sample_is_taken_where_a_component_of_runs_is_rare(
    last: str, has_windows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = events(9)
    monkeypatch.setattr(execution, "ENOUGH_FOR_RARE", len(given))
    query = f"EVENT SEQ(A a, B+ b[], {last} c) WHERE earliest_maximal WITHIN 300"
    matches = sase.match(query, given)
    assert len(matches) > 0
    assert ("MatchWindow" in dict(matches.report.counters)) == has_windows


@pytest.mark.parametrize("loaded", [True, False])
def test_a_plan_that_may_be_pushed_to_has_none(loaded: bool) -> None:
    """Of small pushes few are left out, as later events are taken to be there."""
    given = events(9)
    query = "EVENT SEQ(A a, B+ b[], C c) WHERE earliest_maximal WITHIN 300"
    known = compile_query(query, Discovered.of(given, InputOptions()))
    statistics = known.measured(Pipeline(known.unoptimized).load(given)[1], len(given))
    chosen = known.plan(known.optimized(statistics, loaded=loaded))
    assert chosen.engine.is_narrowed == loaded
    if not loaded:
        assert sase.compile(query, given, stats=statistics).operators == chosen.operators


# ---------------------------------------------------------------- shared scans

# Which branches of a pattern share a scan.


EVENTS = pa.schema({"ts": pa.int64(), "type": pa.string(), "id": pa.int64(), "v": pa.int64()})

# The pattern with its conditions, and the branches of each scan.
SHARED = {
    "SEQ(A a, (B b OR C c), D d)": [(0, 1)],
    "SEQ(A a, (B b OR C c), D d) WHERE [id]": [(0, 1)],
    "B b OR C c OR D d": [(0, 1, 2)],
    "SEQ(A a, (B b OR C c), (D d OR E e), F f)": [(0, 1, 2, 3)],
    "SEQ((A a OR B b), (A c OR B d))": [(0, 1, 2, 3)],
    "SEQ(A a, (ANY(B, C) b OR D d), E e)": [(0, 1)],
    "SEQ(A a, (B b OR C c)?, D d)": [(0, 1), (2,)],
    # The type does not tell which of the two it is.
    "SEQ(A a, (B b OR B c), D d)": [(0,), (1,)],
    "SEQ(A a, (B b OR ANY(B, C) c OR C d), E e)": [(0, 2), (1,)],
    # An event of any type may be a B.
    "SEQ(A a, (B b OR ANY c), D d)": [(0,), (1,)],
    # The branches ask different things.
    "SEQ(A a, (B b OR C c), D d) WHERE b.v > 1": [(0,), (1,)],
    "SEQ(A a, (B b OR C c), D d) WHERE b.v > 1 AND c.v > 1": [(0, 1)],
    "SEQ(A a, (B b OR C c), D d) WHERE a.v = b.v AND a.v = c.v": [(0, 1)],
    "SEQ(A a, (B b OR C c), D d) WHERE a.v > 1": [(0, 1)],
    "SEQ(A a, (SEQ(B b, !(N n)) OR C c), D d)": [(0,), (1,)],
    "SEQ(A a, (B b OR C c), !(N n), D d)": [(0, 1)],
    # Under other strategies and with series an event of one alternative may stop another one.
    "SEQ(A a, (B b OR C c), D d) WHERE skip_till_next_match": [(0,), (1,)],
    "SEQ(A a, (B b OR C c), D+ d[])": [(0,), (1,)],
    # Two of four choices are alike.
    "SEQ(A a, B b, C c) OR SEQ(A a, B b, D d) OR SEQ(A a, E b, C c)": [(0, 1), (2,)],
}


@pytest.mark.parametrize("query", SHARED)
def test_the_branches_of_each_scan(query: str) -> None:
    union = sase.compile(f"EVENT {query} WITHIN 10", EVENTS).engine.union
    assert union is not None
    assert [each.branches for each in shared_scans(union)] == SHARED[query]


def test_a_shared_scan_takes_the_types_of_all_and_reads_their_columns() -> None:
    query = "EVENT SEQ(A a, (B b OR C c), D d) WITHIN 9 RETURN b.v, c.id"
    union = sase.compile(query, EVENTS).engine.union
    assert union is not None
    (shared,) = shared_scans(union)
    scan = require(shared.plan, SequenceScan)
    assert [each.types for each in scan.components] == [("A",), ("B", "C"), ("D",)]
    assert scan.columns == ("v", "id")
    assert shared.types == ("B", "C")


def test_the_branches_stand_by_their_choices() -> None:
    """The written order is that of the choices, but for patterns that are written out by hand."""
    query = "SEQ(A a, C c) OR SEQ(A a, D d) OR SEQ(B b, D d) OR SEQ(B b, C c)"
    union = sase.compile(f"EVENT {query} WITHIN 10", EVENTS).engine.union
    assert union is not None
    for shared in shared_scans(union):
        for place, number in enumerate(shared.branches):
            branch = require(union.branches[number], SequenceScan).components
            last = [each.variable for each in shared.choices[-1]]
            assert branch[-1].variable == last[place % len(last)]


def test_types_that_do_not_fit_into_a_byte_are_of_several_scans() -> None:
    types = ", ".join(f"T{number}" for number in range(200))
    more = ", ".join(f"U{number}" for number in range(200))
    query = f"EVENT SEQ(A a, (ANY({types}) b OR ANY({more}) c OR C d)) WITHIN 9"
    union = sase.compile(query, EVENTS).engine.union
    assert union is not None
    assert [each.branches for each in shared_scans(union)] == [(0, 2), (1,)]


def test_what_is_shared_is_named_by_its_first_branch() -> None:
    plan = sase.compile("EVENT SEQ(A a, (B b OR C c)?, D d) WITHIN 9", EVENTS)
    assert [each.name for each in placed_operators(plan.engine.operators)] == [
        "SequenceScan of branch 1",
        "SequenceConstruction of branch 1",
        "Transformation of branch 1",
        "Transformation of branch 2",
        "SequenceScan of branch 3",
        "SequenceConstruction of branch 3",
        "Transformation of branch 3",
        "Union",
        "Transformation",
    ]
