"""Figure 9 of SASE 2006: Basic against AIS over the window."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.core.checks import ahead, falls_faster
from experiments.core.experiment import Experiment, Finding, Point, Size
from experiments.core.ways import in_batches, listed
from experiments.figures.fig8 import types_for
from experiments.figures.sequences import SOURCE, paper_rate, rate, stream, template

DOMAIN = 10_000


def points(size: Size) -> Iterator[Point]:
    """Short windows first."""
    events = size.of(1_000_000, 200_000, 2_000)
    windows = size.of(
        (10_000, 20_000, 40_000, 60_000, 80_000, 100_000), (10_000, 100_000), (100, 1_000)
    )
    for window in windows:
        query = template(3, window=window)
        probes = (in_batches(window),)
        yield Point(
            window,
            {
                "Basic": listed(query, "basic_windows", probes=probes),
                "AIS": listed(query, "ais_windows", probes=probes),
            },
            stream(events, DOMAIN, types=types_for(DOMAIN)),
            events,
        )


EXPERIMENT = Experiment(
    "fig9",
    "Figure 9: Basic and AIS over the window",
    f"{SOURCE}, experiment 2",
    "As W grows the throughput of Basic falls much faster than that of AIS.",
    points,
    (rate("W, events", log_x=False), paper_rate("W, events", log_x=False)),
    (
        Finding("AIS is at least as fast as Basic everywhere", ahead("AIS", "Basic")),
        Finding("Basic loses a greater share of its throughput", falls_faster("Basic", "AIS")),
    ),
    ("paper_events_per_s", "visited"),
)
