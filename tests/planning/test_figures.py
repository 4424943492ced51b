"""The expected figures of a plan, against counting by brute force over random events."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import sase
from experiments.rare_streams import rare_stream
from sase.generate.uniform import uniform_events
from sase.planning.cost.cardinality import Cardinalities
from sase.planning.cost_values import BLOCK
from sase.planning.plan.nodes import SequenceConstruction, require
from sase.planning.split import negations_of
from sase.planning.statistics import UNKNOWN_AGREEMENT, Statistics
from tests.planning.plans import figures, known, written

Times = NDArray[np.float64]
Mask = NDArray[np.bool_]
SPAN = 1_000
VARIABLES = "abcd"


def pattern(levels: int, window: int | None, where: str = "", types: str = "ABCD") -> str:
    components = ", ".join(f"{types[i]} {VARIABLES[i]}" for i in range(levels))
    within = "" if window is None else f" WITHIN {window}"
    return f"EVENT SEQ({components}){where}{within}"


def tuples(times: list[Times], window: float) -> Mask:
    """Which of all combinations follow each other within a window, an axis for each level."""
    grid = np.meshgrid(*times, indexing="ij", sparse=True)
    found = grid[-1] - grid[0] <= window
    for before, after in zip(grid, grid[1:], strict=False):
        found = found & (before < after)
    return np.asarray(found)


# ---------------------------------------------------------------- the volume


@pytest.mark.parametrize("window", [50, 300, 800, 1_000, 5_000])
@pytest.mark.parametrize(("levels", "rows", "repeats"), [(2, 200, 40), (3, 50, 40), (4, 24, 300)])
def test_the_number_of_tuples_is_that_of_events_that_lie_anywhere(
    levels: int, rows: int, repeats: int, window: int
) -> None:
    """By more than the paper's formula: also where the window is as long as the stream."""
    random = np.random.default_rng(levels * 10_000 + window)
    counts = [
        tuples(list(random.uniform(0, SPAN, (levels, rows))), window).sum() for _ in range(repeats)
    ]
    statistics = known(span=SPAN, **dict.fromkeys("ABCD", rows))
    found = figures(pattern(levels, window), statistics)
    tolerance = 4 * np.std(counts) / repeats**0.5
    assert tolerance < 0.35 * np.mean(counts), "the experiment says something"
    assert found.tuples(0, found.reach(found.construction.window)) == pytest.approx(
        np.mean(counts), abs=tolerance
    )


def test_without_a_window_it_is_a_share_of_all_orders() -> None:
    for levels, orders in ((1, 1), (2, 2), (3, 6), (4, 24)):
        found = figures(pattern(levels, None), known(span=SPAN, A=10, B=20, C=30, D=40))
        every = np.prod([10, 20, 30, 40][:levels])
        assert found.tuples(0, found.reach(None)) == pytest.approx(every / orders)


def test_the_formula_of_the_paper_where_the_window_is_short() -> None:
    """SASE 2006, section 5: the rates times T^(m−1) / (m−1)! for each event of the last."""
    found = figures(pattern(3, 10), known(span=1_000_000, A=3_000, B=4_000, C=5_000))
    assert found.tuples(0, 10) == pytest.approx(
        5_000 * (3_000 * 1e-6) * (4_000 * 1e-6) * 10**2 / 2, rel=1e-4
    )


def test_tuples_from_a_level_on_are_those_of_the_shorter_pattern() -> None:
    found = figures(pattern(3, 100), known(span=SPAN, A=7, B=80, C=90))
    shorter = figures(pattern(2, 100, types="BC"), known(span=SPAN, A=7, B=80, C=90))
    assert found.tuples(1, 100) == shorter.tuples(0, 100)
    assert found.tuples(2, 100) == 90


# ---------------------------------------------------------------- built sequences


@pytest.mark.parametrize("levels", [2, 3])
@pytest.mark.parametrize("keys", [2, 10])
def test_sequences_that_agree_and_satisfy_a_condition(levels: int, keys: int) -> None:
    """Statistics say of two events how likely they agree; of more that many times over."""
    random, rows, window, repeats = np.random.default_rng(keys), 60, 300, 60
    counts = []
    for _ in range(repeats):
        found = tuples(list(random.uniform(0, SPAN, (levels, rows))), window)
        key = np.meshgrid(*random.integers(0, keys, (levels, rows)), indexing="ij", sparse=True)
        value = np.meshgrid(*random.random((levels, rows)), indexing="ij", sparse=True)
        for other in key[1:]:
            found &= key[0] == other
        counts.append((found & (value[0] < 0.5) & (value[0] < value[1])).sum())
    statistics = known(
        span=SPAN,
        values={"many": keys},
        admissions={"a": 0.5},
        # Of a value below a half most are less than another.
        selectivities={"a.v < b.v": 0.75},
        **dict.fromkeys("ABC", rows),
    )
    query = pattern(levels, window, " WHERE [many] AND a.v < 50 AND a.v < b.v")
    for recipe in ("optimized", "predicates_in_construction"):
        built = figures(query, statistics, recipe).built
        assert built == pytest.approx(np.mean(counts), abs=4 * np.std(counts) / repeats**0.5)


