"""Estimates of runs and matches beside the actual ones, and the figures that follow from them."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log
from random import Random
from typing import Any

import pytest

import sase
from sase.binding import bind_text
from sase.binding.schema_file import schema_from
from sase.planning.cost.cost import cost_of
from sase.planning.cost.preflight import foreseen
from sase.planning.cost.run_cardinality import RunCardinalities
from sase.planning.cost_values import MOST_BYTES
from sase.planning.plan.basic import basic_plan
from sase.planning.quantities import counted, duration
from sase.planning.statistics import AttributeStatistics, Statistics, TypeStatistics

ROWS = 1_500
RANDOM = Random(7)
EVENTS: list[dict[str, Any]] = [
    {"ts": n, "type": RANDOM.choice("ABC"), "id": RANDOM.randrange(3), "v": RANDOM.randrange(20)}
    for n in range(ROWS)
]
SCHEMA = schema_from({"columns": dict.fromkeys(["ts", "id", "v"], "integer")})
ONE_TYPE = Statistics(60, 0, 59, (TypeStatistics("A", 60),))


def figures_of(query: str, known: Statistics | None = None) -> RunCardinalities:
    """The figures of a query's basic plan, over the events if nothing else is known."""
    statistics = known or sase.explain(query, EVENTS).statistics
    assert statistics is not None
    return RunCardinalities(basic_plan(bind_text(query, SCHEMA)), statistics)


def runs_counted(query: str) -> tuple[int, int]:
    """The matches and the runs of a query, event by event."""
    plan = sase.compile(query, EVENTS, plan="nfab")
    # Runs that share their events are counted one by one for ANALYZE alone.
    matches = replace(plan, options=replace(plan.options, analyze=True)).run(EVENTS)
    return len(matches), dict(matches.report.counters)["RunEvaluation"]["runs"]


@pytest.mark.parametrize("strategy", ["skip_till_any_match", "skip_till_next_match"])
@pytest.mark.parametrize(
    "pattern",
    [
        "A a, B+ b[], C c",
        "A a, B+ b[]",
        "A a, B* b[], C c",
        "A+ a[], B{2,3} b[], C? c",
    ],
)
def test_estimates_come_near(strategy: str, pattern: str) -> None:
    query = f"EVENT SEQ({pattern}) WHERE {strategy} {{ [id] }} WITHIN 20"
    expected = figures_of(query).expected
    matches, made = runs_counted(query)
    assert exp(expected.matches) == pytest.approx(matches, rel=0.35)
    assert exp(expected.made) == pytest.approx(made, rel=0.35)


@pytest.mark.parametrize(
    ("types", "keys", "condition", "near"),
    [("ABBBCDDDDD", [1], "", 0.35), ("ABC", [1] * 9 + [2, 2, 3], "WHERE [id]", 0.5)],
)
def test_what_a_window_has_varies(types: str, keys: list[int], condition: str, near: float) -> None:
    """More in windows with many events of the query's types, or of a key, than fewer in others."""
    random = Random(3)
    events = [
        {"ts": n, "type": random.choice(types), "id": random.choice(keys)} for n in range(4_000)
    ]
    query = f"EVENT SEQ(A a, B+ b[], C c) {condition} WITHIN 24"
    expected, matches = sase.explain(query, events).expected_results, len(sase.match(query, events))
    assert expected == pytest.approx(matches, rel=near)


@pytest.mark.parametrize("strategy", ["partition_contiguity", "strict_contiguity"])
def test_contiguity_counts_every_event(strategy: str) -> None:
    test = "{ [id] }" if strategy == "partition_contiguity" else ""
    query = f"EVENT SEQ(A a, B+ b[], C c) WHERE {strategy} {test} WITHIN 20"
    expected = figures_of(query).expected
    matches, made = runs_counted(query)
    assert exp(expected.matches) == pytest.approx(matches, rel=0.5)
    assert exp(expected.made) == pytest.approx(made, rel=0.3)


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("A+ a[]", 2**60 - 1),
        ("A{2,} a[]", 2**60 - 1 - 60),
        ("A{1,2} a[]", 60 + 60 * 59 // 2),
        ("A a, A* b[]", 2**60 - 1),
        ("A a, A? b", 60 + 60 * 59 // 2),
    ],
)
def test_without_chance_it_is_exact(pattern: str, matches: int) -> None:
    query = f"EVENT SEQ({pattern}) WHERE skip_till_any_match"
    expected = figures_of(query, ONE_TYPE).expected
    assert expected.matches == pytest.approx(log(matches), abs=1e-9)


