"""Figures 8f and 8g and Table 3 of SASE+ 2008: merging equivalent runs."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.core.checks import ahead
from experiments.core.experiment import Experiment, Finding, Plot, Point, Size
from experiments.core.ways import counted
from experiments.figures.stocks import SOURCE, over_queries, query, stream

BASIC, MERGED = "nfab", "nfab_merged"
GAINING = ("p1-s3", "p2-s3", "p3-s3")


def points(size: Size) -> Iterator[Point]:
    """All six queries, with their results."""
    yield from over_queries(size, size.of(500, 500, 100), {BASIC: BASIC, MERGED: MERGED})


def without_construction(size: Size) -> Iterator[Point]:
    """Three queries over W, whose matches are only counted."""
    for window in size.of((500, 1_000, 1_500, 2_000), (500, 2_000), (100, 200)):
        data, events = stream(window, size)
        for name in GAINING:
            text = query(name, window)
            ways = {plan: counted(text, plan) for plan in (BASIC, MERGED)}
            yield Point(window, ways, data, events, name)


EXPERIMENT = Experiment(
    "fig8f",
    "Figure 8f: merging equivalent runs",
    f"{SOURCE}, experiment 5",
    "Merging gains for all queries: 1.5 times for p1-s3, 1.4 for p2-s3, 1.5 for p3-s3.",
    points,
    (Plot("events_per_s", "events/s", "", log_y=True, bars=True),),
    (
        Finding(
            "merging gains for the three queries under skip till next match",
            ahead(MERGED, BASIC, when=lambda x: x in GAINING),
            "Runs are rows of arrays here, and few are alive at a time (`most_alive`), while what"
            " both have to write, the lists of all matches, takes most of the time.",
        ),
    ),
    ("held", "runs", "merged", "merged_share", "steps", "most_alive"),
)
OVER_WINDOWS = Experiment(
    "fig8g",
    "Figure 8g and Table 3: the gain of merging over the window, matching alone",
    f"{SOURCE}, experiment 6",
    "Without construction merging gains 1.4 to 2.1 times: most for p2 where W is large, less for"
    " p3, of whose runs fewer can be merged.",
    without_construction,
    (Plot("events_per_s", "events/s, matches counted", "W, events of a partition", log_y=True),),
    tuple(
        Finding(
            f"{name}: merging gains at every W",
            ahead(MERGED, BASIC, panel=name),
            "A run costs a few nanoseconds at an event here; finding out which are equivalent costs"
            " as much where few are alive.",
        )
        for name in GAINING
    ),
    ("runs", "merged", "steps"),
)
