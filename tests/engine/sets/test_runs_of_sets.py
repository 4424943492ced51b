"""Runs of sets return their matches in time, find the same as nodes, and leave out overlaps."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

import sase
from sase.engine.operators.kleene.run_operator import NodeStore
from sase.engine.operators.sets.row_store import RowStore
from sase.errors import SnapshotError
from sase.lang.parser import parse_query
from sase.planning.engine_plan import Options
from tests import naive
from tests.engine.series.test_merging import OPTIONS


@pytest.mark.parametrize("window", ["", "WITHIN 9", "WITHIN 5 EVENTS"])
@pytest.mark.parametrize("last", ["B{2} b[]", "SET(B{2} b[])", "B{1} b[], B c", "SET(B b, ANY c)"])
def test_a_match_that_is_full_is_told_at_once(last: str, window: str) -> None:
    rows = [{"ts": ts, "type": kind} for ts, kind in enumerate("ABB")]
    query = f"EVENT SEQ(A a, {last}) WHERE earliest_maximal {window}"
    matcher = sase.compile(query, rows).open()
    told = len(matcher.push(rows))
    assert told > 0
    assert len(matcher.finish()) == 0


def test_a_restored_matcher_may_end_at_once() -> None:
    """No event after the restart has ended the window in EVENTS PER PARTITION."""
    rows = [{"ts": ts, "type": kind, "k": 1} for ts, kind in enumerate("AB")]
    query = "EVENT SEQ(A a, B+ b[]) WHERE earliest_maximal { [k] } WITHIN 5 EVENTS PER PARTITION"
    plan = sase.compile(query, rows)
    matcher = plan.open()
    matcher.push(rows)
    assert len(plan.restore(matcher.snapshot()).finish()) == 1


@pytest.mark.parametrize("first", [-2, -1, 0])
def test_a_match_is_told_when_its_window_has_passed(first: int) -> None:
    """Whatever the time of the first event: no number among times means none."""
    rows = [{"ts": first + ts, "type": kind} for ts, kind in enumerate("CABBC", -1)]
    plan = sase.compile("EVENT SEQ(A a, B+ b[]) WHERE earliest_maximal WITHIN 3", rows)
    matcher = plan.open()
    told = [len(matcher.push([row])) for row in rows]
    assert told == [0, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("pattern", "kinds", "told"),
    [
        ("SEQ(A a, B+ b[]) OR SEQ(A a, B{1} b[])", "ABZZZ", [0, 0, 0, 1, 0]),
        ("SEQ(A a, B{1} b[]) OR SEQ(A a, B+ b[])", "ABZZZ", [0, 0, 0, 1, 0]),
        ("SEQ(A a, B{1,2} b[]) OR SEQ(A a, B{1,3} b[])", "ABBZZ", [0, 0, 0, 1, 0]),
        ("SEQ(A a, B{1} b[]) OR SEQ(A a, C+ c[])", "ABZZZ", [0, 1, 0, 0, 0]),
    ],
)
def test_what_branches_detect_at_two_times_is_told_once(
    pattern: str, kinds: str, told: list[int]
) -> None:
    """It waits for the later one, if both may give the same match: that is the one of the first."""
    rows = [{"ts": ts, "type": kind} for ts, kind in zip((0, 1, 2, 9, 20), kinds, strict=True)]
    plan = sase.compile(f"EVENT ({pattern}) WHERE earliest_maximal WITHIN 5", rows)
    matcher = plan.open()
    assert [len(matcher.push([row])) for row in rows] == told
    assert len(matcher.finish()) == 0


# ---------------------------------------------------------------- pruned

# Matches with sets that do not overlap are found without all those that do.


COUNT = 80


def rows(tied: int) -> list[dict[str, Any]]:
    """Far more events than would have their matches listed; some at a time are simultaneous."""
    return [{"type": "AB"[n % 2], "ts": n // tied, "v": n} for n in range(COUNT)]


@pytest.mark.parametrize("strategy", ["", "WHERE skip_till_any_match"])
def test_the_first_match_ends_all_others(strategy: str) -> None:
    query = f"EVENT SET(A+ a[], B+ b[]) {strategy}"
    found = sase.match(query, rows(1), output="non_overlap").rows.to_pylist()
    assert found == [{"a": [n], "b": [n + 1]} for n in range(0, COUNT, 2)]


def test_what_begins_simultaneously_with_the_last_event_overlaps() -> None:
    found = sase.match("EVENT SET(A+ a[], B b)", rows(2), output="non_overlap").rows.to_pylist()
    assert found == [{"a": [n], "b": n + 1} for n in range(0, COUNT, 2)]
    found = sase.match("EVENT SET(A+ a[], B b)", rows(3)[1:], output="non_overlap")
    times = [(match["ts_start"], match["ts_end"]) for match in found]
    assert len(times) > 10
    assert all(start > end for (_, end), (start, _) in zip(times, times[1:], strict=False))


@pytest.mark.parametrize("condition", ["a.len > 6", "a[a.len].v - a[1].v >= 12 AND b.v > 0"])
def test_some_are_found_until_those_that_pass_are_told(condition: str) -> None:
    """Before the first there are all choices among the events so far, hundreds of them."""
    query = f"EVENT SET(A+ a[], B b) HAVING {condition}"
    found = sase.match(query, rows(1), output="non_overlap").rows.to_pylist()
    assert [len(match["a"]) for match in found] == [7] * (COUNT // 14)
    ends = [max(*match["a"], match["b"]) for match in found]
    begins = [min(*match["a"], match["b"]) for match in found]
    assert all(end < begin for end, begin in zip(ends, begins[1:], strict=False))


# ---------------------------------------------------------------- set lines

# Sets of single events that no event forks: nodes find the same matches as rows of runs.


RANDOM = Random(11)
EVENTS = [
    {
        "ts": place // 2,
        "type": RANDOM.choice("AABBCCDDE"),
        "k": RANDOM.choice([1, 1, 2, None]),
        "v": RANDOM.choice([*range(9), None]),
        "s": RANDOM.choice(["x", "y", None]),
    }
    for place in range(400)
]
PATTERNS = [
    "SEQ(SET(A a, B b, C c), D d)",
    "SEQ(D d, SET(A a, B b))",
    "SEQ(SET(A a, B b), SET(C c, D d))",
    "SET(A a, B b, C c, D d)",
    "SEQ(A a, B b, C c, D d)",
]
CONDITIONS = ["", "AND a.v < b.v", "AND b.s = a.s AND d.v >= b.v", "AND a.v > 2 AND d.v != a.v"]
WINDOWS = ["WITHIN 12", "WITHIN 25 EVENTS", "WITHIN 9 EVENTS PER PARTITION", "WITHIN 6 INCLUSIVE"]
QUERIES = [
    f"EVENT {pattern} WHERE {strategy} {{[k] {condition}}} {window}"
    for strategy in ("earliest_maximal", "skip_till_next_match")
    for number, pattern in enumerate(PATTERNS)
    for condition in CONDITIONS
    if not ("d." in condition and " d" not in pattern)
    if "SET" in pattern or strategy == "earliest_maximal"
    for window in (WINDOWS[(number + len(condition)) % len(WINDOWS)],)
]


def ran(query: str, kind: type, options: Options) -> tuple[list[Any], list[Any]]:
    """The rows of a batch, and those of a stream that is cut and taken up again."""
    plan = replace(sase.compile(query, EVENTS, plan="nfab"), options=options)
    rows = plan.run(EVENTS, threads=1).rows.to_pylist()
    matcher, parts = plan.open(), []
    assert type(matcher.pipeline.operators[0].store) is kind
    for begin in range(0, len(EVENTS), 67):
        parts += matcher.push(EVENTS[begin : begin + 67]).rows.to_pylist()
        matcher = plan.restore(matcher.snapshot())
    return rows, parts + matcher.finish().rows.to_pylist()


@pytest.mark.parametrize("query", QUERIES[::3])
def test_rows_find_what_nodes_find(query: str) -> None:
    rows, parts = ran(query, RowStore, OPTIONS)
    known, _ = ran(query, NodeStore, replace(OPTIONS, lines=False))
    assert rows == parts == known
    assert rows, "there are matches"


@pytest.mark.parametrize("query", [QUERIES[0], QUERIES[13], QUERIES[20]])
def test_they_are_those_of_the_naive_matcher(query: str) -> None:
    rows = sase.match(query, EVENTS).rows.to_pylist()
    known = naive.match(parse_query(query), EVENTS)
    bound = [each.events for each in known]
    assert [tuple((event,) for event in row.values()) for row in rows] == bound
    assert len(rows) > 5


def test_one_event_completes_many_runs() -> None:
    """More than a chunk of matches, and more runs than there was room for."""
    events = [{"ts": n, "type": "AB"[n >= 300]} for n in range(302)]
    query = "EVENT SEQ(SET(A a, B b), C c) WHERE earliest_maximal WITHIN 1000"
    found, _ = _of(query, [*events, {"ts": 302, "type": "C"}])
    known, _ = _of(query, [*events, {"ts": 302, "type": "C"}], lines=False)
    assert found == known
    assert len(found) == 300


def _of(query: str, events: list[Any], *, lines: bool = True) -> tuple[list[Any], sase.Plan]:
    plan = sase.compile(query, events, plan="nfab")
    plan = replace(plan, options=replace(OPTIONS, lines=lines))
    return plan.run(events, threads=1).rows.to_pylist(), plan


@pytest.mark.parametrize(
    "query",
    [
        "EVENT SEQ(SET(A a, B b), D d) WHERE skip_till_any_match {[k]} WITHIN 9",
        "EVENT SEQ(SET(A a, B+ b[]), D d) WHERE earliest_maximal {[k]} WITHIN 9",
        "EVENT SEQ(SET(A a, ANY(A, B) b), D d) WHERE earliest_maximal {[k]} WITHIN 9",
        "EVENT SEQ(SET(A a, B b), D? d) WHERE earliest_maximal {[k]} WITHIN 9",
        "EVENT SEQ(SET(A a, B b), D d) WHERE earliest_maximal {[k] AND a.v + b.v > 1} WITHIN 9",
    ],
)
def test_where_an_event_forks_runs_there_are_nodes(query: str) -> None:
    plan = sase.compile(query, EVENTS, plan="nfab")
    assert type(plan.open().pipeline.operators[0].store) is NodeStore


@pytest.mark.parametrize("field", ["WAITS", "HELD"])
def test_a_row_that_says_otherwise_is_refused(field: str) -> None:
    from sase.engine.kernels.sets import lines as lines

    plan = replace(sase.compile(QUERIES[0], EVENTS, plan="nfab"), options=OPTIONS)
    matcher = plan.open()
    matcher.push(EVENTS[:60])
    operator: Any = matcher.pipeline.operators[0]
    rows = operator.store._runs.rows
    live = np.flatnonzero(rows[:, lines.HELD])
    assert len(live) > 1
    rows[live[0], getattr(lines, field)] = 6 if field == "HELD" else 1
    with pytest.raises(SnapshotError):
        plan.restore(matcher.snapshot())
