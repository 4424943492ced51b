"""Figure 8d of SASE+ 2008: all runs at once against backtracking, all results."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.core.checks import ahead
from experiments.core.experiment import Experiment, Finding, Plot, Point, Size
from experiments.figures.stocks import SOURCE, over_queries

BASIC, BACKTRACK = "nfab", "backtrack"
HARD = ("p1-s2", "p1-s3", "p2-s3", "p3-s2", "p3-s3")


def points(size: Size) -> Iterator[Point]:
    """All six queries by both."""
    yield from over_queries(size, size.of(500, 500, 100), {BASIC: BASIC, BACKTRACK: BACKTRACK})


EXPERIMENT = Experiment(
    "fig8d",
    "Figure 8d: all runs at once, or one after the other with backtracking",
    f"{SOURCE}, experiment 3",
    "The basic algorithm is 200 to 300 times as fast as backtracking, except for p2 under partition"
    " contiguity, where it is 1.3 times as fast.",
    points,
    (Plot("events_per_s", "events/s", "", log_y=True, bars=True),),
    (
        Finding("the basic algorithm is faster for every query", ahead(BASIC, BACKTRACK)),
        Finding(
            "many times (here: at least 10), except for p2-s2",
            ahead(BASIC, BACKTRACK, 10, when=lambda x: x in HARD),
            "Going back costs as much here as looking at an event again, a few nanoseconds;"
            " the paper's implementation paid for the objects of each run.",
        ),
    ),
    ("held", "runs", "steps", "backtracked", "steps_per_event"),
)
