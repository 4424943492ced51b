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
    gains_by_the_threshold,
    query,
    rises_with_the_threshold,
    stream,
    ways,
)


def points(size: Size) -> Iterator[Point]:
    """Short windows first; a panel has the ways that find the same, those of one threshold.

    Enough events come at once that intervals of ten units are as long as the rare ones are apart.
    """
    events, at_once = size.of((1_000_000, 500), (100_000, 50), (2_000, 2))
    windows = size.of((6, 20, 50, 100, 150, 200), (20, 100), (50,))
    data = stream(size, events, at_once=at_once)
    for threshold, panel in PANELS.items():
        for window in windows:
            yield Point(window, ways(query(window, threshold)), data, events, panel)


EXPERIMENT = Experiment(
    "ip_window",
    "Figures 6a, 6d: imprecise time, throughput over the window",
    f"{SOURCE}, 6.3",
    "To enumerate worlds dominates and fails at some window; dynamic programming supports windows"
    " more than an order of magnitude longer, and the higher the threshold the faster it is. (500"
    " events come in a unit of time, so that W = 100 are the 50,000 events of the paper, and the"
    " interval of a rare event overlaps with that of the next one about every other time.)",
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
            "a threshold of 0.9 leaves some of the matches, and is twice as fast at some W",
            gains_by_the_threshold(CLOSED, 2, PANELS[""], PANELS["0.9"]),
        ),
        Finding(
            "enumeration takes too long at some W where the closed form does not",
            comes_to_its_end(CLOSED, WORLDS, PANELS[""]),
        ),
    ),
    ("matches", "visited", "Confidence_s", "RunEvaluation_s"),
)
