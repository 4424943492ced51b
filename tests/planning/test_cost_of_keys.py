"""Costs know the number of keys: whether their codes need a table, and whether they are near."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sase.planning.cost.cost import cost_of
from sase.planning.cost_values import KEY_STATE, pages
from sase.planning.statistics import Statistics
from tests.planning.plans import known, made

PATTERNS = [
    "SEQ(A a, B b) WHERE [many] WITHIN 50",
    "SEQ(A a, B b) WHERE [many] AND a.v < b.v WITHIN 50",
    "SEQ(A a, B b) WHERE skip_till_next_match { [many] } WITHIN 50",
    "SEQ(A+ a[], B b) WHERE skip_till_next_match { [many] } WITHIN 50",
    "SEQ(A+ a[], B b) WHERE skip_till_next_match { [many] AND a[i].v < b.v } WITHIN 50",
    "SEQ(ANY+ a[]) WHERE skip_till_next_match { [many] } WITHIN 50",
]
ROWS = 4_000_000


def work(query: str, statistics: Statistics, recipe: str = "optimized") -> dict[str, float]:
    """The work of the first operator."""
    plan = made(f"EVENT {query}", recipe=recipe).plan
    return dict(cost_of(plan, statistics).operators[0].work)


def of_keys(count: int, apart: int = 1, *, plain: bool = False) -> Statistics:
    """Statistics of a number of keys, which lie far apart by a step, or are plain texts."""
    found = known(values={"many": count}, A=ROWS // 2, B=ROWS // 2)
    types = tuple(
        replace(
            each,
            attributes=tuple(
                replace(one, quantiles=(0.0, float(count * apart)), plain=plain)
                for one in each.attributes
            ),
        )
        for each in found.types
    )
    return replace(found, types=types)


@pytest.mark.parametrize("query", PATTERNS)
def test_many_keys_lie_far_and_wide_ones_in_a_table(query: str) -> None:
    few, many = work(query, of_keys(1_000)), work(query, of_keys(1_000_000))
    assert few["far"] == few["tabled"] == many["tabled"] == 0
    assert 0.9 * ROWS < many["far"] <= ROWS
    wide = work(query, of_keys(1_000, apart=10**9))
    assert (wide["tabled"], wide["tabled_far"]) == (ROWS, 0)
    wide = work(query, of_keys(1_000_000, apart=10**9))
    assert wide["tabled"] == ROWS
    assert wide["far"] == wide["tabled_far"] == many["far"]
    # The number of events and of dense integers with codes by a table.
    small = replace(of_keys(1_000_000), rows=100_000)
    assert work(query, small)["tabled"] > 0


@pytest.mark.parametrize("query", PATTERNS)
def test_more_keys_lie_farther_and_take_more_pages(query: str) -> None:
    """A few events of many keys touch a page each, many events touch every page once."""
    found = [work(query, of_keys(count)) for count in (1_000, 100_000, 300_000, 1_000_000)]
    assert found[0]["far"] == 0 < found[1]["far"] < found[2]["far"] < found[3]["far"]
    assert [round(each["page"]) for each in found] == [16, 1_562, 4_688, 15_625]
    assert 900 < pages(KEY_STATE * 1_000_000, 1_000) < 1_000
    assert pages(KEY_STATE * 10, 1_000) == 0


def test_joins_near_a_rare_component_touch_few_pages() -> None:
    rows = {"A": ROWS // 2, "B": ROWS // 2, "C": 20}
    statistics = known(values={"many": 1_000_000}, span=ROWS, **rows)
    query = "SEQ(A a, B b, C c) WHERE [many] WITHIN 50"
    assert work(query, statistics, "tree_left_deep")["page"] < 200
    assert work(query, statistics, "basic")["page"] > 10_000


@pytest.mark.parametrize("plan", ["basic", "tree_left_deep", "nfab"])
def test_plain_texts_are_coded_once(plan: str) -> None:
    """All of them, whatever the operators look at; of many the table is not in the cache."""
    query = "SEQ(A a, B b) WHERE [many] WITHIN 50"
    for count in (1_000, 1_000_000):
        found = work(query, of_keys(count, plain=True), plan)
        assert (found["plain"], found["plain_new"]) == (ROWS, count)
        assert found["plain_far"] == (ROWS if count == 1_000_000 else 0)
        assert work(query, of_keys(count), plan)["plain"] == 0


def test_plain_texts_are_coded_once_for_all_branches() -> None:
    query = "EVENT SEQ(A a, B b) OR SEQ(B b, A a) WHERE [many] WITHIN 50"
    operators = cost_of(made(query, recipe="basic").plan, of_keys(1_000, plain=True)).operators
    plain = [dict(each.work)["plain"] for each in operators if each.name == "SequenceScan"]
    assert plain == [ROWS, 0]


def test_runs_that_share_cost_less() -> None:
    """As no event is shown to each of them."""
    alone = PATTERNS[2].replace("[many]", "[many] AND a.v < b.v")
    statistics = of_keys(1_000)
    costs = [cost_of(made(f"EVENT {each}").plan, statistics) for each in (PATTERNS[2], alone)]
    assert 2 * costs[0].nanoseconds < costs[1].nanoseconds
