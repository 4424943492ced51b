"""Matches of a union are merged with few in hand, wait in order, and wait in a snapshot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sase
from sase.engine.operators.branches import union
from sase.engine.snapshots.codec import from_bytes, to_bytes
from sase.errors import BudgetError
from sase.planning.engine_plan import Options

QUERY = "EVENT SEQ(A a, B b, C c) OR SEQ(A a, B b, D d)"


@pytest.fixture
def events() -> pa.Table:
    count = 400
    return pa.table({"ts": range(count), "type": ["ABCD"[n % 4] for n in range(count)]})


@pytest.mark.filterwarnings("ignore::sase.errors.BudgetWarning")
def test_a_limit_ends_the_search_of_all_branches(events: pa.Table) -> None:
    plan = sase.compile(f"{QUERY} LIMIT 10", events.schema)
    plan = replace(plan, options=Options(chunk=100))
    found = plan.run(events, threads=1)
    assert found.rows.num_rows == 10
    counters = dict(found.report.counters)
    assert counters["Union"]["in"] < 1000


@pytest.mark.filterwarnings("ignore::sase.errors.BudgetWarning")
def test_a_budget_ends_the_search(events: pa.Table) -> None:
    with pytest.raises(BudgetError, match="more than 5,000 matches"):
        len(sase.match(QUERY, events, max_matches=5000))


@pytest.mark.parametrize("chunk", [1, 2, 7, 1000])
def test_the_order_is_that_of_all_at_once(events: pa.Table, chunk: int) -> None:
    some = events.slice(0, 40)
    whole = sase.match(QUERY, some).rows.to_pylist()
    plan = replace(sase.compile(QUERY, some.schema), options=Options(chunk=chunk))
    assert plan.run(some, threads=1).rows.to_pylist() == whole
    assert len(whole) == 2 * 220  # with C and with D: 1 + 3 + 6 + … + 55


@pytest.mark.parametrize("chunk", [1, 2, 3, 1000])
def test_scans_of_several_branches_are_merged_by_all_of_them(events: pa.Table, chunk: int) -> None:
    some, query = events.slice(0, 40), "EVENT SEQ(A a, (B b OR C c)?, D d)"
    alone = [
        {"a": None, "b": None, "c": None, "d": None} | row
        for pattern in ("A a, B b, D d", "A a, C c, D d", "A a, D d")
        for row in sase.match(f"EVENT SEQ({pattern})", some).rows.to_pylist()
    ]
    plan = replace(sase.compile(query, some.schema), options=Options(chunk=chunk))
    found = plan.run(some, threads=1).rows.to_pylist()
    assert found == sase.match(query, some).rows.to_pylist()
    assert sorted(map(str, found)) == sorted(map(str, alone))
    assert [row["d"] for row in found] == sorted(row["d"] for row in alone)


# ---------------------------------------------------------------- waiting matches

# Matches of a union that wait: put in order where some are due, gone when time has passed.


# A match of the second branch waits until the first may have given the same.
WAITING = "EVENT SEQ(A a, B b, !(N n)) OR SEQ(A a, (B b OR C c)) WITHIN 40"


def rows(count: int) -> list[dict[str, Any]]:
    return [{"type": "ABC"[n % 3], "ts": n} for n in range(count)]


@pytest.fixture
def ordered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many matches were put in order, each time."""
    sizes, order = list[int](), union.order_matches

    def counted(matches: Any, *rooms: Any) -> None:
        sizes.append(len(matches.ends))
        order(matches, *rooms)

    monkeypatch.setattr(union, "order_matches", counted)
    return sizes


def test_what_cannot_be_due_is_not_put_in_order(ordered: list[int]) -> None:
    given = rows(40)
    matcher = sase.compile(WAITING, given).open()
    assert sum(len(matcher.push([row])) for row in given) == 0
    assert ordered == []
    found = matcher.finish().to_pylist()
    assert found == sase.match(WAITING, given).to_pylist()
    assert len(found) > 150


def test_only_matches_of_a_window_or_two_wait() -> None:
    given = rows(400)
    matcher = sase.compile(WAITING, given).open()
    waiting, found = list[int](), 0
    for row in given:
        found += len(matcher.push([row]))
        (counters,) = (own for name, own in matcher.counters if name == "Union")
        waiting.append(counters["waiting"])
    assert max(waiting[200:]) <= 1.1 * max(waiting[:200])
    assert found > 3 * max(waiting)


@pytest.mark.parametrize("size", [1, 7, 50])
def test_pieces_give_what_the_whole_gives(size: int) -> None:
    given = rows(80)
    plan = sase.compile(WAITING, given)
    matcher, found = plan.open(), list[Any]()
    for begin in range(0, len(given), size):
        found += matcher.push(given[begin : begin + size]).to_pylist()
        matcher = plan.restore(matcher.snapshot())
    found += matcher.finish().to_pylist()
    assert found == sase.match(WAITING, given).to_pylist()


# ---------------------------------------------------------------- saved union

# Matches of several branches that wait in a snapshot are those of their branches.


ROWS = [{"type": kind, "ts": ts} for ts, kind in enumerate("BACABCCCN", 1)]
SAVED = (
    "EVENT (SEQ(A a, B b) OR SEQ(A a, B b, !(N n)) OR SEQ(A a, (C c OR SEQ(C d, A e))+ g[]))"
    " WITHIN 9"
)


def test_a_match_of_another_branch_is_refused() -> None:
    plan = sase.compile(SAVED, ROWS)
    matcher = plan.open()
    matcher.push(ROWS[:7])
    state: Any = from_bytes(matcher.snapshot())
    branches = state["operators"][0]["waiting"]["branches"]
    branches[np.flatnonzero(branches == 0)[0]] = 2
    with pytest.raises(sase.SnapshotError, match="events of another branch"):
        plan.restore(to_bytes(state))


def test_matches_wait_in_a_snapshot_though_none_has_iterations() -> None:
    plan = sase.compile(SAVED, ROWS)
    matcher = plan.open()
    matcher.push([{"type": kind, "ts": ts} for ts, kind in enumerate("ABB", 1)])
    again = plan.restore(matcher.snapshot())
    found = matcher.finish().to_pylist()
    assert len(found) == 2
    assert again.finish().to_pylist() == found
