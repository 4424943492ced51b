"""Costs know the number of keys: whether their codes need a table, and whether they are near."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sase.planning.cost import cost_of
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
    """Statistics of so many keys, which lie so far apart, or are plain texts."""
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
    assert many["far"] == ROWS
    wide = work(query, of_keys(1_000, apart=10**9))
    assert (wide["tabled"], wide["tabled_far"]) == (ROWS, 0)
    wide = work(query, of_keys(1_000_000, apart=10**9))
    assert wide["tabled"] == wide["far"] == wide["tabled_far"] == ROWS
    # Of as few events so many dense integers have codes by a table.
    small = replace(of_keys(1_000_000), rows=100_000)
    assert work(query, small)["tabled"] > 0


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