def test_what_is_pushed_follows_something() -> None:
    random, repeats = np.random.default_rng(5), 100
    counts = []
    for _ in range(repeats):
        first, second = random.uniform(0, 10 * SPAN, (2, 300))
        gaps = second[:, None] - first[None, :]
        counts.append(((gaps > 0) & (gaps <= 30)).any(axis=1).sum())
    found = figures(pattern(2, 30), known(span=10 * SPAN, A=300, B=300))
    assert found.pushed[0] == 300
    assert found.pushed[1] == pytest.approx(np.mean(counts), rel=0.02)


@pytest.mark.parametrize(("skew", "error"), [(0.0, 0.1), (0.5, 0.5), (1.0, 0.5)])
def test_what_is_pushed_follows_a_sequence_also_of_frequent_keys(skew: float, error: float) -> None:
    query = "EVENT SEQ(E1 a, E2 b, E3 c, E4 d) WHERE [attr1] WITHIN 5000"
    events = uniform_events(events=100_000, types=4, domains=(1000,), value_skew=skew, seed=3)
    explanation = sase.explain(query, events, plan="pais")
    assert explanation.statistics is not None
    found = Cardinalities(
        sase.compile(query, events, plan="pais").operators, explanation.statistics
    )
    matches = sase.match(query + " LIMIT 1", events, plan="pais")
    counters = dict(matches.report.counters)
    assert found.pushed == pytest.approx(counters["SequenceScan"]["pushed"], rel=error)


@pytest.mark.parametrize(
    ("place", "where"), [(0, ""), (1, " WHERE [attr1]"), (2, ""), (3, " WHERE [attr1]")]
)
def test_the_walk_visits_what_a_sequence_leads_up_to_also_of_a_rare_component(
    place: int, where: str
) -> None:
    """Without an event of that in the window before it nothing is pushed, and nothing visited."""
    parts = ["E1 a", "E2 b", "E3 c"]
    parts.insert(place, "R r")
    query = f"EVENT SEQ({', '.join(parts)}){where} WITHIN {200 if where else 40}"
    events = rare_stream(200_000, 100, types=8, domains=(5,))()
    plan = sase.compile(query, events, plan="pais")
    explained = sase.explain(query, events, plan="pais")
    assert explained.statistics is not None
    found = Cardinalities(plan.operators, explained.statistics)
    counters = dict(plan.run(events).report.counters)
    seen = counters["SequenceScan"]["pushed"], counters["SequenceConstruction"]["visited"]
    assert found.pushed == pytest.approx(seen[0], rel=0.3, abs=20)
    assert found.visited == pytest.approx(seen[1], rel=0.3, abs=20)


@pytest.mark.parametrize("negation", ["!(E4 n), E1 a, E2 b", "E1 a, !(E4 n), E2 b, E3 c"])
def test_what_forbids_is_of_the_keys_of_sequences(negation: str) -> None:
    """Most sequences are of frequent keys, of which more events forbid."""
    query = f"EVENT SEQ({negation}) WHERE [attr1] WITHIN 2000"
    events = uniform_events(events=100_000, types=4, domains=(1000,), value_skew=0.7, seed=3)
    expected = sase.explain(query, events).expected_results
    assert expected == pytest.approx(len(sase.match(query, events)), rel=0.4)


def test_the_runtime_stack_remembers_and_visits_every_event_of_the_stream() -> None:
    statistics = known(span=SPAN, A=100, B=100, Other=800)
    basic = figures(pattern(2, 50), statistics, "basic")
    stacks = figures(pattern(2, None), statistics, "ais")
    assert basic.pushed == (100, 100)
    assert basic.visited == pytest.approx((10 * stacks.visited[0], 100))


# ---------------------------------------------------------------- absence


def surviving(where: str, window: int, forbidding: int) -> float:
    """The share of pairs within a window that no event between, before or after them forbids."""
    random = np.random.default_rng(forbidding)
    left = every = 0
    for _ in range(12):
        first, second = np.sort(random.uniform(0, 10 * SPAN, (2, 400)))
        pairs = [(a, b) for a in first for b in second[(second > a) & (second <= a + window)]]
        times = np.sort(random.uniform(-window, 10 * SPAN + window, forbidding))
        for a, b in pairs:
            places = {"between": (a, b), "before": (b - window, a), "after": (b, a + window)}
            start, end = np.searchsorted(times, places[where])
            left += start == end
        every += len(pairs)
    return left / every


