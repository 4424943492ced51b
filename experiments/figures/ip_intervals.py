"""Ours: the cost of the length of intervals, from precise times to a billion units."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.core.checks import CPU_RATE, Check
from experiments.core.experiment import Experiment, Finding, Plot, Point, Size, Verdict
from experiments.core.results import Results
from experiments.figures.imprecise import CLOSED, DENSE, WORLDS, query, ways, with_intervals
from experiments.figures.postponing import Shares

# Of each length how far apart events are: as many of them overlap, and are in a window.
LENGTHS = {1: 1, 4: 1, 10: 1, 1_000: 100, 1_000_000: 100_000, 1_000_000_000: 100_000_000}
# So dense that most intervals of a match overlap.
SHARES, WINDOW = Shares(0.1, 0.15, 0.05), 20
# The length up to which worlds are enumerated.
MOST_WORLDS = 4


def points(size: Size) -> Iterator[Point]:
    """The same stream in units that get finer."""
    events = size.of(2_500, 1_000, 500)
    for threshold, panel in DENSE.items():
        for length, spacing in LENGTHS.items():
            # Worlds of longer intervals are too many: 10 units take 15 ms a candidate.
            names = (WORLDS, CLOSED) if length <= MOST_WORLDS else (CLOSED,)
            made = ways(query(WINDOW * spacing, threshold), names)
            data = with_intervals(SHARES, events, length, spacing)
            yield Point(length, made, data, events, panel)


def is_level(way: str, factor: float, panel: str) -> Check:
    """That from a length on at which few bounds coincide the time is the same within a factor."""

    required = f"greatest to least at most {factor:g}"

    def check(results: Results) -> Verdict:
        rates = {x: rate for x, rate in results.curve(way, CPU_RATE, panel) if x >= 1_000}
        if len(rates) < 2:
            return Verdict(None, f"{panel}: too few points of {way}", required)
        told = ", ".join(f"{rate:.3g} at {x:,}" for x, rate in rates.items())
        ratio = max(rates.values()) / min(rates.values())
        return Verdict(ratio <= factor, f"{panel}: {way} {told}", required)

    return check


EXPERIMENT = Experiment(
    "ip_intervals",
    "Ours: imprecise time, over the length of intervals",
    "LANGUAGE, imprecise time",
    "Not in the paper, whose intervals have ten units: enumeration goes with the power of their"
    " length, the closed form with the events alone.",
    points,
    (Plot(CPU_RATE, "events/s of the processor", "units of an interval", log_x=True, log_y=True),),
    (
        Finding(
            "by the closed form 1,000 units take as long as 1,000,000,000 (within 1.5)",
            is_level(CLOSED, 1.5, DENSE[""]),
        ),
        Finding("and so they do with a threshold of 0.1", is_level(CLOSED, 1.5, DENSE["0.1"])),
    ),
    ("matches", "Confidence_s", "RunEvaluation_s"),
)
