"""The class of a query, the bound on its matches, and the lines that EXPLAIN has of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import settings

import sase
from sase import Schema
from sase.binding import bind_text
from sase.binding.bound import BoundComponent
from sase.lang.ast import StrategyName
from sase.lang.parser import parse_query
from sase.planning.engine_plan import Options
from sase.planning.reasoning.complexity import Complexity, Count, complexity_of
from tests import naive
from tests.drawing.examples import Example, example
from tests.drawing.hunt import FORMS
from tests.naive.expressions import Event
from tests.seeds import draw_numbers

# A script has no single query; counted groups are drawn without a setting.
DRAWN = sorted(set(FORMS) - {"scripts", "counted groups"})
# A class, the feature that the reason names, and queries.
CLASSES = [
    ("AC0", "there is no series", "A a"),
    ("AC0", "there is no series", "SEQ(A a, B b) WHERE [id] WITHIN 5"),
    ("AC0", "there is no series", "SEQ(A a, !(B b), C c) WHERE a.v < c.v WITHIN 5"),
    ("AC0", "there is no series", "SEQ(A a, !(SEQ(B b, C d)), C c) WITHIN 5"),
    ("AC0", "there is no series", "SEQ(A a, B? b, C c) WITHIN 5"),
    ("AC0", "there is no series", "SEQ(SET(A a, B b, C c), D d) WITHIN 5"),
    ("AC0", "there is no series", "(SEQ(A a, B b) OR SEQ(C c, D d)) WITHIN 5"),
    ("AC0", "there is no series", "SEQ(A a, B b) WHERE skip_till_next_match { [id] }"),
    ("AC0", "there is no series", "SEQ(A a, B b) WHERE strict_contiguity { a.v = b.v }"),
    ("AC0", "there is no series", "SEQ(A a, ANY(B, C) b) WHERE a.v + b.v > 3 WITHIN 5"),
    ("regular", "b is a series", "SEQ(A a, B+ b[], C c) WITHIN 5"),
    ("regular", "b is a series", "SEQ(A a, B* b[], C c) WITHIN 5"),
    ("regular", "b is a series", "SEQ(A a, B{2,3} b[], C c) WITHIN 5"),
    ("regular", "b is a series", "SEQ(A a, B+ b[], C c) WHERE b[i].v > 3 WITHIN 5"),
    ("regular", "b is a series", "SEQ(A a, B+ b[], C c) WHERE b[i].v > a.v WITHIN 5"),
    ("regular", "b is a series", "SEQ(A a, B+ b[], C c) WHERE b[b.len].v > b[1].v WITHIN 5"),
    ("regular", "b is a series", "SEQ(A a, B+ b[], C c) WHERE b.len > 3 WITHIN 5"),
    ("regular", "b is a series", "SEQ(A a, B+ b[]) WHERE strict_contiguity { [id] }"),
    ("regular", "b is a series", "SEQ(A a, B+ b[]) WHERE skip_till_next_match { [id] }"),
    ("regular", "g is a series", "SEQ(A a, (SEQ(B b, C c))+ g[]) WITHIN 5"),
    ("regular", "g is a series", "(SEQ(A a, B b))+ g[] WHERE strict_contiguity { [id] }"),
    ("regular", "c is a series", "(SEQ(A a, B b) OR SEQ(A a, C+ c[])) WITHIN 5"),
    ("regular", "b is a series", "SEQ(SET(A a, B+ b[]), C c) WITHIN 5"),
    ("NC1", "sum(b[].v) > 0", "B+ b[] WHERE strict_contiguity { sum(b[].v) > 0 }"),
    ("NC1", "b[i-1].v", "B+ b[] WHERE partition_contiguity { [id] AND b[i].v > b[i-1].v }"),
    ("NC1", "avg(b[..i-1].v)", "B+ b[] WHERE strict_contiguity { b[i].v > avg(b[..i-1].v) }"),
    ("NC1", "g[i-1]", "(SEQ(A a, B b))+ g[] WHERE strict_contiguity { g[i].a.v > g[i-1].b.v }"),
    ("NC1", "max(b[].v)", "SEQ(B+ b[], C c) WHERE strict_contiguity { c.v > max(b[].v) }"),
    ("DSPACE[log n]", "b[i-1].v", "B+ b[] WHERE skip_till_next_match { b[i].v > b[i-1].v }"),
    ("DSPACE[log n]", "b[i-1].head", "B+ b[] WHERE skip_till_next_match { b[1].tail = 1 AND"
     " b[i].tail = b[i-1].head AND b[b.len].head = 5 }"),
    ("DSPACE[log n]", "sum(b[].v)", "SEQ(A a, B+ b[]) WHERE skip_till_next_match { [id] }"
     " HAVING sum(b[].v) > 3"),
    ("DSPACE[log n]", "max(b[..i-1].v)", "SEQ(A a, B+ b[]) WHERE"
     " skip_till_next_match { b[i].v > max(b[..i-1].v) }"),
    ("NSPACE[log n]", "b[i-1].head", "B+ b[] WHERE skip_till_any_match { b[1].tail = 1 AND"
     " b[i].tail = b[i-1].head AND b[b.len].head = 5 }"),
    ("NSPACE[log n]", "b[i-1].v", "SEQ(A a, B+ b[], C c) WHERE b[i].v > b[i-1].v WITHIN 5"),
    ("NSPACE[log n]", "avg(b[].v)", "SEQ(A a, B+ b[], C c) WHERE c.v > avg(b[].v) WITHIN 5"),
    ("NSPACE[log n]", "max(b[].v)", "SEQ(A a, B+ b[], C c) WITHIN 5 HAVING max(b[].v) > 3"),
    ("NSPACE[log n]", "g[i-1]", "(SEQ(A a, B b))+ g[] WHERE g[i].a.v > g[i-1].b.v WITHIN 5"),
    ("NSPACE[log n]", "c[i-1].v", "(SEQ(A a, B+ b[]) OR SEQ(A a, C+ c[])) WHERE"
     " c[i].v > c[i-1].v WITHIN 5"),
    ("NSPACE[log n]", "b[i-1].v", "SEQ(A a, SET(B+ b[], C c)) WHERE b[i].v > b[i-1].v WITHIN 5"),
    ("NSPACE[log n]", "b[i-1].v", "SEQ(A a, B+ b[]) WHERE"
     " earliest_maximal { b[i].v > b[i-1].v } WITHIN 5"),
]  # fmt: skip


def complexity(query: str) -> Complexity:
    return complexity_of(bind_text(f"EVENT {query}", Schema()))


@pytest.mark.parametrize(("name", "reason", "query"), CLASSES)
def test_the_class_of_a_query(name: str, reason: str, query: str) -> None:
    worst = complexity(query).worst
    assert worst.kind.value == name
    assert reason in worst.reason


@pytest.mark.parametrize(
    ("query", "formula"),
    [
        ("A a", "1"),
        ("SEQ(A a, B b, C c)", "|b| · |c|"),
        ("SEQ(A a, B+ b[], C c)", "2^|b| · |c|"),
        ("SEQ(A a, B{2,3} b[], C? c)", "(1 + |b|)^3 · (1 + |c|)"),
        ("SEQ(A a, B b, C c) WHERE skip_till_next_match { [id] }", "1"),
        ("SEQ(A+ a[], B b, C c) WHERE skip_till_next_match { [id] }", "(1 + |a|) · |b|"),
        ("SEQ(A+ a[], B b) WHERE partition_contiguity { [id] }", "(1 + |a|)"),
        ("SEQ(A a, B? b, C c) WHERE skip_till_next_match { [id] }", "2 · |c|"),
        ("SEQ(A a, B+ b[], C+ c[]) WHERE skip_till_next_match { [id] }", "(1 + |b|) · (1 + |c|)^2"),
        ("SEQ(A a, SET(B b, C c)) WHERE skip_till_next_match { [id] }", "2"),
        ("SEQ(A a, (SEQ(B b, C c))+ g[])", "5^|b ∪ c|"),
        ("SEQ(A a, (SEQ(B b, C c))+ g[]) WHERE strict_contiguity { [id] }", "(1 + |b ∪ c|)"),
    ],
)
def test_the_formula_of_a_bound(query: str, formula: str) -> None:
    assert complexity(query).worst.formula == formula


@pytest.mark.parametrize(
    ("query", "growth"),
    [
        ("A a", "constant"),
        ("SEQ(A a, B b) WHERE skip_till_next_match { a.v = b.v }", "constant"),
        ("SEQ(A a, B b)", "polynomial"),
        ("SEQ(A a, B b, C c)", "polynomial"),
        ("SEQ(A a, B+ b[]) WHERE skip_till_next_match { a.v = b[i].v }", "polynomial"),
        ("SEQ(A a, B+ b[])", "exponential"),
        ("SEQ(A a, B+ b[], C c)", "exponential"),
    ],
)
def test_matches_are_as_many_as_the_bound(query: str, growth: str) -> None:
    found = complexity(query)
    assert found.worst.growth.value == growth
    for each in (2, 4, 8):
        kinds = sorted("ABC" * each)
        rows = [{"ts": n, "type": kind, "v": 1, "id": 1} for n, kind in enumerate(kinds)]
        count = len(sase.match(f"EVENT {query}", rows))
        bound = 10 ** found.matches(lambda _, n=each: n, lambda _, n=each: n)
        # The bound counts that a series has no event, too.
        assert count <= bound + 1e-6
        assert bound <= count * (4 / 3 if growth == "exponential" else 1.5) + 1e-6


@pytest.mark.parametrize(
    ("rows", "runs"),
    # Figures 3 and 4 of SASE++.
    [("A1 A2 B5 B6 C7", 14), ("A1 B4 B5 B6 C7", 15)],
)
def test_runs_of_the_figures(rows: str, runs: int) -> None:
    events = [{"ts": int(each[1:]), "type": each[0]} for each in rows.split()]
    query = "EVENT SEQ(A a, B+ b[], C c) WITHIN 10"
    explained = sase.explain(query, events, plan="nfab", analyze=True)
    measured, complexity = explained.operators[0].measured, explained.complexity
    assert measured is not None
    assert dict(measured.counters)["runs"] == runs
    assert complexity is not None
    assert (complexity.runs or 0) >= math.log10(runs)


@pytest.mark.parametrize(
    ("query", "kinds", "runs"),
    [
        # A run for each event that is bound.
        ("SEQ(A a, B b, C c) WHERE skip_till_next_match { [id] }", "AABBCC", 6),
        ("SEQ(A a, B b, C c) WHERE strict_contiguity { [id] }", "ABC", 3),
        # Runs in which a member is not bound yet.
        ("SEQ(D d, SET(A a, B b))", "DABBBBBBBB", 18),
        ("SEQ(D d, SET(A a, B b), C c) WHERE skip_till_next_match { [id] }", "DABC", 4),
    ],
)
def test_runs_are_no_more_than_their_bound(query: str, kinds: str, runs: int) -> None:
    rows = [{"ts": n, "type": kind, "id": 1} for n, kind in enumerate(kinds)]
    matches = run_by_run(f"EVENT {query}", rows)
    assert sum(each.get("runs", 0) for _, each in matches.report.counters) == runs

    def count(component: BoundComponent) -> int:
        return sum(kind in (component.types or ()) for kind in kinds)

    assert not excess(complexity(query), count, count, matches)


def test_events_of_no_partition_may_be_skipped() -> None:
    tables: dict[str, list[dict[str, int]]] = {
        "A": [{"ts": 1}],
        "B": [{"ts": each, "v": each} for each in range(2, 6)],
    }
    tables["A"][0]["id"] = 1
    for key, formula, matches in [("id", "|b|", 4), ("ts", "1", 0)]:
        query = f"EVENT SEQ(A a, B b) WHERE partition_contiguity {{ [{key}] }}"
        found = sase.explain(query, tables).complexity
        assert found is not None
        assert (found.formula, len(sase.match(query, tables))) == (formula, matches)
    query = "EVENT SEQ(A a, B+ b[]) WHERE partition_contiguity { [id] AND b[i].v > b[i-1].v }"
    assert sase.explain(query, tables).to_dict()["complexity"]["class"] == "NSPACE[log n]"


def run_by_run(query: str, events: Any, **keywords: Any) -> Any:
    """The matches by a plan that counts each run."""
    plan = sase.compile(query, events, **keywords, plan="nfab")
    return replace(plan, options=Options(fused=False, lines=False)).run(events)


def excess(found: Complexity, total: Count, near: Count, matches: Any) -> str:
    """The counts of a run that are above their bounds."""
    runs = sum(each.get("runs", 0) for _, each in matches.report.counters)
    bounds = {"runs": (runs, found.runs(total, near))}
    bounds["matches"] = (len(matches), found.matches(total, near))
    return ", ".join(
        f"{count} {name} and a bound of {10**bound}"
        for name, (count, bound) in bounds.items()
        if count and math.log10(count) > bound + 1e-9
    )


def fault(drawn: Example) -> str:
    """The counts above the bounds for the fullest window of each component."""
    text, keywords = drawn.query.text, drawn.given_keywords
    problems = naive.problems(parse_query(text), drawn.rows, **drawn.naive_keywords)
    if not problems:
        return ""
    events = problems[0].stream.events
    window = None if drawn.setting.is_imprecise else problems[0].window
    windows = [
        [each for each in events if not each < first and window.holds((first, each))]
        for first in events
        if window is not None
    ]

    def total(component: BoundComponent) -> int:
        return fitting(component, events)

    def near(component: BoundComponent) -> int:
        return max(fitting(component, each) for each in windows or [events])

    table = drawn.table
    matches = run_by_run(text, table, **keywords)
    return excess(complexity_of(drawn.bound), total, near, matches)


def fitting(component: BoundComponent, events: Iterable[Event]) -> int:
    return sum(component.types is None or each.type in component.types for each in events)


@pytest.mark.random
@pytest.mark.parametrize("form", DRAWN)
def test_no_count_is_above_its_bound(form: str) -> None:
    for number in draw_numbers(2 * settings().max_examples):
        drawn = example(number, form)
        assert drawn.is_refused or not fault(drawn), (number, fault(drawn), drawn)


PARTS = [
    "{0} {1}", "{0} {1}", "{0}? {1}", "{0}+ {1}[]", "{0}* {1}[]", "{0}{{1,2}} {1}[]",
    "({0} {1})+ g{1}[]", "({0} {1})* g{1}[]", "(SEQ({0} {1}, A x{1}))+ g{1}[]",
    "SET({0} {1}, A x{1})", "SET({0}? {1}, A x{1})", "SET({0}+ {1}[], A x{1})",
]  # fmt: skip
STRATEGIES = [each.value for each in StrategyName]


@pytest.mark.random
@pytest.mark.parametrize("number", draw_numbers(4 * settings().max_examples))
def test_no_count_of_a_strategy_is_above_its_bound(number: int) -> None:
    """Of each form and strategy, with some types more often than others."""
    random = Random(number)
    count = random.choice([1, 2, 2, 3, 3])
    parts = [random.choice(PARTS).format(random.choice("ABC"), name) for name in "pqr"[:count]]
    keys = "TRUE" if random.random() < 0.5 else "[id]"
    query = (
        f"EVENT SEQ({', '.join(parts)}) WHERE {random.choice(STRATEGIES)} {{ {keys} }} WITHIN 99"
    )
    weights = [random.choice([1, 5]) for _ in "ABC"]
    rows = [
        {"ts": n, "type": kind, "id": 1}
        for n, kind in enumerate(random.choices("ABC", weights, k=random.choice([4, 7, 9])))
    ]
    try:
        found = complexity_of(bind_text(query, Schema()))
    except sase.QueryError:
        return  # with a strategy that the pattern does not take

    def events(component: BoundComponent) -> float:
        return sum(row["type"] in (component.types or "ABC") for row in rows)

    matches = run_by_run(query, rows)
    above = excess(found, events, events, matches)
    assert not above, (query, rows, above)


def test_it_is_in_the_explanation() -> None:
    query = "EVENT SEQ(A a, B+ b[], C c) WHERE b[i].v > b[i-1].v WITHIN 5"
    rows = [{"ts": n, "type": "ABC"[n % 3], "v": n} for n in range(300)]
    text = str(sase.explain(query, rows))
    assert "complexity: NSPACE[log n]: b[i].v > b[i-1].v reads other events of a series" in text
    assert "matches that begin with each a: at most 2^|b| · |c|, exponential in the window" in text
    assert "skip_till_next_match takes every event" in text
    member = sase.explain(query, rows).to_dict()["complexity"]
    assert (member["class"], member["growth"], member["begin"]) == (
        "NSPACE[log n]", "exponential", ["a"],
    )  # fmt: skip
    # A third of 300 events in a window of 5 of 300: 100 · 2^(5/3) · 5/3.
    assert 10 ** member["matches_log10"] == pytest.approx(100 * 2 ** (5 / 3) * 5 / 3)
    assert sase.explain(query).to_dict()["complexity"]["matches_log10"] is None
    assert "Complexity" in sase.explain(query, rows).to_html()
    for condition in ("[v]", "a.v = b.v", "strict_contiguity { a.v < b.v }"):
        query = f"EVENT SEQ(A a, B b) WHERE {condition} WITHIN 5"
        assert "cheaper:" not in str(sase.explain(query, rows))
