"""Costs and figures by statistics, which survive JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from sase.errors import PlanError
from sase.planning.cost.cost import cost_of
from sase.planning.cost_values import KEY_STATE, PAGE, pages
from sase.planning.serialisation import statistics_from_json, statistics_to_json
from sase.planning.statistics import (
    UNKNOWN_AGREEMENT,
    Admission,
    Agreement,
    AttributeStatistics,
    Selectivity,
    Statistics,
    TypeStatistics,
)
from tests.planning.plans import known, made


@pytest.mark.parametrize(
    ("agreements", "expected"),
    [
        ([0.5, 0.25], 0.5),
        ([0.0, 0.0], 0.25),  # each value once in a type, and perhaps once in the other
        ([0.0, None], 0.25),
        ([None, None], UNKNOWN_AGREEMENT),
    ],
)
def test_how_likely_two_events_agree(agreements: list[float | None], expected: float) -> None:
    types = tuple(
        TypeStatistics(name, 4, (AttributeStatistics("k", distinct=4, agreement=share),))
        for name, share in zip("AB", agreements, strict=True)
    )
    assert Statistics(rows=8, types=types).pair_agreement("k", "AB") == expected


# ---------------------------------------------------------------- statistics file

# Statistics survive JSON; a text that is wrong is refused, and says where.


FULL = Statistics(
    1000,
    -5,
    2**62,
    (
        TypeStatistics(
            "A",
            400,
            (AttributeStatistics("k", 0.25, 17, 1 / 3, (float("-inf"), 0.1, 1e300)),),
        ),
        TypeStatistics("B", 600),
    ),
    (Admission("a", 0.1),),
    (Agreement(("k", "m"), ("a", "b"), 1e-9),),
    (Selectivity("a.x < b.x", 0.5),),
    "a sample",
    100,
)


@pytest.mark.parametrize("statistics", [FULL, Statistics(0)])
def test_there_and_back(statistics: Statistics) -> None:
    text = statistics_to_json(statistics)
    assert statistics_from_json(text) == statistics
    assert json.loads(text)["format"] == 1


def test_what_is_found_by_name() -> None:
    assert FULL.agreement({"m", "k"}, "ba") == 1e-9
    assert FULL.agreement({"m"}, "ba") is None
    assert FULL.admission("a") == 0.1
    assert FULL.selectivity("a.x < b.x") == 0.5
    of_a = FULL.type("A")
    assert of_a is not None
    assert of_a.attribute("k") is of_a.attributes[0]
    assert of_a.attribute("m") is FULL.type("C") is None


def changed(**members: Any) -> str:
    return json.dumps({**json.loads(statistics_to_json(FULL)), **members})


def with_statistics(**members: Any) -> str:
    stored = json.loads(statistics_to_json(FULL))["statistics"]
    return changed(statistics={**stored, **members})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "these are no statistics: it is not valid JSON"),
        ("[1]", "these are no statistics: they are a JSON object that states its `format`"),
        ("[" * 100_000, "these are no statistics: it is nested too deeply"),
        (changed(format=2), "these statistics have format 2, not 1: measure them again"),
        (changed(more=1), "a file of statistics has format, statistics; this has"),
        (changed(statistics=3), "statistics: this is 3, and may be: Statistics"),
        (with_statistics(rows="9"), "statistics.rows: this is '9', and may be: int"),
        (with_statistics(row=9), "statistics: Statistics has no field 'row'; did you mean `rows`?"),
        (with_statistics(rows=-1), "a number of rows or values is not negative, and not -1"),
        (
            with_statistics(admissions=[{"is": "Admission", "variable": "a", "share": 1.5}]),
            "statistics.admissions[0]: no Admission is like this: a share is from 0 to 1, and not"
            " 1.5",
        ),
    ],
)
def test_a_wrong_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(PlanError) as caught:
        statistics_from_json(text)
    assert message in str(caught.value)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_shares_are_from_0_to_1(share: float) -> None:
    makers = [
        lambda: Admission("a", share),
        lambda: Agreement(("k",), ("a", "b"), share),
        lambda: Selectivity("a.x < b.x", share),
        lambda: AttributeStatistics("k", share),
        lambda: AttributeStatistics("k", 0.0, 1, share),
    ]
    for make in makers:
        with pytest.raises(ValueError, match="a share is from 0 to 1"):
            make()


def test_counts_are_not_negative() -> None:
    for make in (Statistics, lambda rows: TypeStatistics("A", rows)):
        with pytest.raises(ValueError, match="is not negative"):
            make(-1)


# ---------------------------------------------------------------- cost of keys

# Costs know the number of keys: whether their codes need a table, and whether they are near.


# The bytes of the state of a key: a head of 4 for each level but the last in stacks of rows.
PATTERNS = {
    "SEQ(A a, B b) WHERE [many] WITHIN 50": 4,
    "SEQ(A a, B b, A c) WHERE [many] WITHIN 50": 8,
    "SEQ(A a, !(B n), B b) WHERE [many] WITHIN 50": 8,
    "SEQ(A a, B b) WHERE [many] AND a.v < b.v WITHIN 50": 64,
    "SEQ(A a, B b) WHERE skip_till_next_match { [many] } WITHIN 50": 4,
    "SEQ(A+ a[], B b) WHERE skip_till_next_match { [many] } WITHIN 50": 4,
    "SEQ(A+ a[], B b) WHERE [many] WITHIN 50": 4,
    "SEQ(A+ a[], B b) WHERE skip_till_next_match { [many] AND a[i].v < b.v } WITHIN 50": 64,
    "SEQ(ANY+ a[]) WHERE skip_till_next_match { [many] } WITHIN 50": 64,
}
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


@pytest.mark.parametrize(("query", "size"), PATTERNS.items())
def test_many_keys_lie_far_and_wide_ones_in_a_table(query: str, size: int) -> None:
    few, many = work(query, of_keys(1_000)), work(query, of_keys(1_000_000))
    assert few["far"] == few["tabled"] == many["tabled"] == 0
    shares = {4: 0.21, 8: 0.43, 64: 1.0}  # of two megabytes and more, up to 23 times that
    assert many["far"] / ROWS == pytest.approx(shares[size], abs=0.01)
    wide = work(query, of_keys(1_000, apart=10**9))
    assert (wide["tabled"], wide["tabled_far"]) == (ROWS, 0)
    wide = work(query, of_keys(1_000_000, apart=10**9))
    assert wide["tabled"] == wide["tabled_far"] == ROWS
    assert (wide["far"], wide["page"]) == (many["far"], many["page"])
    # The number of events and of dense integers with codes by a table.
    small = replace(of_keys(1_000_000), rows=100_000)
    assert work(query, small)["tabled"] > 0


@pytest.mark.parametrize(("query", "size"), PATTERNS.items())
def test_dense_codes_of_stacks_of_rows_are_up_to_four_for_each_event(query: str, size: int) -> None:
    """Otherwise they have 23 bits at most."""
    for bits, is_tabled in ((23, False), (25, size == 64), (26, True)):
        statistics = replace(of_keys(1_000, apart=(1 << bits) // 1_001), rows=1 << 23)
        assert bool(work(query, statistics)["tabled"]) == is_tabled


@pytest.mark.parametrize(("query", "size"), PATTERNS.items())
def test_more_keys_lie_farther_and_take_more_pages(query: str, size: int) -> None:
    """A few events of many keys touch a page each, many events touch every page once."""
    counts = 1_000, 100_000, 1_000_000, 10_000_000
    found = [work(query, of_keys(count)) for count in counts]
    assert found[0]["far"] == 0 < found[2]["far"] < 1.01 * found[3]["far"]
    assert [each["page"] for each in found[1:3]] == [n * size / PAGE for n in counts[1:3]]
    assert 900 < pages(KEY_STATE * 1_000_000, 1_000) < 1_000
    assert pages(KEY_STATE * 10, 1_000) == 0


@pytest.mark.parametrize(("query", "size"), PATTERNS.items())
def test_a_table_has_at_most_a_code_for_each_event(query: str, size: int) -> None:
    """The codes follow each other, however many values the attributes of a key may have."""
    wide = work(query, of_keys(10**12, apart=10**3))
    assert wide["page"] == pytest.approx(ROWS * size / PAGE)


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
    shared = "SEQ(A a, B b) WHERE skip_till_next_match { [many] } WITHIN 50"
    alone = shared.replace("[many]", "[many] AND a.v < b.v")
    statistics = of_keys(1_000)
    costs = [cost_of(made(f"EVENT {each}").plan, statistics) for each in (shared, alone)]
    assert 2 * costs[0].nanoseconds < costs[1].nanoseconds
