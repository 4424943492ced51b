"""The conditions of the figures of SASE++ are of the class that their panels name."""

import pytest

import sase
from experiments.core.ways import recipe
from experiments.figures.postponing import AVERAGE, CLASSES, FILTERED, STAYING, Shares, query
from experiments.figures.pp_costs import BUFFERS, RUNS, UNMET_TOGETHER
from sase.planning.plan.nodes import RunEvaluation, require
from sase.planning.reasoning.value_ranges import class_of

EVENTS = Shares(0.1, 0.3, 0.05).stream(400, 7)()
WINDOW = 20
NAMES = {
    "true-value consistent": "TRUE",
    "false-value consistent": "FALSE",
    "both": "BOTH",
    "inconsistent": "NEITHER",
}


def runs_of(plan: str, predicate: str) -> RunEvaluation:
    compiled = sase.compile(query(predicate, 500, WINDOW), EVENTS, plan=recipe(plan))
    return require(compiled.operators, RunEvaluation)


@pytest.mark.parametrize("panel", [*CLASSES, *STAYING])
def test_a_panel_names_the_class_of_its_condition(panel: str) -> None:
    predicate = (CLASSES | STAYING)[panel].partition(" AND c.v")[0]
    runs = runs_of("nfab", predicate)
    (conjunct,) = [*runs.simple, *(edge.conjunct for edge in runs.conditions)]
    assert class_of(conjunct, runs.components).consistency.name == NAMES[panel.partition(",")[0]]


@pytest.mark.parametrize("panel", STAYING)
def test_a_condition_that_stays_is_in_the_plan_as_it_is(panel: str) -> None:
    """Without the condition on `c`, no test of single events takes its place."""
    predicate = STAYING[panel].partition(" AND c.v")[0]
    runs = runs_of(FILTERED[panel], predicate)
    assert runs.simple == ()
    (kept,) = (edge.conjunct for edge in runs.conditions)
    assert "b" in str(kept)
    if panel != AVERAGE:
        assert runs.early or runs.dismissing or runs.discarding


def test_buffers_find_the_matches_of_runs_with_fewer_of_them() -> None:
    for predicate in (CLASSES | STAYING).values():
        text = query(predicate, 500, WINDOW)
        runs, buffers = (
            sase.compile(text, EVENTS, plan=recipe(plan)).run(EVENTS) for plan in (RUNS, BUFFERS)
        )
        assert runs.rows == buffers.rows
        made = [dict(each.report.counters)["RunEvaluation"]["runs"] for each in (runs, buffers)]
        assert made[1] < made[0]


def test_conditions_that_no_event_meets_stop_no_run_before_its_time() -> None:
    """The stages of pp_costs: with one on `b` runs only begin, with one on `c` all but end."""
    whole, begun, matched = (
        sase.match(query(f"{more}b[i].v < 500", 0, WINDOW), EVENTS, plan=RUNS)
        for more in ("", *(f"{each} AND " for each in UNMET_TOGETHER.values()))
    )
    assert len(whole) > 0 == len(begun) == len(matched)
    counters = [dict(each.report.counters)["RunEvaluation"] for each in (whole, begun, matched)]
    assert {each["initiated"] for each in counters} == {counters[0]["initiated"]}
    assert counters[1]["split"] == 0
    assert counters[2]["split"] == counters[0]["split"] - len(whole)
