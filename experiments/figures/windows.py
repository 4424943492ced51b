"""SASE 2006, "other experiments": windows pushed into the scan, into construction, both, or not."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.core.checks import ahead, every
from experiments.core.experiment import Experiment, Finding, Plot, Point, Size
from experiments.core.ways import listed
from experiments.figures.sequences import SOURCE, rate, stream, template

RECIPES = {
    "checked after": "pais_no_windows",
    "in the scan": "pais_window_in_scan",
    "in construction": "pais_window_in_construction",
    "in both": "pais",
}


def points(size: Size) -> Iterator[Point]:
    """All windows over one stream, so that the work without them stays the same."""
    events = size.of(200_000, 50_000, 4_000)
    windows = size.of(
        (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000), (100, 10_000), (100, 1_000)
    )
    for window in windows:
        query = template(3, "[attr1]", window)
        ways = {name: listed(query, plan) for name, plan in RECIPES.items()}
        yield Point(window, ways, stream(events), events)


EXPERIMENT = Experiment(
    "windows",
    "Windows pushed or not",
    f"{SOURCE}, 5.3",
    "Pushing windows down to both sequence scan and construction is effective in reducing"
    " intermediate results.",
    points,
    (
        rate("W, events"),
        Plot("sequences", "sequences built", "W, events", log_x=True, log_y=True),
    ),
    (
        Finding("pushed into both is faster than checked after", ahead("in both", "checked after")),
        Finding(
            "pushed into both is at least as fast as into one alone (within 1.1)",
            every(
                ahead("in both", "in the scan", 1 / 1.1),
                ahead("in both", "in construction", 1 / 1.1),
            ),
        ),
        Finding(
            "and fewer sequences are built",
            ahead("checked after", "in both", 1.0, y="sequences"),
        ),
    ),
    ("sequences", "visited", "most_alive"),
)
