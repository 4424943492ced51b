"""The histories of merged runs are counted, and none of them is enumerated."""

from __future__ import annotations

import warnings
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import settings

import sase
from sase.engine.pipeline.batch import held
from sase.engine.set_results import CountedHistories
from sase.errors import TimeLimitError
from sase.planning.counting import counting_histories
from sase.planning.engine_plan import Options
from tests.drawing.examples import Example
from tests.drawing.ways import case
from tests.seeds import draw_numbers, tries

MERGED = "nfab_merged"
# Tables are moved, and nodes made room for, all the time.
TINY = Options(block=3, stack=1)
RANDOM = Random(7)
EVENTS = [
    {"ts": n, "type": RANDOM.choice("ABC"), "k": RANDOM.randrange(2), "v": RANDOM.randrange(9)}
    for n in range(90)
]


def counted(plan: sase.Plan, events: Any, options: Options = TINY) -> CountedHistories | None:
    """The counter of histories, if they can be counted."""
    counting = counting_histories(plan.operators)
    if counting is None:
        return None
    engine = replace(plan, operators=counting, options=options).engine
    whole = held(engine, events)
    assert whole is not None
    return CountedHistories(engine, *whole)


def drawn(number: int) -> tuple[Example, CountedHistories]:
    """An example with a match that can be counted."""
    # One of seven or so has one: as many draws in a row without any are a fault.
    for each in (other + further for other in tries(number) for further in range(0, 10_000, 1_000)):
        example, way = case(each, "series")
        if example.is_refused or not example.expected:
            continue
        plan = sase.compile(
            example.query.text, example.table, **example.given_keywords, plan=MERGED,
            output=example.output,
        )  # fmt: skip
        options = replace(TINY, block=way.options.block, stack=way.options.stack)
        found = counted(replace(plan, options=options), example.table, options)
        if found is not None:
            return example, found
    raise AssertionError


@pytest.mark.random
def test_as_many_are_counted_as_the_naive_matcher_finds() -> None:
    for number in draw_numbers(settings().max_examples):
        example, found = drawn(number)
        assert found.count(0) == len(example.expected), example


QUERIES = [
    "SEQ(A+ a[], B b) WHERE skip_till_next_match {[k]} WITHIN 12",
    "SEQ(A+ a[], B b, C* c[]) WHERE skip_till_next_match {[k] AND a[i].v > a[i-1].v}"
    " WITHIN 12 EVENTS PER PARTITION",
    "SEQ(A a, B+ b[], C c) WHERE max(b[..i].v) < 8 AND [k] WITHIN 20",
    "SEQ(A a, B* b[], C c) WHERE c.v > a.v AND b[i].v > b[1].v AND [k] WITHIN 25 EVENTS",
    "SEQ(A+ a[], B+ b[]) WHERE a[1].v < b[b.len].v AND sum(a[].v) > 4 WITHIN 15",
]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("options", [TINY, Options()], ids=["tiny", "usual"])
def test_the_count_is_that_of_the_list(query: str, options: Options) -> None:
    plan = sase.compile(f"EVENT {query}", EVENTS, plan=MERGED)
    found = counted(plan, EVENTS, options)
    assert found is not None
    assert found.count(0) == len(sase.match(f"EVENT {query}", EVENTS, plan="nfab")) > 50


ALIKE = [{"ts": n, "type": "A", "v": 1} for n in range(300)]
ANY_PART = "EVENT A+ a[] WHERE max(a[..i].v) < 8"


@pytest.mark.parametrize(
    ("window", "number"),
    [("", 2**300 - 1), (" WITHIN 70", 232 * 2**69 - 1)],
)
def test_counts_are_exact_however_large(window: str, number: int) -> None:
    found = sase.match(ANY_PART + window, ALIKE, plan=MERGED, output="count")
    assert found == number and found.is_counted and found.report.notes == ()
    assert dict(found.report.counters)["RunEvaluation"]["matches"] == number


def test_what_is_too_many_to_be_found_is_counted_by_the_default_plan() -> None:
    """It looks at some first, and does not warn of the others."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = sase.match(ANY_PART, ALIKE, output="count", max_matches=1_000)
    assert found == 2**300 - 1 and found.is_counted
    few = sase.match(ANY_PART, ALIKE[:8], output="count")
    assert few == 2**8 - 1 and not few.is_counted


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        (MERGED, "output count: the histories of merged runs are counted, and no single match"),
        ("optimized", "since HISTORY; where they are more than 8,388,608, the histories of merged"),
        ("nfab", "since HISTORY; where they are more than 8,388,608, the histories of merged runs"),
    ],
)
def test_explain_says_what_is_counted(recipe: str, said: str) -> None:
    told = sase.explain(ANY_PART, ALIKE, plan=recipe, output="count")
    *few, histories = told.to_dict()["form"]["ways"]
    assert histories == {"method": "histories", "reasons": []}
    assert [each["method"] for each in few] == ["few_listed"] * (recipe != MERGED)
    reason = "; ".join(few[0]["reasons"]) if few else ""
    assert said.replace("HISTORY", reason) in " ".join(str(told).split())


def test_a_time_limit_ends_a_count() -> None:
    with pytest.raises(TimeLimitError):
        sase.match(ANY_PART, ALIKE * 40, plan=MERGED, output="count", timeout=0.05)


@pytest.mark.parametrize("more", ["HAVING a.len + 0 > 2", "LIMIT 3", "RETURN a.len AS n"])
def test_only_what_looks_at_whole_matches_has_them_found(more: str) -> None:
    events = ALIKE[:9]
    query = f"{ANY_PART} {more}"
    found = sase.match(query, events, plan=MERGED, output="count")
    assert found == len(sase.match(query, events, plan="nfab"))
    assert found.is_counted is more.startswith("RETURN")


def test_what_was_bound_is_let_go() -> None:
    """A run without end takes all; listing keeps its events, and counting a node for each run."""
    query = "EVENT SEQ(S+ a[], T b) WHERE skip_till_next_match {[k]} WITHIN 500"
    table = pa.table({"ts": range(4_000), "type": ["S"] * 3_999 + ["T"], "k": [0, 1] * 2_000})
    plan = sase.compile(query, table, plan=MERGED)
    options = Options(block=256, chunk=64, stack=4, analyze=True)
    found = counted(plan, table, options)
    assert found is not None and found.count(0) == 249
    listed = replace(plan, options=options).run(table, threads=1)
    few, many = (
        dict(report.counters)["RunEvaluation"]["most_bytes"]
        for report in (found.report, listed.report)
    )
    assert len(listed) == 249 and 3 * few < many
