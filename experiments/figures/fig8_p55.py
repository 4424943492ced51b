"""SASE+ 2008, "other experiments": a price that rises with p = 0.55 instead of 0.7."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from experiments.core.checks import CPU_RATE, Check, every, rates, span
from experiments.core.experiment import Experiment, Finding, Plot, Point, Reason, Size, Verdict
from experiments.core.results import Results
from experiments.core.ways import listed
from experiments.figures.stocks import QUERIES, SOURCE, query, stream

PANELS = {"p = 0.7": 0.70, "p = 0.55": 0.55}
BASIC, BACKTRACKING = "nfab", "backtrack_reread"
RECIPES = (BASIC, "nfab_merged", BACKTRACKING)


def points(size: Size) -> Iterator[Point]:
    """All six queries over both streams."""
    window = size.of(500, 500, 100)
    for panel, p in PANELS.items():
        for name in QUERIES:
            data, events = stream(window, size, p)
            ways = {plan: listed(query(name, window), plan) for plan in RECIPES}
            yield Point(name, ways, data, events, panel)


def change(names: tuple[str, ...], low: float, high: float, y: str = CPU_RATE) -> Check:
    """With p = 0.55 the figure is `low` to `high` times that with p = 0.7."""

    required = span(low, high)

    def check(results: Results) -> Verdict:
        ratios = {}
        for name in names:
            before, after = (results.at(BASIC, name, y, panel) for panel in PANELS)
            if before and after:
                ratios[name] = after / before
        told = ", ".join(f"{ratio:.2f} for {name}" for name, ratio in ratios.items())
        holds = all(low <= ratio <= high for ratio in ratios.values()) if ratios else None
        return Verdict(holds, f"{y} with 0.55 : with 0.7 = {told}", required)

    return check


def lead(one: str, other: str, names: tuple[str, ...], low: float, high: float) -> Check:
    """With p = 0.55 one way leads the other by `low` to `high` times as much as with p = 0.7."""

    required = f"{span(low, high)} times the lead"

    def check(results: Results) -> Verdict:
        before, after = (results.ratios(one, other, CPU_RATE, panel) for panel in PANELS)
        known = [name for name in names if name in before and name in after]
        told = ", ".join(f"{before[name]:.3g}, then {after[name]:.3g} for {name}" for name in known)
        changes = [after[name] / before[name] for name in known]
        is_so = all(low <= change <= high for change in changes) if known else None
        return Verdict(is_so, f"{one} : {other} = {told}", required)

    return check


def is_few(x: object) -> bool:
    """The query with the fewest runs."""
    return x == "p2-s2"


SAME, FEWER = ("p1-s2", "p1-s3"), ("p2-s2", "p2-s3", "p3-s2", "p3-s3")
CONTIGUOUS, SKIPPING = ("p2-s2", "p3-s2"), ("p2-s3", "p3-s3")
HARDLY_A_RUN = tuple(
    rates(BASIC, 0, 0.02, of="runs", by="events", panel=panel, when=is_few) for panel in PANELS
)
EXPERIMENT = Experiment(
    "fig8_p55",
    "A price that rises with p = 0.55",
    f"{SOURCE}, other experiments",
    "p1 costs the same; p2 and p3 find fewer matches and are faster; merging gains more, and"
    " backtracking loses less.",
    points,
    (Plot(CPU_RATE, "events/s of the processor", "", log_y=True, bars=True),),
    (
        Finding(
            "p1 takes the same time (within 1.5)",
            change(SAME, 1 / 1.5, 1.5),
        ),
        Finding(
            "p2 and p3 find fewer events",
            change(FEWER, 0, 1, "held"),
        ),
        Finding(
            "and are faster",
            change(FEWER, 1, inf),
            (
                Reason(
                    "All are but p2-s2, for which hardly a run is made of either stream: it takes"
                    " what it takes to look at the events.",
                    every(
                        change(FEWER[1:], 1, inf),
                        change(FEWER[:1], 1 / 1.1, 1.1),
                        *HARDLY_A_RUN,
                    ),
                ),
            ),
        ),
        Finding(
            "merging gains more",
            lead("nfab_merged", "nfab", FEWER, 1, inf),
            (
                Reason(
                    "It does but for p2-s2, for which hardly a run is made of either stream, so"
                    " that there is nothing to merge.",
                    every(lead("nfab_merged", "nfab", FEWER[1:], 1, inf), *HARDLY_A_RUN),
                ),
            ),
        ),
        Finding(
            "backtracking loses less",
            lead(BASIC, BACKTRACKING, FEWER, 0, 1),
            (
                Reason(
                    "The streams differ little: runs take at least 0.55 of the steps, under skip"
                    " till next match (s3) at least 0.9, and no lead changes by more than a factor"
                    " of 1.2.",
                    every(
                        lead(BASIC, BACKTRACKING, FEWER, 1 / 1.2, 1.2),
                        change(CONTIGUOUS, 0.55, 1, "steps"),
                        change(SKIPPING, 0.9, 1, "steps"),
                    ),
                ),
            ),
        ),
    ),
    ("held", "runs", "merged", "steps", "backtracked"),
)
