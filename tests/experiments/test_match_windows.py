"""Windows that are searched one by one: the counts of the paper's example, and the same matches."""

from __future__ import annotations

import pyarrow as pa
import pytest

import sase
from experiments.core.results import Results
from experiments.core.ways import recipe
from experiments.figures import mw_chosen, mw_events, mw_length
from experiments.figures.match_windows import BASE, factors, gains_more, pnyse
from experiments.window_search import searched
from experiments.window_streams import DAY, nyse, onco
from tests.engine.windows.test_window_counters import CHEMO, Q1

# By method the searched windows, and the events in all of them: Algorithm 1, by hand.
SEARCHED = {
    "window_runs": (14, 100),
    "window_runs_f": (13, 86),
    "window_keys_fp": (13, 46),
    "window_runs_fc": (4, 38),
    "window_keys_fpc": (3, 16),
}


@pytest.mark.parametrize("plan", SEARCHED)
def test_the_windows_of_the_papers_example(plan: str) -> None:
    columns = map(pa.array, zip(*CHEMO, strict=True))
    table = pa.table([*columns], names=["pid", "type", "v", "ts"])
    found = searched(sase.compile(Q1, table, plan=recipe(plan)), table)
    assert (found.windows, found.events) == SEARCHED[plan]
    assert sorted(map(sorted, lists_of(found.matches))) == [
        [0, 2, 8, 10], [4, 6, 7, 11], [6, 7, 11],
    ]  # fmt: skip


def lists_of(matches: sase.Matches) -> list[list[int]]:
    """The rows of each match."""
    rows = []
    for match in matches.rows.to_pylist():
        parts = [each if isinstance(each, list) else [each] for each in match.values()]
        rows.append([row for part in parts for row in part])
    return rows


CASES = {
    "sets with series, trades": (pnyse(20_000), nyse, "ses", False, ("runs", "runs_f", "runs_fc")),
    "sets with series, treatments": (
        f"EVENT SEQ(SET(C c, P+ p[]), B b) WHERE earliest_maximal {{ [pid] }} WITHIN {9 * DAY}",
        onco, "ses", False, ("runs", "runs_f", "runs_fc", "keys_fp", "keys_fpc"),
    ),
    "a tree of sets": (
        f"EVENT SEQ(SET(C c, D d), SET(B b, H h)) WHERE [pid] WITHIN {9 * DAY} INCLUSIVE",
        onco, "ses_tree", True, ("keys", "keys_f", "keys_fp", "keys_fpc"),
    ),
    "a tree of a sequence": (
        f"EVENT SEQ(C c, P p, R r) WHERE [pid] WITHIN {5 * DAY}",
        onco, "tree_bushy", True, ("keys", "keys_f", "keys_fp", "keys_fpc"),
    ),
    "a tree without a key": (
        "EVENT SEQ(SET(S1 a, S2 g), S3 i) WITHIN 20000 INCLUSIVE",
        nyse, "ses_tree", True, ("runs", "runs_f", "runs_fc"),
    ),
}  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("name", CASES)
def test_every_method_finds_the_matches_of_the_engine(name: str) -> None:
    query, stream, ours, by_tree, plans = CASES[name]
    table = stream(6_000, seed=3)
    expected = sorted(lists_of(sase.match(query, table, plan=ours)))
    assert len(expected) > 30
    for plan in plans:
        compiled = sase.compile(query, table, plan=recipe(f"window_{plan}"))
        found = searched(compiled, table, by_tree=by_tree)
        assert sorted(lists_of(found.matches)) == expected, plan
        assert found.windows <= 6_000 and (found.windows < 6_000) == ("_" in plan)


def of_factors(**by_panel: dict[float, dict[str, float]]) -> Results:
    """Results with a rate for each way of a panel at each x."""
    return Results(
        [
            {"panel": panel, "x": x, "way": way, "status": "measured", "events_per_cpu_s": rate}
            for panel, points in by_panel.items()
            for x, rates in points.items()
            for way, rate in rates.items()
        ]
    )


def test_the_best_method_of_a_panel_counts() -> None:
    gained = {2: {BASE: 2.0, "f": 4.0, "fpc": 3.0}, 10: {BASE: 1.0, "f": 2.0, "fpc": 30.0}}
    less = {2: {BASE: 1.0, "f": 2.0}, 10: {BASE: 1.0, "f": 2.5}}
    results = of_factors(one=gained, other=less)
    assert factors(results, "one") == {2: 2.0, 10: 30.0}
    assert gains_more("one", "other")(results).holds
    assert gains_more("one", "other", 10, when=mw_length.is_longest)(results).holds
    assert not gains_more("one", "other", 10)(results).holds
    assert gains_more("one", "none")(results).holds is None


def test_a_factor_that_depends_on_the_number_of_events_is_not_constant() -> None:
    points = {10_000: {BASE: 1.0, "f": 2.0}, 100_000: {BASE: 1.0, "f": 2.9}}
    assert mw_events.constant("one")(of_factors(one=points)).holds
    points[100_000]["f"] = 3.1
    assert not mw_events.constant("one")(of_factors(one=points)).holds


def of_plans(unpruned: float, factor: float) -> Results:
    """A query with a plan that is a number of times as fast as the one without match windows."""
    row = {"panel": mw_chosen.STACKS, "x": "a query", "status": "measured", "unpruned": unpruned}
    ways = {mw_chosen.CHOSEN: factor, mw_chosen.WITHOUT: 1.0}
    return Results([row | {"way": way, "events_per_cpu_s": rate} for way, rate in ways.items()])


def test_default_plans_are_judged_by_their_match_windows() -> None:
    none, gain, cost = (each.check for each in mw_chosen.EXPERIMENT.findings)
    with_windows, without = of_plans(0.0, 1.3), of_plans(1.0, 1.1)
    assert [check(with_windows).holds for check in (none, gain, cost)] == [False, True, None]
    assert [check(without).holds for check in (none, gain, cost)] == [True, None, True]
    assert gain(of_plans(0.0, 1.2)).holds is False
    assert cost(of_plans(1.0, 0.8)).holds is False
