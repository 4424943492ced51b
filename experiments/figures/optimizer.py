"""Ours: the regret of the plan that the optimizer chooses, and the q-error of its estimates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import quantiles

from experiments.core.checks import Check
from experiments.core.experiment import (
    Experiment,
    Finding,
    Outcome,
    Plot,
    Point,
    Reason,
    Size,
    Verdict,
    Way,
)
from experiments.core.results import Results
from experiments.core.ways import Make
from experiments.regret import CHOSEN, LEAST_SECONDS, Cell, measured_query
from experiments.regret_workload import Drawn, workload

SEED, QUERIES = 1, 32
# A query is left out if no plan ends after this number of seconds.
LONGEST = 2.0


def points(size: Size) -> Iterator[Point]:
    """A point for each random query, in which every recipe and the chosen plan take turns."""
    events = size.of(1_000_000, 50_000, 2_000)
    for drawn in workload(size.of(QUERIES, 4, 1), SEED):
        yield Point(drawn.number, {CHOSEN: _query(drawn, events)}, events=events)


def _query(drawn: Drawn, events: int) -> Make:
    def told(cell: Cell | None) -> Outcome:
        if cell is None:  # too many matches are expected, or no plan is fast enough
            return Outcome(0)
        return Outcome(cell.results, None, _figures(cell))

    return lambda data: Way(lambda: measured_query(drawn, events, LONGEST), told)


def _figures(cell: Cell) -> Mapping[str, float]:
    return {
        "regret": cell.regret,
        "q_error": cell.q_error,
        "chosen_ms": 1e3 * cell.seconds[CHOSEN],
        "best_ms": 1e3 * cell.best,
        "sampling_ms": 1e3 * cell.sampling,
        "planning_ms": 1e3 * cell.planning,
    }


def share(y: str, most: float, wanted: float, least_ms: float = 0.0) -> Check:
    """The figure of the `wanted` share of all queries is at most `most`."""

    required = f"at least {wanted:.0%} within {most:g}"

    def check(results: Results) -> Verdict:
        values = [row[y] for row in results.measured if y in row and row["best_ms"] >= least_ms]
        if len(values) < 2:
            return Verdict(None, f"{len(values)} queries", required)
        within = sum(value <= most for value in values) / len(values)
        tenth = quantiles(values, n=10, method="inclusive")[-1]
        told = f"{within:.1%} of {len(values)}, 90 % below {tenth:.2f}, worst {max(values):.2f}"
        return Verdict(within >= wanted, told, required)

    return check


def is_one(results: Results) -> Verdict:
    """That only one query that takes long is not within 1.3, and that there are few of them."""
    required = "less than 10 queries, one of them above 1.3"
    long = [row for row in results.measured if row.get("best_ms", 0) >= 1e3 * LEAST_SECONDS]
    above = [f"{row['x']}: {row['regret']:.2f}" for row in long if row["regret"] > 1.3]
    told = f"{len(long)} queries, above 1.3: {', '.join(above) or 'none'}"
    return Verdict(len(above) == 1 and len(long) < 10 if long else None, told, required)


OF_ONE = Reason("All but one of the few such queries are within 1.3.", is_one)


EXPERIMENT = Experiment(
    "optimizer",
    "The optimizer: regret of the chosen plan, q-error of its estimates",
    "Ours",
    "the plan chosen by statistics should be near the best recipe, and estimated results near the"
    " actual ones.",
    points,
    (
        Plot("regret", "chosen : best recipe", "query", log_y=True),
        Plot("q_error", "q-error of the number of results", "query", log_y=True),
    ),
    (
        Finding(
            "regret within 1.25 for 90 % of the queries of at least 50 ms",
            share("regret", 1.25, 0.9, 1e3 * LEAST_SECONDS),
            (OF_ONE,),
        ),
        Finding(
            "regret never above 2 for those",
            share("regret", 2.0, 1.0, 1e3 * LEAST_SECONDS),
            (OF_ONE,),
        ),
        Finding("q-error within 2 for half of all", share("q_error", 2.0, 0.5)),
        Finding("q-error within 10 for 90 %", share("q_error", 10.0, 0.9)),
    ),
    ("regret", "q_error", "chosen_ms", "best_ms", "sampling_ms", "planning_ms"),
    once=True,
)
