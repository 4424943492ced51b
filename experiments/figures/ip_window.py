"""Figures 6a and 6d of SASE++ 2014: imprecise time over the window, by thresholds."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from experiments.core.checks import CPU_RATE, Check, ahead, every, slope
from experiments.core.experiment import Experiment, Finding, Plot, Point, Size, Verdict
from experiments.core.results import Results
from experiments.figures.imprecise import (
    CLOSED,
    PANELS,
    SOURCE,
    WORLDS,
    comes_to_its_end,
    gains_by_the_threshold,
    longest,
    query,
    rises_with_the_threshold,
    stream,
    ways,
)
from experiments.figures.query_order import COLLAPSED, CONFIDENCE, SASE_PLUS, by_runs, collapsed

NONE = PANELS[""]


def points(size: Size) -> Iterator[Point]:
    """Short windows first; a panel has the ways that find the same, those of one threshold.

    Enough events come at once that intervals of ten units are as long as the rare ones are apart.
    """
    events, at_once = size.of((1_000_000, 500), (100_000, 50), (2_000, 2))
    windows = size.of((6, 20, 50, 100, 150, 200), (20, 100), (50,))
    data, length = stream(size, events, at_once=at_once), longest(size)
    for threshold, panel in PANELS.items():
        for window in windows:
            made = ways(query(window, threshold))
            if not threshold:
                made[SASE_PLUS] = by_runs(window, length)
            yield Point(window, made, data, events, panel)
            if not threshold:
                # It has candidates that are a match in no world, so it is a point of its own.
                yield Point(window, {COLLAPSED: collapsed(window, length)}, data, events, panel)


def is_wide(x: float) -> bool:
    """Whether the worlds of the matches in a window take time."""
    return x >= 50


def confidences_cost_less(threshold: str) -> Check:
    """That those above a threshold cost less than SASE+'s at each wide window that it can do."""

    required = "at most 1"

    def check(results: Results) -> Verdict:
        panel = PANELS[threshold]
        by_worlds = dict(results.curve(SASE_PLUS, CONFIDENCE, NONE))
        ratios = {
            x: cost / by_worlds[x]
            for x, cost in results.curve(CLOSED, CONFIDENCE, panel)
            if is_wide(x) and by_worlds.get(x, 0) > 0
        }
        if not ratios:
            return Verdict(None, f"{SASE_PLUS} or {panel} is not measured", required)
        told = ", ".join(f"{ratio:.3g} at {x}" for x, ratio in ratios.items())
        told = f"{CONFIDENCE} of {CLOSED}, {panel} : {SASE_PLUS} = {told}"
        return Verdict(max(ratios.values()) <= 1, told, required)

    return check


EXPERIMENT = Experiment(
    "ip_window",
    "Figures 6a, 6d: imprecise time, throughput over the window",
    f"{SOURCE}, 6.3",
    "To enumerate worlds dominates and fails at some window; dynamic programming supports windows"
    " more than an order of magnitude longer, and the higher the threshold the faster it is. (500"
    " events come in a unit of time, so that W = 100 are the 50,000 events of the paper, and the"
    " interval of a rare event overlaps with that of the next one about every other time. SASE+ is"
    " the NFAb over events in query order; it and the collapsed form drop events of other types.)",
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
        Finding(
            "so does SASE+: its cost of confidences grows with the square of W or faster",
            every(
                comes_to_its_end(CLOSED, SASE_PLUS, NONE),
                slope(SASE_PLUS, 2, inf, y=CONFIDENCE, panel=NONE),
            ),
        ),
        Finding(
            "with a threshold of 0.999 confidences cost less than with SASE+, from W = 50 on",
            confidences_cost_less("0.999"),
        ),
        Finding(
            "the collapsed form, without confidences, is the fastest from W = 50 on",
            every(
                *(
                    ahead(COLLAPSED, each, y=CPU_RATE, panel=NONE, when=is_wide)
                    for each in (CLOSED, WORLDS, SASE_PLUS)
                )
            ),
        ),
    ),
    ("matches", "visited", "Confidence_s", "RunEvaluation_s"),
)
