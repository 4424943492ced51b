"""Figures 5g, 5i of SASE++ 2014: shares of the time over the window, by runs and postponed."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.core.checks import Check
from experiments.core.experiment import Experiment, Finding, Plot, Point, Reason, Size, Verdict
from experiments.core.results import Results
from experiments.core.ways import cost_by_operator, listed
from experiments.figures.postponing import CLASSES, RECIPES, SOURCE, Shares, query
from experiments.figures.pp_window import SMALL, STREAM, VALUES

CLASS = "true-value consistent"
PARTS = ("BlockBuilder_s", "RunEvaluation_s", "Transformation_s")


def points(size: Size) -> Iterator[Point]:
    """Each recipe in a panel of its own."""
    events = size.of(3_000_000, 200_000, 2_000)
    more = SMALL[size.name]
    stream = Shares(STREAM.a * more, STREAM.b * more, STREAM.c * more).stream(events, 20140601)
    for plan, needs in RECIPES.items():
        for window in size.of((10_000, 25_000, 50_000, 75_000, 100_000), (5_000, 10_000), (100,)):
            text = query(CLASSES[CLASS], VALUES[CLASS], window)
            ways = {plan: listed(text, plan, needs=needs, probes=(cost_by_operator,))}
            yield Point(window, ways, stream, events, plan)


def constant_front(plan: str, factor: float) -> Check:
    """That admitting and keeping events costs the same at every window."""

    def check(results: Results) -> Verdict:
        costs = [cost for _, cost in results.curve(plan, PARTS[0], plan)]
        if len(costs) < 2:
            return Verdict(None, f"too few points of {plan}")
        ratio = max(costs) / min(costs)
        return Verdict(
            ratio <= factor, f"{plan}: greatest to smallest cost of BlockBuilder {ratio:.2f}"
        )

    return check


def dominates(plan: str) -> Check:
    """That matching is most of the time at the longest window."""

    def check(results: Results) -> Verdict:
        rows = [row for row in results.measured if row["way"] == plan and PARTS[1] in row]
        if not rows:
            return Verdict(None, f"{plan} is not measured")
        row = max(rows, key=lambda row: row["x"])
        share = row[PARTS[1]] / sum(row[part] for part in PARTS)
        return Verdict(share > 0.5, f"{plan}: {share:.0%} at W = {row['x']}")

    return check


def stays_low(plan: str) -> Check:
    """That matching is not most of the time at the longest window."""

    def check(results: Results) -> Verdict:
        holds, evidence = dominates(plan)(results)
        return Verdict(None if holds is None else not holds, evidence)

    return check


def follows_output(plan: str) -> Check:
    """That matching grows at most by as much as the events that all matches hold."""

    def check(results: Results) -> Verdict:
        costs, held = (results.curve(plan, y, plan) for y in (PARTS[1], "held"))
        if len(costs) < 2:
            return Verdict(None, f"too few points of {plan}")
        cost, output = costs[-1][1] / costs[0][1], held[-1][1] / max(held[0][1], 1)
        told = f"{plan}: {output:.3g} times the events held, {cost:.3g} times the cost"
        return Verdict(cost <= output, told)

    return check


EXPERIMENT = Experiment(
    "pp_costs",
    "Figures 5g, 5i: where the time goes",
    f"{SOURCE}, 6.2",
    "With SASE+ run initialization stays the same and matching, exponential in W, becomes dominant;"
    " postponed, matching stays low and construction of results grows with W. (Our operators have"
    " matching and construction together in RunEvaluation; BlockBuilder admits and keeps events.)",
    points,
    (Plot(PARTS[1], "s", "W", "x", log_y=True, parts=PARTS),),
    (
        Finding(
            "NFAb: what is before matching costs the same (within 2)", constant_front("nfab", 2)
        ),
        Finding(
            "NFAb: matching becomes dominant",
            dominates("nfab"),
        ),
        Finding(
            "postponed with filters: matching does not become dominant",
            stays_low("postponed_filters"),
            (
                Reason(
                    "Matches are written while they are walked, so that this operator's time is"
                    " that of construction, too: it grows no faster than the events in all"
                    " matches.",
                    follows_output("postponed_filters"),
                ),
            ),
        ),
    ),
    (*PARTS, "held", "runs", "instances", "visited"),
)
