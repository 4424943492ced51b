"""Figures 5g, 5h, 5i of SASE++ 2014: shares of the time over the window, by runs and postponed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from statistics import median

import pyarrow as pa

import sase
from experiments.core.checks import CPU_RATE, Check, ahead, at_least, every, slope, span
from experiments.core.experiment import Experiment, Finding, Plot, Point, Reason, Size, Verdict
from experiments.core.results import Results
from experiments.core.ways import cost_by_operator, listed, recipe
from experiments.figures.postponing import (
    CLASSES,
    RECIPES,
    SOURCE,
    STAYING,
    TRUE_WITH_C,
    Shares,
    query,
)
from experiments.figures.pp_window import SMALL, STREAM, VALUES

TRUE = "true-value consistent"
# The recipes of Figures 5g, 5h and 5i.
RUNS, BUFFERS, FILTERS = "nfab", "nfab_buffered", "postponed_filters"
ADMISSION, BUFFERING = "BlockBuilder_s", "MatchWindow_s"
INITIATION, MATCHING, CONSTRUCTION = "Initiation_s", "Matching_s", "Construction_s"
PARTS = (ADMISSION, BUFFERING, INITIATION, MATCHING, CONSTRUCTION)
EVALUATION, RESULTS = "RunEvaluation_s", "Transformation_s"
# Conditions that no event meets: with them runs only begin, or do all but end. Buffers would not
# let events pass without the events of a component, so theirs is one on two events.
BEGUN, MATCHED = "begun", "matched"
UNMET = {BEGUN: "b[i].v < 0", MATCHED: "c.v < 0"}
UNMET_TOGETHER = {BEGUN: "b[i].v > a.v + 1000", MATCHED: "c.v > a.v + 1000"}
# The number of runs, fewer if they take more seconds than is enough.
REPEATS, ENOUGH = 5, 1.0


def points(size: Size) -> Iterator[Point]:
    """Each recipe and predicate in a panel of its own."""
    events = size.of(3_000_000, 200_000, 2_000)
    more = SMALL[size.name]
    stream = Shares(STREAM.a * more, STREAM.b * more, STREAM.c * more).stream(events, 20140601)
    for named in (TRUE, TRUE_WITH_C):
        predicate = (CLASSES | STAYING)[named]
        for plan in (RUNS, BUFFERS, "postponed", FILTERS):
            windows = size.of((10_000, 25_000, 50_000, 75_000, 100_000), (5_000, 10_000), (100,))
            for window in windows:
                asked = predicate.format(value=VALUES[named])
                probes = (stages(plan, asked, window),)
                ways = {
                    plan: listed(query(asked, 0, window), plan, needs=RECIPES[plan], probes=probes)
                }
                yield Point(window, ways, stream, events, panel(plan, named))


def by_first(size: Size) -> Iterator[Point]:
    """By the share of events that may begin a run, few first."""
    events = size.of(3_000_000, 200_000, 2_000)
    more, window = SMALL[size.name], size.of(50_000, 5_000, 100)
    asked = CLASSES[TRUE].format(value=VALUES[TRUE])
    ways = {
        plan: listed(query(asked, 0, window), plan, probes=(stages(plan, asked, window),))
        for plan in (RUNS, BUFFERS, FILTERS)
    }
    for rate in size.of((1e-6, 1e-5, 1e-4, 1e-3), (1e-6, 1e-4), (1e-4,)):
        stream = Shares(rate * more, STREAM.b * more, STREAM.c * more).stream(events, 20140601)
        yield Point(rate, ways, stream, events)


def panel(plan: str, named: str = TRUE) -> str:
    """The name of the panel of a recipe and a predicate."""
    return plan if named == TRUE else f"{plan}, with c"


def stages(
    plan: str, predicate: str, window: int
) -> Callable[[sase.Plan, pa.Table], Mapping[str, float]]:
    """The seconds of each stage: medians of runs that only begin, do all but end, and are whole."""
    unmet = UNMET_TOGETHER if plan == BUFFERS else UNMET

    def costs(compiled: sase.Plan, table: pa.Table) -> dict[str, float]:
        runs, start = list[dict[str, float]](), time.process_time()
        while not runs or len(runs) < REPEATS and time.process_time() - start < ENOUGH:
            runs.append(cost_by_operator(compiled, table))
        return {name: median(run[name] for run in runs) for name in runs[0]}

    def costs_with(condition: str, table: pa.Table) -> dict[str, float]:
        text = query(f"{condition} AND {predicate}", 0, window)
        return costs(sase.compile(text, table, plan=recipe(plan)), table)

    def probe(compiled: sase.Plan, table: pa.Table) -> dict[str, float]:
        begun, matched, whole = (
            costs_with(unmet[BEGUN], table), costs_with(unmet[MATCHED], table),
            costs(compiled, table),
        )  # fmt: skip
        return {
            ADMISSION: whole[ADMISSION],
            BUFFERING: whole.get(BUFFERING, 0.0),
            INITIATION: begun[EVALUATION],
            MATCHING: matched[EVALUATION] - begun[EVALUATION],
            CONSTRUCTION: whole[EVALUATION] + whole[RESULTS] - matched[EVALUATION],
        }

    return probe


def steady(plan: str, part: str, factor: float) -> Check:
    """That a stage costs the same at every window, within a factor."""

    required = f"at most {factor:g}"

    def check(results: Results) -> Verdict:
        costs = [cost for _, cost in results.curve(plan, part, panel(plan))]
        if len(costs) < 2:
            return Verdict(None, f"too few points of {plan}", required)
        ratio = max(costs) / max(min(costs), 1e-9)
        told = f"{plan}: greatest to smallest {part} {ratio:.3g}"
        return Verdict(ratio <= factor, told, required)

    return check


def share(plan: str, part: str, low: float, high: float, named: str = TRUE) -> Check:
    """That the share of a stage in the time is between bounds at the longest window."""

    required = span(low, high)

    def check(results: Results) -> Verdict:
        of_it = panel(plan, named)
        rows = [row for row in results.measured if row["panel"] == of_it and part in row]
        if not rows:
            return Verdict(None, f"{of_it} is not measured", required)
        row = max(rows, key=lambda row: row["x"])
        found = row[part] / sum(row[each] for each in PARTS)
        told = f"{of_it}: {part} is {found:.3g} of the time at W = {row['x']}"
        return Verdict(low <= found <= high, told, required)

    return check


def below(
    plan: str,
    other: str,
    factor: float,
    *parts: str,
    when: Callable[[float], bool] = lambda x: True,
) -> Check:
    """That some columns of a recipe together are at most `factor` times those of another one."""

    required = f"at most {factor:g}"

    def check(results: Results) -> Verdict:
        costs = [
            {
                row["x"]: sum(row[part] for part in parts)
                for row in results.measured
                if row["panel"] == panel(each) and parts[0] in row and when(row["x"])
            }
            for each in (plan, other)
        ]
        ratios = {x: cost / costs[1][x] for x, cost in costs[0].items() if costs[1].get(x, 0) > 0}
        if not ratios:
            return Verdict(None, f"{plan} or {other} is not measured", required)
        listed = ", ".join(f"{ratio:.3g} at {x}" for x, ratio in ratios.items())
        told = f"{' and '.join(parts)} of {plan} : {other} = {listed}"
        return Verdict(max(ratios.values()) <= factor, told, required)

    return check


def hardly_grows(plan: str, part: str, other: str, most: float) -> Check:
    """To the longest window a stage grows by at most a share of the growth of another one."""
    required = f"at most {most:g}"

    def check(results: Results) -> Verdict:
        curves = [results.curve(plan, each, panel(plan)) for each in (part, other)]
        if min(map(len, curves)) < 2:
            return Verdict(None, f"too few points of {plan}", required)
        one, two = (curve[-1][1] - curve[0][1] for curve in curves)
        told = f"{plan}: {part} {one:.3g} s more, {other} {two:.3g} s more"
        return Verdict(0 < one <= most * two, told, required)

    return check


def is_short(x: float) -> bool:
    """Whether few windows have events of all components."""
    return x <= 25_000


def is_long(x: float) -> bool:
    """Whether nearly all have them."""
    return x >= 75_000


def grows(plan: str, part: str, factor: float) -> Check:
    """That a stage costs at least `factor` times as much at the longest window as at the first."""

    required = at_least(factor)

    def check(results: Results) -> Verdict:
        costs = [cost for _, cost in results.curve(plan, part, panel(plan))]
        if len(costs) < 2:
            return Verdict(None, f"too few points of {plan}", required)
        told = f"{plan}: {part} {costs[0]:.3g} s at first, {costs[-1]:.3g} s at last"
        return Verdict(costs[-1] >= factor * max(costs[0], 1e-9), told, required)

    return check


EXPERIMENT = Experiment(
    "pp_costs",
    "Figures 5g, 5h, 5i: where the time goes",
    f"{SOURCE}, 6.2",
    "With SASE+ run initialization stays the same and matching, exponential in W, becomes dominant."
    " ZStream's buffers cost the same for every W, and make the rest cheaper. Postponed, matching"
    " stays low and construction of results grows with W. (Matching is measured of a query that no"
    " event ends, less the time of runs that only begin; construction is the rest.)",
    points,
    (Plot(ADMISSION, "s", "W", "x", log_y=True, parts=PARTS),),
    (
        Finding(
            "SASE+ (NFAb): run initialization costs the same (within 2)",
            steady(RUNS, INITIATION, 2),
        ),
        Finding(
            "SASE+: matching is most of the time at the longest window",
            every(*(share(RUNS, MATCHING, 0.5, 1, named) for named in (TRUE, TRUE_WITH_C))),
        ),
        Finding(
            "ZStream: buffering costs the same (within 2)",
            steady(BUFFERS, BUFFERING, 2),
            (
                Reason(
                    "It grows, but by at most a hundredth of the growth of matching.",
                    hardly_grows(BUFFERS, BUFFERING, MATCHING, 0.01),
                ),
            ),
        ),
        Finding(
            "ZStream: to begin and to match costs no more than with SASE+, at every W (within 1.1)",
            below(BUFFERS, RUNS, 1.1, INITIATION, MATCHING),
            (
                Reason(
                    "It does up to W = 25,000. From 75,000 on the buffers hold little back: there"
                    " are nearly as many runs (within 1.2), and both cost as much (within 1.3).",
                    every(
                        below(BUFFERS, RUNS, 1.1, INITIATION, MATCHING, when=is_short),
                        below(RUNS, BUFFERS, 1.2, "runs", when=is_long),
                        below(BUFFERS, RUNS, 1.3, INITIATION, MATCHING, when=is_long),
                    ),
                ),
            ),
        ),
        Finding(
            "postponed with filters: matching is at most a tenth of the time at the longest window",
            every(*(share(FILTERS, MATCHING, -0.01, 0.1, named) for named in (TRUE, TRUE_WITH_C))),
        ),
        Finding(
            "postponed with filters: construction grows with W, at least 10 times",
            grows(FILTERS, CONSTRUCTION, 10),
        ),
    ),
    (*PARTS, "held", "runs", "instances", "visited"),
)
BY_FIRST = Experiment(
    "pp_first",
    "Figure 5h by the first component: buffers, and how many events may begin a run",
    f"{SOURCE}, 6.2 (W = 50,000)",
    "Only an event that qualifies for the first component begins a run, and ZStream's buffers let"
    " it begin none where another component has no event.",
    by_first,
    (
        Plot(CPU_RATE, "events/s of the processor", "share of events of the first component",
             log_x=True, log_y=True),
        Plot(INITIATION, "s", "share of events of the first component", log_x=True,
             parts=(BUFFERING, INITIATION, MATCHING)),
    ),
    (
        Finding(
            "SASE+ begins more runs the more events qualify, by a power of about 1",
            slope(RUNS, 0.8, 1.2, y="initiated"),
        ),
        Finding("ZStream's buffers begin fewer of them", ahead(RUNS, BUFFERS, y="initiated")),
        Finding(
            "postponing with filters is ahead of both where most events qualify",
            every(
                *(
                    ahead(FILTERS, each, y=CPU_RATE, when=lambda x: x >= 1e-3)
                    for each in (RUNS, BUFFERS)
                )
            ),
        ),
    ),
    (*PARTS, "initiated", "runs", "visited"),
)  # fmt: skip