ABSENT = {
    "between": "EVENT SEQ(A a, !(N n), B b)",
    "before": "EVENT SEQ(!(N n), A a, B b)",
    "after": "EVENT SEQ(A a, B b, !(N n))",
}


@pytest.mark.parametrize("where", ABSENT)
@pytest.mark.parametrize("forbidding", [30, 300, 3_000])
def test_the_share_that_absence_lets_survive(where: str, forbidding: int) -> None:
    window = 100
    share = surviving(where, window, forbidding)
    # So that as many of them fall into the stream as statistics say.
    inside = round(forbidding * 10 * SPAN / (10 * SPAN + 2 * window))
    statistics = known(span=10 * SPAN, A=400, B=400, N=inside, admissions={"n": 1.0})
    for recipe in ("basic", "optimized"):
        found = figures(f"{ABSENT[where]} WITHIN {window}", statistics, recipe)
        (negative,) = negations_of(found.plan)
        assert found.survival(negative) == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize("forbidding", [10, 60, 300])
def test_gaps_are_shorter_between_the_events_of_a_longer_pattern(forbidding: int) -> None:
    """With four events in a window the next one is nearer than with two."""
    random, window, repeats = np.random.default_rng(forbidding), 200, 60
    left = every = 0
    for _ in range(repeats):
        times = list(random.uniform(0, SPAN, (4, 40)))
        absent = random.uniform(0, SPAN, (forbidding, 1, 1))
        first, second = np.meshgrid(*times[:2], indexing="ij")
        is_clear = ~((absent > first) & (absent < second)).any(axis=0)
        found = tuples(times, window)
        every += found.sum()
        left += (found & is_clear[:, :, None, None]).sum()
    query = f"EVENT SEQ(A a, !(N n), B b, C c, D d) WITHIN {window}"
    statistics = known(span=SPAN, A=40, B=40, C=40, D=40, N=forbidding, admissions={"n": 1.0})
    found_of = figures(query, statistics)
    (negative,) = negations_of(found_of.plan)
    assert found_of.survival(negative) == pytest.approx(left / every, abs=0.025)


@pytest.mark.parametrize("levels", [2, 3, 5, 30])
@pytest.mark.parametrize("forbidding", [1, 10, 30, 100, 1_000, 100_000])
def test_also_little_that_survives_is_foreseen(levels: int, forbidding: int) -> None:
    """Beside the integral that it should equal: the expected number in a window."""
    gaps = (np.arange(400_000) + 0.5) / 400_000
    weights = (1 - gaps) ** (levels - 2)
    share = (weights * np.exp(-forbidding * gaps)).sum() / weights.sum()
    pattern = ", ".join(f"A a{level}" for level in range(1, levels))
    statistics = known(span=SPAN, A=100, N=forbidding * 10, admissions={"n": 1.0})
    found = figures(f"EVENT SEQ(A a, !(N n), {pattern}) WITHIN {SPAN // 10}", statistics)
    (negative,) = negations_of(found.plan)
    assert found.survival(negative) == pytest.approx(share, rel=0.02)


@pytest.mark.parametrize("forbidding", [30, 300, 3_000])
def test_absence_that_bounds_the_walk_leaves_less_to_look_at(forbidding: int) -> None:
    """An event is pushed if it follows one that nothing forbids; only that is looked at."""
    random, window = np.random.default_rng(forbidding), 100
    pushed, visited = [], []
    for _ in range(20):
        first, second = random.uniform(0, 10 * SPAN, (2, 300))
        absent = np.sort(random.uniform(0, 10 * SPAN, forbidding))
        last = np.concatenate([[-1], absent])[np.searchsorted(absent, second)]
        least = np.maximum(second - window, last)[:, None]
        left = (first[None, :] < second[:, None]) & (first[None, :] > least)
        pushed.append(left.any(axis=1).sum())
        visited.append(left.sum())
    statistics = known(span=10 * SPAN, A=300, B=300, N=forbidding, admissions={"n": 1.0})
    found = figures(f"{ABSENT['between']} WITHIN {window}", statistics)
    assert found.pushed[1] == pytest.approx(np.mean(pushed), rel=0.1)
    assert found.visited[0] == pytest.approx(np.mean(visited), rel=0.1)
    assert found.visited[0] == pytest.approx(found.built)