@pytest.mark.parametrize(
    ("pattern", "bound"),
    [
        ("A+ a[]", 60 * 2**59),
        ("A{1,2} a[]", 60 + 2 * 60 * 59 // 2),
        ("A a, A? b", 60 + 2 * 60 * 59 // 2),
        ("A a, A* b[]", 60 * 2**59),
    ],
)
def test_the_events_of_matches_are_counted(pattern: str, bound: int) -> None:
    query = f"EVENT SEQ({pattern}) WHERE skip_till_any_match"
    figures = figures_of(query, ONE_TYPE)
    assert figures.length * exp(figures.expected.matches) == pytest.approx(bound, rel=1e-3)


@pytest.mark.parametrize("strategy", ["skip_till_any_match", "skip_till_next_match"])
def test_the_length_of_matches_comes_near(strategy: str) -> None:
    query = f"EVENT SEQ(A a, B+ b[], C c) WHERE {strategy} {{ [id] AND b[i].v > 5 }} WITHIN 30"
    figures = figures_of(query)
    lengths = [2 + len(match["b"]) for match in sase.match(query, EVENTS)]
    assert figures.length == pytest.approx(sum(lengths) / len(lengths), rel=0.1)


def test_a_number_beyond_all_floats_is_a_logarithm() -> None:
    many = Statistics(10**6, 0, 10**6 - 1, (TypeStatistics("A", 10**6),))
    plan = basic_plan(bind_text("EVENT SEQ(A+ a[])", SCHEMA))
    assert RunCardinalities(plan, many).expected.matches == pytest.approx(10**6 * log(2))
    assert cost_of(plan, many).results > 1e200


@pytest.mark.parametrize(
    "strategy", ["skip_till_any_match", "skip_till_next_match", "partition_contiguity"]
)
@pytest.mark.parametrize(
    "conditions",
    [
        "b[1].v % 10 = 0 AND b[i].v > b[i-1].v",
        "b[1].v < 3 AND b[i].v > b[1].v AND c.v > b[b.len].v",
        "a.v > 15 AND b[i].v < a.v AND b[i].v < b[i-1].v",
    ],
)
def test_estimates_follow_conditions_on_series(strategy: str, conditions: str) -> None:
    query = f"EVENT SEQ(A a, B+ b[], C c) WHERE {strategy} {{ [id] AND {conditions} }} WITHIN 60"
    expected, matches = sase.explain(query, EVENTS).expected_results, len(sase.match(query, EVENTS))
    assert expected is not None
    assert max(expected, 10) == pytest.approx(max(matches, 10), rel=0.7)


def test_what_is_finished_is_no_run() -> None:
    query = "EVENT SEQ(A a, A b) WHERE skip_till_next_match"
    expected = figures_of(query, ONE_TYPE).expected
    # Every event ends the run that the one before began: there is one, and one that ends.
    assert exp(expected.alive) == pytest.approx(2)


def test_a_tighter_condition_lets_one_expect_less() -> None:
    found = []
    for condition in ("b[i].v > 0", "b[i].v > 18", "b[i].v > 18 AND c.v > b[i].v"):
        query = f"EVENT SEQ(A a, B+ b[], C c) WHERE [id] AND {condition} WITHIN 30"
        found.append(sase.explain(query, EVENTS).expected_results)
    assert found == sorted(found, key=lambda number: -(number or 0))
    assert len(set(found)) == 3


# ---------------------------------------------------------------- consequences


def test_the_warning_names_the_compressed_form() -> None:
    plan = basic_plan(bind_text("EVENT SEQ(A+ a[])", SCHEMA))
    said = foreseen(plan, ONE_TYPE, None, 1 << 30)
    assert said is not None
    assert said.startswith("about 10^18 matches are expected, more than 1 GiB can hold: of the")
    assert 'output="compressed" holds and counts' in said
    assert "skip_till_next_match" in said
    assert "give it a window" in said
    few = basic_plan(bind_text("EVENT SEQ(A+ a[]) WHERE skip_till_next_match WITHIN 3", SCHEMA))
    assert foreseen(few, ONE_TYPE, None, 1 << 30) is None
    assert "compressed" not in (foreseen(few, ONE_TYPE, 10, 1 << 30) or "compressed")


def test_a_run_warns_before_it_begins() -> None:
    with pytest.warns(sase.BudgetWarning, match=r"about 10\^\d+ matches.*output=\"compressed\""):
        matches = sase.match("EVENT SEQ(A a, B+ b[], C c) WITHIN 300", EVENTS)
    assert matches is not None


MERGED, POSTPONED = (f"use_algorithm(name={name})" for name in ("merged", "postponed"))


@pytest.mark.parametrize(
    ("condition", "taken"),
    [
        # Going back, it is decided at a alone, and going forward at each b.
        ("b[i].v > a.v + 10", "none of them"),
        ("b[i].v > a.v", MERGED),
        ("b[i].v < b[i-1].v", f"{POSTPONED}, filter_early"),
        ("c.v > 18", POSTPONED),
    ],
)
def test_the_optimizer_takes_what_makes_the_fewest_runs(condition: str, taken: str) -> None:
    assert _taken(f"EVENT SEQ(A a, B+ b[], C c) WHERE [id] AND {condition} WITHIN 60") == [taken]


def _taken(query: str) -> list[str]:
    choices = sase.explain(query, EVENTS).choices
    return [each.calls for choice in choices[-1:] for each in choice if each.is_taken]


def test_runs_that_would_not_fit_are_not_kept() -> None:
    statistics = Statistics(
        2_000, 0, 1_999, (*(TypeStatistics(n, 600, (AttributeStatistics("v"),)) for n in "ABC"),)
    )
    query = "EVENT SEQ(A a, B+ b[], C c) WHERE b[i].v > a.v WITHIN 300"
    explanation = sase.explain(query, stats=statistics)
    nfab = sase.explain(query, stats=statistics, plan="nfab")
    assert nfab.operators[0].expected is not None
    assert nfab.operators[0].expected.bytes > MOST_BYTES
    assert "(merged)" in explanation.operators[0].algorithm


def test_astronomical_numbers_are_powers_of_ten() -> None:
    assert counted(1.2e18) == counted(10**18) == "10^18"
    assert counted(9.0e14) == "900,000,000,000,000"
    assert duration(1e30) == "10^21 s"


@pytest.mark.parametrize(
    ("condition", "is_less"),
    [
        ("a[i].v > a[i-1].v", True),
        ("a[i].v > a[1].v", True),
        ("b.v > a[1].v", True),
        ("b.v > min(a[].v)", False),
    ],
)
def test_merged_runs_are_as_many_as_events_and_values_read_later(
    condition: str, is_less: bool
) -> None:
    query = f"EVENT SEQ(A+ a[], B b) WHERE {condition} AND b.v = 3 WITHIN 60"
    merged, apart = (
        sase.explain(query, EVENTS, plan=plan).operators[0].expected
        for plan in ("nfab_merged", "nfab")
    )
    assert merged is not None and apart is not None
    assert (merged.bytes < apart.bytes / 2) is is_less
    assert (merged.nanoseconds < apart.nanoseconds) is is_less


@pytest.mark.parametrize("condition", ["b[i].v > a.v", "a.v > b[i].v", "b[i].v > b[1].v"])
def test_one_event_makes_a_series_likely_or_unlikely(condition: str) -> None:
    """The mean of the chance, to the power of the length, would be a third of the matches."""
    query = f"EVENT SEQ(A a, B+ b[], C c) WHERE [id] AND {condition} WITHIN 60"
    expected, matches = sase.explain(query, EVENTS).expected_results, len(sase.match(query, EVENTS))
    assert expected == pytest.approx(matches, rel=0.35)


def test_a_list_of_a_graph_costs_more_than_a_compiled_walk() -> None:
    query = "EVENT SEQ(A a, B+ b[]) WHERE b[i].v > b[i-1].v WITHIN 30"
    listed, walked, sorted_, apart = (
        sase.explain(query, EVENTS, plan=plan).operators[0].expected
        for plan in ("collapsed", "postponed_filters", "backtrack", "nfab")
    )
    assert listed and walked and sorted_ and apart
    assert listed.nanoseconds > 2 * walked.nanoseconds
    assert sorted_.nanoseconds > apart.nanoseconds


def test_confidences_cost_by_how_long_candidates_are() -> None:
    events = [{"lo": n, "hi": n + 3, "type": "ABCA"[n % 4]} for n in range(400)]
    costs = []
    for pattern in ("SEQ(A a, B b)", "SEQ(A a, B b, C c)", "SEQ(A a, B b, C c, A d)"):
        query = f"EVENT {pattern} WITHIN 9"
        operators = sase.explain(query, events, time=("lo", "hi")).operators
        expected = next(each.expected for each in operators if each.name == "Confidence")
        assert expected and expected.rows_in == expected.rows_out > 0
        costs.append(expected.nanoseconds / expected.rows_in)
    assert costs[0] * 9 / 4 == pytest.approx(costs[1])
    assert costs[0] * 4 == pytest.approx(costs[2])


def test_confidences_of_sets_and_beside_absences_cost_more() -> None:
    events = [{"lo": n, "hi": n + 3, "type": "ABCA"[n % 4], "v": 1} for n in range(400)]

    def pair(query: str) -> float:
        operators = sase.explain(query, events, time=("lo", "hi")).operators
        expected = next(each.expected for each in operators if each.name == "Confidence")
        assert expected
        return expected.nanoseconds / expected.rows_in

    series = "EVENT SEQ(A a, B+ b[], C c)"
    a_set = pair(f"{series} WHERE b[i].v < 2 WITHIN 9")
    assert a_set > 5 * pair(f"{series} WHERE b[i].v <= b[i-1].v WITHIN 9")
    chain = pair("EVENT SEQ(A a, B b) WITHIN 9")
    absence = pair("EVENT SEQ(A a, !(C n), B b) WITHIN 9")
    assert absence - chain > 10_000
