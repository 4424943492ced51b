"""Figures 8b and 8c of SASE+ 2008: the partition window, and time against output complexity."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from experiments.core.checks import CPU_RATE, between, every, slope
from experiments.core.experiment import Experiment, Finding, Plot, Point, Reason, Size
from experiments.figures.stocks import FIVE, SOURCE, over_windows


def points(size: Size) -> Iterator[Point]:
    """Five queries, by runs."""
    yield from over_windows(size, FIVE, {"": "nfab"})


HELD = "events in all matches"
SKIPPING = ("p1-s3", "p2-s3", "p3-s3")
EXPERIMENT = Experiment(
    "fig8b",
    "Figures 8b, 8c: the partition window, and time against output complexity",
    f"{SOURCE}, experiment 2",
    "W has little effect on p2 under partition contiguity; the throughput of p1 and p3 under skip"
    " till next match falls with the square of W; time is linear in the output complexity, the sum"
    " of the lengths of all matches.",
    points,
    (
        Plot(CPU_RATE, "events/s of the processor", "W, events of a partition", log_y=True),
        Plot("cpu_s", "s of the processor", HELD, "held", log_x=True, log_y=True),
    ),
    (
        Finding("p2-s2 hardly depends on W", slope("p2-s2", -0.35, 0.35, y=CPU_RATE)),
        Finding(
            "p1-s3 and p3-s3 fall with the square of W (power −1.5 to −2.5)",
            every(*(slope(name, -2.5, -1.5, y=CPU_RATE) for name in ("p1-s3", "p3-s3"))),
            (
                Reason(
                    "Matches of p3-s3 are longer where W is, but by less than W, so that what it"
                    " writes grows by less than the square; and the steps of its runs grow with W"
                    " alone.",
                    every(
                        slope("p3-s3", 0.6, 0.95, y="match_length"),
                        slope("p3-s3", 0.8, 1.2, y="steps_per_event"),
                        slope("p1-s3", -2.5, -1.5, y=CPU_RATE),
                    ),
                ),
                Reason(
                    "p1-s3 writes gigabytes at the longest windows, and an event more in a match"
                    " takes longer there: time grows by a power of 1.05 to 1.3 of their number.",
                    every(
                        slope("p1-s3", 1.05, 1.3, x="held", y="cpu_s"),
                        slope("p3-s3", -2.5, -1.5, y=CPU_RATE),
                    ),
                ),
            ),
        ),
        Finding(
            "time grows linearly with the output complexity (power 0.7 to 1.2)",
            every(*(slope(name, 0.7, 1.2, x="held", y="cpu_s") for name in (*SKIPPING, "p3-s2"))),
            (
                Reason(
                    "It does under skip till next match. p3-s2 makes at most 0.6 steps for an"
                    " event, so that its time goes by the number of events (power 0.9 to 1.35).",
                    every(
                        *(slope(name, 0.7, 1.2, x="held", y="cpu_s") for name in SKIPPING),
                        slope("p3-s2", 0.9, 1.35, x="events", y="cpu_s"),
                        between("p3-s2", 0, 0.6, y="steps_per_event", of=max),
                    ),
                ),
            ),
        ),
        Finding("p2-s3 finds matches at all", between("p2-s3", 1, inf, y="matches")),
    ),
    ("held", "match_length", "steps_per_event", "most_alive"),
)