@pytest.mark.parametrize("levels", [1, 2, 3, 12, 40])
def test_absence_of_what_never_comes_removes_nothing(levels: int) -> None:
    middle = ", ".join(f"A a{i}" for i in range(levels))
    query = f"EVENT SEQ(!(N n), {middle}) WITHIN 100"
    for rows, least, most in ((0, 1 - 1e-12, 1.0), (10**9, 0.0, 1e-6)):
        found = figures(query, known(span=SPAN, A=100, N=rows))
        (negative,) = negations_of(found.plan)
        assert least <= found.survival(negative) <= most + 1e-12


def test_absence_removes_more_the_more_events_forbid() -> None:
    query = "EVENT SEQ(A a, !(N n), B b) WHERE [many] AND n.v > 3 WITHIN 100"

    def built(**changes: object) -> float:
        given = {"N": 500, "admissions": {"n": 0.5}, "values": {"many": 5}, **changes}
        return figures(query, known(span=SPAN, A=100, B=100, **given)).built  # type: ignore[arg-type]

    usual = built()
    assert built(N=5_000) < usual < built(N=50)
    assert built(admissions={"n": 1.0}) < usual < built(admissions={"n": 0.01})


# ---------------------------------------------------------------- limits and unknown figures


def test_a_limit_bounds_what_is_built() -> None:
    statistics = known(span=SPAN, A=100, B=100)
    unlimited = figures(pattern(2, 500), statistics).built
    assert unlimited > 100
    assert figures(pattern(2, 500) + " LIMIT 7", statistics).built == 7
    assert figures(pattern(2, 500) + " LIMIT 1000000", statistics).built == unlimited


def test_nothing_is_expected_where_nothing_can_hold() -> None:
    where = " WHERE a.v > 5 AND a.v < 3"
    found = figures(pattern(2, 500, where), known(span=SPAN, A=100, B=100))
    assert found.scan.nothing is not None
    assert (found.built, found.pushed, found.visited) == (0, (0, 0), (0, 0))


def test_windows_of_events_are_measured_in_events() -> None:
    statistics = known(span=10**9, A=300, B=700, values={"many": 10})
    for text, reach in (
        ("50 EVENTS", 50),
        ("5000 EVENTS", 1_000),
        ("50 EVENTS PER PARTITION", 500),
    ):
        query = pattern(2, None, " WHERE [many]") + f" WITHIN {text}"
        found = figures(query, statistics)
        assert found.span == 1_000
        assert found.reach(require(found.plan, SequenceConstruction).window) == pytest.approx(reach)


def test_events_of_the_types_of_a_component() -> None:
    statistics = known(span=SPAN, A=100, B=20)
    assert figures("EVENT ANY(A, B) a", statistics).arrivals == (120,)
    assert figures("EVENT SEQ(A a, C c)", statistics).arrivals == (100, 0)
    untyped = Statistics(500, 0, 99)
    assert figures("EVENT SEQ(A a, C c)", untyped).arrivals == (500, 500)


def test_without_a_measured_agreement_that_of_the_attribute_counts() -> None:
    query = pattern(3, 100, " WHERE [many, few]")
    unknown = figures(query, known(span=SPAN, A=9, B=9, C=9))
    components = unknown.scan.components
    many, few = unknown.scan.tests
    assert unknown.agreement([many], components[:2]) == UNKNOWN_AGREEMENT
    by_values = figures(query, known(span=SPAN, A=9, B=9, C=9, values={"many": 50, "few": 2}))
    assert by_values.agreement([many], components) == pytest.approx(1 / 50**2)
    assert by_values.agreement([many, few], components[:2]) == pytest.approx(1 / 100)
    measured = known(
        span=SPAN, A=9, B=9, C=9, values={"many": 50}, agreements={("few many", "b a"): 0.3}
    )
    assert figures(query, measured).agreement([many, few], components[:2]) == 0.3
    assert figures(query, measured).agreement([many], components[:1]) == 1.0


def test_a_walk_without_a_window_goes_back_as_far_as_stacks_hold_events(tmp_path: Path) -> None:
    """They drop instances out of the window once a block: half a block later on average."""
    stacks = '"use_active_instance_stacks", "push_window_into_scan"'
    query, statistics = "EVENT SEQ(A a, B b) WITHIN 100", known(span=10**7, A=10**6, B=10**6)
    without = written(tmp_path, stacks)
    assert figures(query, statistics, without).walked == 100 + 5 * BLOCK / 2
    assert figures(query, known(span=1000, A=500, B=500), without).walked == 1000
    within = written(tmp_path, f'{stacks}, "push_window_into_construction"')
    assert figures(query, statistics, within).walked == 100
