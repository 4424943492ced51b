"""Figures 5g, 5i of SASE++ 2014: shares of the time over the window, by runs and postponed."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.core.checks import Check, proportional
from experiments.core.experiment import Experiment, Finding, Plot, Point, Reason, Size, Verdict
from experiments.core.results import Results
from experiments.core.ways import cost_by_operator, listed
from experiments.figures.postponing import CLASSES, FILTERED, RECIPES, SOURCE, Shares, query
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

    required = f"at most {factor:g}"

    def check(results: Results) -> Verdict:
        costs = [cost for _, cost in results.curve(plan, PARTS[0], plan)]
        if len(costs) < 2:
            return Verdict(None, f"too few points of {plan}", required)
        ratio = max(costs) / min(costs)
        return Verdict(
            ratio <= factor,
            f"{plan}: greatest to smallest cost of BlockBuilder {ratio:.2f}",
            required,
        )

    return check


def dominates(plan: str) -> Check:
    """That matching is most of the time at the longest window."""

    required = "more than 50%"

    def check(results: Results) -> Verdict:
        rows = [row for row in results.measured if row["way"] == plan and PARTS[1] in row]
        if not rows:
            return Verdict(None, f"{plan} is not measured", required)
        row = max(rows, key=lambda row: row["x"])
        share = row[PARTS[1]] / sum(row[part] for part in PARTS)
        return Verdict(share > 0.5, f"{plan}: {share:.0%} at W = {row['x']}", required)

    return check


def stays_low(plan: str) -> Check:
    """That matching is not most of the time at the longest window."""

    required = "at most 50%"

    def check(results: Results) -> Verdict:
        holds, evidence, _ = dominates(plan)(results)
        return Verdict(None if holds is None else not holds, evidence, required)

    return check


def hardly_adds(plan: str, most: float) -> Check:
    """To the longest window admission grows by at most a share of the growth of matching."""
    required = f"at most {most:g}"

    def check(results: Results) -> Verdict:
        front, matching = (results.curve(plan, part, plan) for part in PARTS[:2])
        if len(front) < 2:
            return Verdict(None, f"too few points of {plan}", required)
        admitted, matched = (part[-1][1] - part[0][1] for part in (front, matching))
        told = f"{plan}: BlockBuilder {admitted:.3g} s more, RunEvaluation {matched:.3g} s more"
        return Verdict(0 < admitted <= most * matched, told, required)

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
            "NFAb: what is before matching costs the same (within 1.5)",
            constant_front("nfab", 1.5),
            (
                Reason(
                    "It grows, but by at most a hundredth of what matching grows by.",
                    hardly_adds("nfab", 0.01),
                ),
            ),
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
                    " that of construction, too: an event more in matches takes as long up to"
                    " W = 75,000 as from there to 100,000 (within 2.5).",
                    proportional(
                        FILTERED[CLASS], 2.5, of=PARTS[1], by="held", panel=FILTERED[CLASS]
                    ),
                ),
            ),
        ),
    ),
    (*PARTS, "held", "runs", "instances", "visited"),
)
