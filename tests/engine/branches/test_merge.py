"""Branches that find more than anyone can hold are merged with few matches in hand."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

import sase
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
