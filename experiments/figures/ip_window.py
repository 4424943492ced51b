"""Figures 6a and 6d of SASE++ 2014: imprecise time over the window, by thresholds."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.core.checks import CPU_RATE, ahead, every
from experiments.core.experiment import Experiment, Finding, Plot, Point, Size
from experiments.figures.imprecise import (
    CLOSED,
    PANELS,
    SOURCE,
    WORLDS,
    comes_to_its_end,
    query,
    rises_with_the_threshold,
    stream,
    ways,
)


def points(size: Size) -> Iterator[Point]:
    """Short windows first; a panel has the ways that find the same, those of one threshold."""
    events = size.of(1_000_000, 100_000, 2_000)
    windows = size.of((1_000, 3_000, 10_000, 50_000, 75_000), (1_000, 5_000), (100,))
    for threshold, panel in PANELS.items():
        for window in windows:
            made = ways(query(window, threshold))
            yield Point(window, made, stream(size, events), events, panel)


EXPERIMENT = Experiment(
    "ip_window",
    "Figures 6a, 6d: imprecise time, throughput over the window",
    f"{SOURCE}, 6.3",
    "To enumerate worlds dominates and fails at some window; dynamic programming supports windows"
    " more than an order of magnitude longer, and the higher the threshold the faster it is.",
    points,
    (
        Plot(CPU_RATE, "events/s of the processor", "W", log_x=True, log_y=True),
        Plot("Confidence_s", "s for confidences", "W", log_x=True, log_y=True),
    ),
    (
        Finding(
            "the closed form is at least as fast as to enumerate worlds, at every threshold and W",
            every(
                *(
                    ahead(CLOSED, WORLDS, 1 / 1.1, y=CPU_RATE, panel=each)
                    for each in PANELS.values()
                )
            ),
        ),
        Finding(
            "the higher the threshold the faster (within 1.2)",
            rises_with_the_threshold(CLOSED, 1.2, [*PANELS.values()]),
        ),
        Finding(
            "enumeration takes too long at some W where the closed form does not",
            comes_to_its_end(CLOSED, WORLDS, PANELS[""]),
        ),
    ),
    ("Confidence_s", "RunEvaluation_s", "candidates"),
)
